"""Poison is recognised wherever it is left, and nothing else is taken for it."""

import pytest
import torch

from cutegen.spec import DType, TensorArg
from cutegen.verification.comparison import Target
from cutegen.verification.poison import poison, same_bits, unwritten
from cutegen.verification.sensitivity import Sway


def target(dtype: DType, exact: torch.Tensor) -> Target:
    tensor = TensorArg(name="out", role="output", dtype=dtype, shape=tuple(exact.shape))
    return Target(tensor=tensor, exact=exact, native=exact, sway=Sway(), tolerance=None)


@pytest.mark.parametrize("dtype", list(DType))
def test_holes_and_tails_are_told_apart(dtype: DType) -> None:
    exact = torch.ones(6, 5, dtype=dtype.torch)
    output = exact.clone()
    poison(output)
    if dtype.is_floating:
        assert bool(torch.isnan(output).all())
    whole = unwritten(output, target(dtype, exact))
    assert (whole.count, whole.total) == (30, 30)
    output.reshape(-1)[:21] = exact.reshape(-1)[:21]
    tail = unwritten(output, target(dtype, exact))
    assert (tail.count, tail.first, tail.is_tail) == (9, 21, True)
    output.reshape(-1)[29] = exact.reshape(-1)[29]
    hole = unwritten(output, target(dtype, exact))
    assert (hole.count, hole.first, hole.is_tail) == (8, 21, False)


def test_a_computed_nan_is_no_poison() -> None:
    exact = torch.full((4,), float("nan"), dtype=torch.float64)
    for bits in (0x7FC00000, 0x7FFFFFFF, -1, -0x400000):  # what CPUs, GPUs and memset make
        output = torch.full((4,), bits, dtype=torch.int32).view(torch.float32)
        assert bool(torch.isnan(output).all())
        assert unwritten(output, target(DType.FLOAT32, exact)).count == 0


def test_an_integer_that_equals_poison_may_be_right() -> None:
    exact = torch.full((4,), -0x5B, dtype=torch.int64)  # 0xA5 as int8
    output = exact.to(torch.int8)
    assert unwritten(output, target(DType.INT8, exact)).count == 0


def test_bits_are_compared_not_values() -> None:
    nan = torch.tensor([float("nan"), 1.0])
    assert same_bits(nan, nan.clone())
    assert not same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))
