"""Test data: seeded, well spread, and with no parameter at a value that skips a term."""

import torch

from cutegen.spec import Case, DType, KernelSpec, TensorArg
from cutegen.verification.expectation import draw_inputs
from cutegen.verification.inputs import Distribution, draw, perturb
from cutegen.verification.reduction import SummedTerms

CPU = torch.device("cpu")
CASE = Case(
    name="case",
    tensors=(TensorArg(name="x", role="input", dtype=DType.FLOAT32, shape=(200, 300)),),
)


def values(distribution: Distribution, seed: int = 0, case: Case = CASE) -> torch.Tensor:
    return draw(case, distribution, seed, CPU, state={}, integers={})["x"]


def test_distributions_are_what_they_say() -> None:
    normal = values(Distribution.NORMAL)
    assert abs(float(normal.mean())) < 0.02
    assert abs(float(normal.std()) - 1) < 0.02
    uniform = values(Distribution.UNIFORM)
    assert 0 <= float(uniform.min()) < float(uniform.max()) < 1
    assert 7 < float(values(Distribution.LARGE).std()) < 9
    assert 0.009 < float(values(Distribution.SMALL).std()) < 0.011


def test_the_seed_and_the_case_determine_the_values() -> None:
    assert torch.equal(values(Distribution.NORMAL, 3), values(Distribution.NORMAL, 3))
    assert not torch.equal(values(Distribution.NORMAL, 3), values(Distribution.NORMAL, 4))
    other = CASE.model_copy(update={"name": "other"})
    assert not torch.equal(values(Distribution.NORMAL), values(Distribution.NORMAL, case=other))


def test_parameters_leave_their_initial_values_and_variances_stay_positive() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.BatchNorm1d(4)).eval()
    spec = KernelSpec.from_module(module, [torch.randn(5, 6)], name="normed")
    drawn = draw_inputs(spec, spec.timed, Distribution.NORMAL, 0, CPU)
    state = {tensor.name: tensor for tensor in spec.timed.of("parameter", "buffer")}
    moved = {name: drawn[name] for name in state}
    variance = next(value for name, value in moved.items() if name.endswith("running_var"))
    mean = next(value for name, value in moved.items() if name.endswith("running_mean"))
    assert bool((variance > 0).all())
    assert not torch.equal(variance, torch.ones(4))
    assert bool((mean != 0).all())
    for name, tensor in state.items():
        assert moved[name].shape == tensor.shape


def test_state_follows_the_shape_of_the_case() -> None:
    case = Case(
        name="grown",
        tensors=(TensorArg(name="w", role="parameter", dtype=DType.FLOAT32, shape=(5, 2)),),
    )
    state = {"w": torch.arange(9.0).reshape(3, 3) + 1}
    grown = draw(case, Distribution.NORMAL, 0, CPU, state=state, integers={})["w"]
    assert grown.shape == (5, 2)
    assert bool(torch.isfinite(grown).all())


def test_perturbation_is_relative_and_leaves_integers_alone() -> None:
    given = {"x": torch.randn(1000), "index": torch.arange(7)}
    moved = perturb(given, 1e-3, 0)
    distance = (moved["x"] / given["x"].double() - 1).abs()
    assert 5e-4 < float(distance.max()) <= 1e-3
    assert moved["index"] is given["index"]


def test_the_longest_sum_is_seen() -> None:
    with SummedTerms() as seen:
        torch.relu(torch.randn(4, 700))
    assert seen.longest == 1
    with SummedTerms() as seen:
        torch.randn(4, 70) @ torch.randn(70, 5)
    assert seen.longest == 70
    with SummedTerms() as seen:
        torch.softmax(torch.randn(4, 33), -1)
    assert seen.longest == 33
    with SummedTerms() as seen:
        torch.randn(6, 50).sum(1)
    assert seen.longest == 50
    with SummedTerms() as seen:
        torch.nn.functional.conv2d(torch.randn(1, 3, 9, 9), torch.randn(8, 3, 5, 5))
    assert seen.longest == 75
