"""Evaluating a reference on tensors of the caller's choice."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from cutegen.reference import evaluate, sample_inputs, state_values
from cutegen.spec import KernelSpec

KERNELBENCH = Path(__file__).parents[1] / "kernelbench"


class Lookup(nn.Module):
    """Integer inputs that are indices."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.randn(50, 8))

    def forward(self, index: Tensor, x: Tensor) -> Tensor:
        return self.rows[index] * x


class Tied(nn.Module):
    """One parameter under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.left = nn.Parameter(torch.ones(4))
        self.right = self.left

    def forward(self, x: Tensor) -> Tensor:
        return x * self.left + self.right


def test_inputs_and_state_are_the_callers() -> None:
    spec = KernelSpec.from_kernelbench(KERNELBENCH / "custom/bias_scale.py")
    x, bias, scale = torch.randn(3, 1000), torch.randn(1000), torch.randn(1000)
    (out,) = evaluate(spec, {"x": x, "bias": bias, "scale": scale})
    expected = nn.functional.leaky_relu((x + bias) * scale, 0.1)
    torch.testing.assert_close(out, expected, rtol=0, atol=0)


def test_precision_upcasts_everything() -> None:
    spec = KernelSpec.from_callable(
        lambda x: x * torch.full((4,), 0.1) + torch.tensor(0.3), [torch.rand(64, 4)]
    )
    x = torch.rand(64, 4)
    (out,) = evaluate(spec, {"x": x}, precision=torch.float64)
    assert out.dtype is torch.float64
    torch.testing.assert_close(out, x.double() * 0.1 + 0.3, rtol=1e-15, atol=0)
    assert evaluate(spec, {"x": x})[0].dtype is torch.float32


def test_state_is_equal_everywhere_and_depends_on_the_seed() -> None:
    path = KERNELBENCH / "custom/bias_scale.py"
    first, second = (KernelSpec.from_kernelbench(path) for _ in range(2))
    torch.manual_seed(1234)
    values = state_values(first)
    assert list(values) == ["scale", "bias"]
    built = first.reference.build()
    assert torch.equal(built.get_parameter("bias"), values["bias"])
    assert torch.equal(state_values(second)["bias"], values["bias"])
    other = KernelSpec.from_kernelbench(path, seed=1)
    assert not torch.equal(state_values(other)["bias"], values["bias"])
    assert other.id != first.id


def test_buffers_are_not_updated() -> None:
    norm = nn.BatchNorm1d(6)
    spec = KernelSpec.from_module(norm, [torch.rand(64, 6)])
    state = state_values(spec)
    before = {name: tensor.clone() for name, tensor in state.items()}
    evaluate(spec, {"input": torch.randn(64, 6), **state})
    assert all(torch.equal(before[name], tensor) for name, tensor in state.items())


def test_tied_parameters_are_two_arguments() -> None:
    spec = KernelSpec.from_module(Tied(), [torch.rand(64, 4)])
    x = torch.rand(8, 4)
    (out,) = evaluate(spec, {"x": x, "left": torch.full((4,), 2.0), "right": torch.zeros(4)})
    assert torch.equal(out, 2 * x)


def test_scalars_are_the_specs() -> None:
    spec = KernelSpec.from_callable(lambda x, s: x * s, [torch.rand(64), 3.0])
    assert torch.equal(evaluate(spec, {"x": torch.ones(2)})[0], torch.full((2,), 3.0))


@pytest.mark.parametrize("seed", [0, 1])
def test_integer_samples_are_valid_indices(seed: int) -> None:
    spec = KernelSpec.from_module(Lookup(), [torch.randint(0, 50, (300,)), torch.rand(300, 8)])
    for case in (spec.timed, *spec.checks):
        samples = sample_inputs(spec, case, seed)
        assert list(samples) == ["index"]
        assert samples["index"].shape == case.of("input")[0].shape
        x = torch.rand(case.of("input")[1].shape)
        (out,) = evaluate(spec, {**samples, "x": x, **state_values(spec)})
        assert out.shape == case.of("output")[0].shape


def test_own_integers_are_used_when_small(tmp_path: Path) -> None:
    path = tmp_path / "mask.py"
    path.write_text(
        "import torch\n"
        "class Model(torch.nn.Module):\n"
        "    def forward(self, x, index): return x.gather(1, index)\n"
        "def get_inputs(): return [torch.rand(64, 40), torch.arange(40).repeat(64, 1)]\n",
        encoding="utf-8",
    )
    spec = KernelSpec.from_kernelbench(path)
    assert torch.equal(sample_inputs(spec, spec.timed)["index"], torch.arange(40).repeat(64, 1))
    for case in spec.checks:
        assert int(sample_inputs(spec, case)["index"].max()) < case.of("input")[0].shape[1]
