"""The precision policy: honest fp32 passes, anything less does not, whatever the function."""

import functools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from cutegen.reference import evaluate
from cutegen.spec import DType, KernelSpec, MathMode
from cutegen.verification.comparison import Comparison, compare
from cutegen.verification.expectation import Expectation, draw_inputs, expect
from cutegen.verification.inputs import Distribution
from cutegen.verification.math_mode import round_to_tf32
from cutegen.verification.patterns import lost_precision
from cutegen.verification.precision import tolerance
from cutegen.verification.sensitivity import Sway

Function = Callable[..., Tensor]
ROUNDOFF = 2.0**-24


def swish(x: Tensor) -> Tensor:
    return x * torch.sigmoid(x)


def swish_by_exp(x: Tensor) -> Tensor:
    return x / (1 + torch.exp(-x))


def product(left: Tensor, right: Tensor) -> Tensor:
    return left @ right


def product_one_by_one(left: Tensor, right: Tensor) -> Tensor:
    """The sum as one thread takes it, in order."""
    total = torch.zeros(left.shape[0], right.shape[1])
    for index in range(left.shape[1]):
        total = total + left[:, index : index + 1] * right[index : index + 1, :]
    return total


def product_in_three_tf32_passes(left: Tensor, right: Tensor) -> Tensor:
    big_left, big_right = round_to_tf32(left), round_to_tf32(right)
    small_left, small_right = round_to_tf32(left - big_left), round_to_tf32(right - big_right)
    return small_left @ big_right + big_left @ small_right + big_left @ big_right


def row_sum(x: Tensor) -> Tensor:
    return x.sum(-1)


def row_sum_in_order(x: Tensor) -> Tensor:
    total = torch.zeros(x.shape[0])
    for index in range(x.shape[1]):
        total = total + x[:, index]
    return total


def softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def softmax_in_order(x: Tensor) -> Tensor:
    powers = torch.exp(x - x.max(-1, keepdim=True).values)
    total = torch.zeros(x.shape[0], 1)
    for index in range(x.shape[1]):
        total = total + powers[:, index : index + 1]
    return powers / total


def exp(x: Tensor) -> Tensor:
    return torch.exp(x)


def exp_by_power_of_two(x: Tensor) -> Tensor:
    """How the hardware takes it: the product is rounded before the exponential."""
    return torch.exp2(x * 1.4426950408889634)


@functools.cache
def spec_of(function: Function, *shapes: tuple[int, ...]) -> KernelSpec:
    return KernelSpec.from_callable(
        function, [torch.randn(shape) for shape in shapes], name=function.__name__
    )


@functools.cache
def expectation(
    function: Function, distribution: Distribution, *shapes: tuple[int, ...]
) -> Expectation:
    spec = spec_of(function, *shapes)
    inputs = draw_inputs(spec, spec.timed, distribution, 0, torch.device("cpu"))
    equal_terms = distribution.has_equal_terms
    return expect(spec, spec.timed, "check", inputs, equal_terms=equal_terms)


def judge(expected: Expectation, candidate: Function) -> Comparison:
    output = candidate(*expected.inputs.values())
    return compare(expected.name, output.float().contiguous(), expected.targets[0])


HONEST = [
    (swish, swish_by_exp, [(64, 999)]),
    (exp, exp_by_power_of_two, [(64, 999)]),
    (softmax, softmax_in_order, [(16, 3000)]),
    (product, product_one_by_one, [(60, 1500), (1500, 50)]),
    (product, product_in_three_tf32_passes, [(60, 1500), (1500, 50)]),
]


@pytest.mark.parametrize("distribution", list(Distribution))
@pytest.mark.parametrize(("reference", "candidate", "shapes"), HONEST)
def test_honest_fp32_is_within_bounds(
    reference: Function,
    candidate: Function,
    shapes: list[tuple[int, ...]],
    distribution: Distribution,
) -> None:
    comparison = judge(expectation(reference, distribution, *shapes), candidate)
    assert comparison.within_bounds, comparison


def in_tf32(function: Function) -> Function:
    return lambda *args: function(*map(round_to_tf32, args))


def in_dtype(function: Function, dtype: torch.dtype) -> Function:
    return lambda *args: function(*(arg.to(dtype) for arg in args))


