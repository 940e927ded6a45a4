"""Test data: seeded, on several distributions, with every parameter off its initial value."""

import hashlib
from collections.abc import Mapping
from enum import StrEnum

import torch
from torch import Tensor

from cutegen.spec import Case, TensorArg

_LARGE = 8.0
_SMALL = 1e-2
_PARAMETER_SPREAD = 0.1


class Distribution(StrEnum):
    """How floating inputs are drawn."""

    NORMAL = "normal"  # zero mean: the only one on which lost precision cannot average out
    UNIFORM = "uniform"  # [0, 1), as KernelBench draws
    LARGE = "large"  # normal, times 8: overflow, saturation
    SMALL = "small"  # normal, times 1/100: cancellation


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
            _seed(seed, case.name, distribution.value, tensor.name)
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
        generator = torch.Generator(tensor.device).manual_seed(_seed(seed, name))
        noise = torch.empty(tensor.shape, dtype=torch.float64, device=tensor.device)
        noise.uniform_(1 - roundoff, 1 + roundoff, generator=generator)
        moved[name] = noise.mul_(tensor)
    return moved


def _seed(*parts: object) -> int:
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:7], "big")


def _floats(tensor: TensorArg, distribution: Distribution, generator: torch.Generator) -> Tensor:
    dtype, device = tensor.dtype.torch, generator.device
    values = torch.empty(tensor.shape, dtype=dtype, device=device)
    match distribution:
        case Distribution.UNIFORM:
            return values.uniform_(generator=generator)
        case Distribution.NORMAL:
            return values.normal_(generator=generator)
        case Distribution.LARGE:
            return values.normal_(generator=generator).mul_(_LARGE)
        case Distribution.SMALL:
            return values.normal_(generator=generator).mul_(_SMALL)


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
