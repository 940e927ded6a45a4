"""The six planted kernels: what each computes, at which sizes, and which bottleneck it has.

The checked shapes are small enough for the emulator.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from cutegen.measurement.profile import Bottleneck
from cutegen.spec import KernelSpec

KERNELS = Path(__file__).resolve().parent / "kernels" / "profiles"
Shapes = tuple[tuple[int, ...], ...]


def swish(x: Tensor) -> Tensor:
    return x * torch.sigmoid(x)


def softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, dim=1)


def transpose(x: Tensor) -> Tensor:
    return x.t().contiguous()


def matmul(a: Tensor, b: Tensor) -> Tensor:
    return a @ b


def linear(a: Tensor, w: Tensor) -> Tensor:
    return functional.linear(a, w)


@dataclass(frozen=True)
class Plant:
    """One kernel: its function and sizes, and the classes that name its bottleneck rightly."""

    function: Callable[..., Tensor]
    timed: Shapes
    checks: tuple[Shapes, ...]
    expected: tuple[Bottleneck, ...]
    dtype: torch.dtype = torch.float32

    def spec(self, name: str, *, small: bool = False) -> KernelSpec:
        """The contract at the timed shapes, or at the first checked ones."""
        shapes, *checks = self.checks if small else (self.timed, *self.checks)
        return KernelSpec.from_callable(
            self.function,
            [torch.randn(shape, dtype=self.dtype) for shape in shapes],
            name=name,
            math_mode="fp16" if self.dtype is torch.float16 else "fp32",
            check_shapes=checks,
        )


PLANTS = {
    "bandwidth": Plant(
        swish,
        ((16384, 16384),),
        (((16, 256),), ((37, 1024),)),
        (Bottleneck.MEMORY, Bottleneck.AT_THE_LIMIT),
    ),
    "latency": Plant(
        swish,
        ((16384, 16384),),
        (((16, 256),), ((37, 1021),)),
        (Bottleneck.LATENCY,),
        dtype=torch.float16,
    ),
    "instructions": Plant(
        softmax, ((131072, 256),), (((9, 256),), ((5, 300),)), (Bottleneck.COMPUTE,)
    ),
    "bank_conflicts": Plant(
        transpose, ((8192, 8192),), (((64, 96),), ((37, 45),)), (Bottleneck.BANK_CONFLICTS,)
    ),
    "spilling": Plant(
        matmul,
        ((2048, 2048), (2048, 2048)),
        (((64, 32), (32, 64)), ((67, 37), (37, 71))),
        (Bottleneck.SPILLS,),
    ),
    "tensor": Plant(
        linear,
        ((4096, 4096), (4096, 4096)),
        (((128, 128), (128, 128)), ((67, 72), (131, 72))),
        (Bottleneck.TENSOR,),
        dtype=torch.float16,
    ),
}