@pytest.mark.parametrize("level", ["tf32", "bf16", "fp16"])
@pytest.mark.parametrize(("reference", "candidate", "shapes"), HONEST)
def test_less_than_fp32_is_refused_and_recognised(
    reference: Function, candidate: Function, shapes: list[tuple[int, ...]], level: str
) -> None:
    del candidate
    lowered = {
        "tf32": in_tf32(reference),
        "bf16": in_dtype(reference, torch.bfloat16),
        "fp16": in_dtype(reference, torch.float16),
    }[level]
    expected = expectation(reference, Distribution.NORMAL, *shapes)
    comparison = judge(expected, lowered)
    assert comparison.measure.error > 10 * comparison.measure.bound
    name = lost_precision(comparison, expected.targets[0])
    assert name == ("bf16" if level == "bf16" else "TF32 or fp16")


def test_one_wrong_element_of_many_is_found() -> None:
    expected = expectation(swish, Distribution.NORMAL, (1000, 1001))

    def candidate(x: Tensor) -> Tensor:
        out = swish(x)
        out[700, 3] += 1e-3  # the norm moves by less than 1e-6
        return out

    comparison = judge(expected, candidate)
    assert comparison.measure.bad_count == 1
    assert comparison.measure.first_bad_index == (700, 3)
    assert not comparison.within_bounds
    assert not lost_precision(comparison, expected.targets[0])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nothing_infinite_passes_where_the_reference_is_finite(value: float) -> None:
    expected = expectation(swish, Distribution.NORMAL, (8, 16))

    def candidate(x: Tensor) -> Tensor:
        out = swish(x)
        out[2, 2] = value
        return out

    comparison = judge(expected, candidate)
    assert comparison.nonfinite == 1
    assert comparison.measure.bad_count == 1
    assert not comparison.within_bounds


def test_nan_passes_exactly_where_the_reference_has_it() -> None:
    expected = expectation(torch.log, Distribution.NORMAL, (32, 32))
    assert 0.3 < expected.telling < 0.7
    assert judge(expected, torch.log).within_bounds
    assert not judge(expected, lambda x: torch.log(x.abs())).within_bounds
    assert not judge(expected, lambda x: torch.log(x).nan_to_num(0.0)).within_bounds


def test_half_outputs_may_round_once() -> None:
    spec = KernelSpec.from_callable(swish, [torch.randn(64, 99, dtype=torch.bfloat16)], name="half")
    inputs = draw_inputs(spec, spec.timed, Distribution.NORMAL, 0, torch.device("cpu"))
    expected = expect(spec, spec.timed, "check", inputs)
    (exact,) = evaluate(spec, inputs, precision=torch.float64)
    target = expected.targets[0]
    assert compare("half", exact.to(torch.bfloat16), target).within_bounds
    assert not compare("half", (exact * 1.02).to(torch.bfloat16), target).within_bounds


def test_the_floor_stays_below_tf32_for_any_length() -> None:
    assert tolerance(DType.FLOAT32, MathMode.FP32, 1).floor == pytest.approx(3.4 * ROUNDOFF)
    for equal_terms in (False, True):
        long = tolerance(DType.FLOAT32, MathMode.FP32, 1 << 40, equal_terms=equal_terms)
        assert long.floor < 2.6e-4 / 3
    assert tolerance(DType.FLOAT64, MathMode.FP32, 4096).floor < 1e-13


def test_the_bound_grows_with_the_root_of_the_sum_as_an_honest_error_does() -> None:
    """Theory: a sum taken in order errs by 0.3 roundoffs times the root of its terms."""
    errors, bounds, lengths = [], [], (64, 1024, 16384)
    for length in lengths:
        spec = spec_of(row_sum, (64, length))
        inputs = draw_inputs(spec, spec.timed, Distribution.NORMAL, 0, torch.device("cpu"))
        comparison = judge(expect(spec, spec.timed, "sum", inputs), row_sum_in_order)
        assert comparison.within_bounds, comparison
        errors.append(comparison.measure.error)
        bounds.append(comparison.measure.bound)
    for shorter, longer in ((0, 1), (1, 2)):
        assert 2.5 < errors[longer] / errors[shorter] < 6  # the root of 16 is 4
        assert bounds[longer] / bounds[shorter] > 2
    assert bounds[-1] < 4 * errors[-1]  # and no looser than it need be


def test_tf32_rounds_to_ten_bits() -> None:
    assert round_to_tf32(torch.tensor([1 + 2.0**-10])).item() == 1 + 2.0**-10
    assert round_to_tf32(torch.tensor([1 + 2.0**-11])).item() == 1.0  # a tie goes to even
    assert round_to_tf32(torch.tensor([1 + 3 * 2.0**-12])).item() == 1 + 2.0**-10
    special = torch.tensor([float("inf"), float("-inf"), 0.0])
    assert torch.equal(round_to_tf32(special), special)
    assert bool(round_to_tf32(torch.tensor([float("nan")])).isnan())


