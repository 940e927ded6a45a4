"""Test data: seeded, on several distributions, with every parameter off its initial value."""

import hashlib
from collections.abc import Mapping
from enum import StrEnum

import torch
from torch import Tensor

from cutegen.spec import Case, TensorArg

_LARGE = 8.0
_SMALL = 1e-2
_SHIFT = 4.0
_DENSITY = 0.1
_RESIDUE = 0.125  # what is left when neighbours cancel, relative to them
_PARAMETER_SPREAD = 0.1


class Distribution(StrEnum):
    """How floating inputs are drawn."""

    NORMAL = "normal"  # zero mean: lost precision cannot average out
    UNIFORM = "uniform"  # [0, 1), as KernelBench draws
    LARGE = "large"  # normal, times 8: overflow, saturation
    SMALL = "small"  # normal, times 1/100: absolute tolerances, a forgotten epsilon
    SHIFTED = "shifted"  # normal about 4: a mean that was taken for zero
    SPARSE = "sparse"  # nine of ten are zero: skipped work, a division by zero
    EQUAL_ROWS = "equal-rows"  # rows that do not differ: an index that is not used
    CANCELLING = "cancelling"  # neighbours of opposite sign: sums that nearly vanish

    @property
    def has_equal_terms(self) -> bool:
        """Whether many elements are equal, so that roundings in their sums are not independent."""
        return self in {Distribution.SPARSE, Distribution.EQUAL_ROWS}


def draw(
    case: Case,
    distribution: Distribution,
    seed: int,
    device: torch.device,
    *,
    state: Mapping[str, Tensor],
    integers: Mapping[str, Tensor],
) -> dict[str, Tensor]:
    """Inputs, parameters and buffers of one case.

    Args:
        case: The shapes.
        distribution: How floating inputs are drawn.
        seed: With the case's name it determines every value.
        device: Where to draw; different devices draw different values.
        state: The reference's own parameters and buffers, at the timed shapes.
        integers: Valid values of the integer and bool inputs, which are not drawn.
    """
    drawn: dict[str, Tensor] = {}
    for tensor in case.of("input", "parameter", "buffer"):
        generator = torch.Generator(device).manual_seed(
            seed_of(seed, case.name, distribution.value, tensor.name)
        )
        if tensor.name in integers:
            drawn[tensor.name] = integers[tensor.name].to(device).contiguous()
        elif tensor.role == "input":
            drawn[tensor.name] = _floats(tensor, distribution, generator)
        else:
            initial = _resized(state[tensor.name].detach(), tensor.shape).to(device)
            drawn[tensor.name] = _off_initial(initial, generator)
    return drawn


def perturb(inputs: Mapping[str, Tensor], roundoff: float, seed: int) -> dict[str, Tensor]:
    """Floating tensors as float64, each element moved by up to ``roundoff``, relatively."""
    moved: dict[str, Tensor] = {}
    for name, tensor in inputs.items():
        if not tensor.is_floating_point():
            moved[name] = tensor
            continue
        generator = torch.Generator(tensor.device).manual_seed(seed_of(seed, name))
        noise = torch.empty(tensor.shape, dtype=torch.float64, device=tensor.device)
        noise.uniform_(1 - roundoff, 1 + roundoff, generator=generator)
        moved[name] = noise.mul_(tensor)
    return moved


def seed_of(*parts: object) -> int:
    """A generator's seed from anything that can be told apart as text."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:7], "big")


def _floats(tensor: TensorArg, distribution: Distribution, generator: torch.Generator) -> Tensor:
    values = torch.empty(tensor.shape, dtype=tensor.dtype.torch, device=generator.device)
    if distribution is Distribution.UNIFORM:
        return values.uniform_(generator=generator)
    values.normal_(generator=generator)
    match distribution:
        case Distribution.LARGE:
            values.mul_(_LARGE)
        case Distribution.SMALL:
            values.mul_(_SMALL)
        case Distribution.SHIFTED:
            values.add_(_SHIFT)
        case Distribution.SPARSE:
            values.mul_(torch.empty_like(values).bernoulli_(_DENSITY, generator=generator))
        case Distribution.EQUAL_ROWS if values.dim() > 1:
            rows = values.reshape(-1, values.shape[-1])
            rows.copy_(rows[:1].clone().expand_as(rows))
        case Distribution.CANCELLING:
            _cancel(values)
    return values


def _cancel(values: Tensor) -> None:
    """Turn pairs of neighbours into a value and almost its opposite, in place.

    In the last dimension signs alternate, in the last but one they do not: so both the sum
    of a row and the product of two matrices cancel.
    """
    for dimension, sign in ((-1, -1.0), (-2, 1.0)):
        if values.dim() < -dimension or values.shape[dimension] < 2:  # noqa: PLR2004 - a pair
            continue
        pairs = values.shape[dimension] // 2
        index = torch.arange(pairs, device=values.device) * 2
        first, second = (values.index_select(dimension, each) for each in (index, index + 1))
        values.index_copy_(dimension, index + 1, first * sign + second * _RESIDUE)


def _off_initial(initial: Tensor, generator: torch.Generator) -> Tensor:
    """Move a parameter: no term may be skipped because it starts at zero or at one.

    The factor is positive, so a running variance stays one.
    """
    if not initial.is_floating_point():
        return initial.contiguous()
    noise = torch.empty(initial.shape, dtype=torch.float32, device=initial.device)
    noise.normal_(0, _PARAMETER_SPREAD, generator=generator)
    moved = initial * noise.exp().to(initial.dtype)
    if not bool(initial.any()):
        moved = moved + noise.to(initial.dtype)
    return moved.contiguous()


def _resized(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Cut or repeat along each dimension: check shapes differ from the timed ones."""
    for dimension, extent in enumerate(shape):
        if values.shape[dimension] != extent:
            index = torch.arange(extent, device=values.device) % values.shape[dimension]
            values = values.index_select(dimension, index)
    return values