def half_expectation(dtype: torch.dtype, terms: int) -> Expectation:
    left, right = torch.randn(64, terms).to(dtype), torch.randn(terms, 48).to(dtype)
    spec = KernelSpec.from_callable(product, [left, right], name="half")
    inputs = draw_inputs(spec, spec.timed, Distribution.NORMAL, 0, torch.device("cpu"))
    return expect(spec, spec.timed, "half", inputs)


def stored(expected: Expectation, result: Tensor) -> Comparison:
    target = expected.targets[0]
    return compare("half", result.to(target.tensor.dtype.torch), target)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("terms", [131, 1024])
def test_half_products_with_fp32_sums_pass_in_any_order(dtype: torch.dtype, terms: int) -> None:
    expected = half_expectation(dtype, terms)
    left, right = (tensor.float() for tensor in expected.inputs.values())
    for result in (left @ right, product_one_by_one(left, right)):
        comparison = stored(expected, result)
        assert comparison.within_bounds, comparison


@pytest.mark.parametrize("terms", [131, 1024])
def test_bf16_inside_an_fp16_spec_is_refused(terms: int) -> None:
    expected = half_expectation(torch.float16, terms)
    left, right = (tensor.float() for tensor in expected.inputs.values())
    for result in (
        left.bfloat16().float() @ right.bfloat16().float(),  # operands
        (left @ right).bfloat16().float(),  # the result
    ):
        comparison = stored(expected, result)
        assert comparison.measure.error > 1.5 * comparison.measure.bound, comparison


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("terms", [131, 1024])
def test_sums_taken_in_half_are_refused(dtype: torch.dtype, terms: int) -> None:
    expected = half_expectation(dtype, terms)
    left, right = expected.inputs.values()
    total = torch.zeros(64, 48, dtype=dtype)
    for index in range(terms):
        total = total + left[:, index : index + 1] * right[index : index + 1, :]
    comparison = stored(expected, total)
    assert comparison.measure.error > 1.5 * comparison.measure.bound, comparison


def cut_to_tf32(x: Tensor) -> Tensor:
    """What a tensor core reads of an operand that nobody rounded."""
    return ((x.view(torch.int32) >> 13) << 13).view(torch.float32)


@pytest.mark.parametrize(
    ("mode", "honest", "lower"),
    [
        (MathMode.TF32, round_to_tf32, lambda x: x.bfloat16().float()),
        (MathMode.TF32, cut_to_tf32, lambda x: x.bfloat16().float()),
        (MathMode.FP16, lambda x: x.half().float(), lambda x: x.bfloat16().float()),
        (
            MathMode.BF16,
            lambda x: x.bfloat16().float(),
            lambda x: x.to(torch.float8_e4m3fn).float(),
        ),
    ],
)
def test_every_math_mode_allows_its_own_operands_and_no_lower(
    mode: MathMode, honest: Callable[[Tensor], Tensor], lower: Callable[[Tensor], Tensor]
) -> None:
    spec = spec_of(product, (64, 500), (500, 48)).model_copy(update={"math_mode": mode})
    inputs = draw_inputs(spec, spec.timed, Distribution.NORMAL, 0, torch.device("cpu"))
    expected = expect(spec, spec.timed, mode.value, inputs)
    left, right = expected.inputs.values()
    assert judge(expected, lambda *_: honest(left) @ honest(right)).within_bounds
    below = judge(expected, lambda *_: lower(left) @ lower(right))
    assert below.measure.error > 1.5 * below.measure.bound, below


def test_an_assumed_sensitivity_stands_in_for_a_measured_one() -> None:
    expected = expectation(swish, Distribution.NORMAL, (64, 999))
    exact = expected.targets[0].exact
    sway = Sway.assumed(1e-7, exact)
    assert sway.squares**0.5 / float(exact.norm()) == pytest.approx(1e-7)


def test_the_bound_is_close_to_what_pytorch_makes() -> None:
    """The old policy allowed 13 to 18 times PyTorch's error for these."""
    for function, shapes in ((swish, [(64, 999)]), (product, [(60, 128), (128, 50)])):
        expected = expectation(function, Distribution.NORMAL, *shapes)
        measure = judge(expected, function).measure
        assert measure.bound < 10 * measure.torch_error, measure
