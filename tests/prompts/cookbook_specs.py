"""What each kernel of the cookbook computes: a function, its timed shapes, its checked shapes.

The checked shapes have edges that no tile divides, wherever the kernel allows it; those of the
tensor cores keep rows that are multiples of 16 bytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from cutegen.spec import KernelSpec

COOKBOOK = Path(__file__).resolve().parents[2] / "prompts" / "cookbook"

Shapes = Sequence[tuple[int, ...]]


def relu(x: Tensor) -> Tensor:
    return torch.relu(x)


def swish(x: Tensor) -> Tensor:
    return x * torch.sigmoid(x)


def axpb(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    return x * scale + shift


def transpose(x: Tensor) -> Tensor:
    return x.t().contiguous()


def row_sum(x: Tensor) -> Tensor:
    return x.sum(dim=1)


def row_norm(x: Tensor) -> Tensor:
    return torch.linalg.vector_norm(x, dim=1)


def softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, dim=1)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return functional.layer_norm(x, (x.shape[1],), weight, bias)


def matmul(a: Tensor, b: Tensor) -> Tensor:
    return a @ b


def linear(a: Tensor, w: Tensor) -> Tensor:
    return functional.linear(a, w)


def linear_relu(a: Tensor, w: Tensor, bias: Tensor) -> Tensor:
    return torch.relu(functional.linear(a, w, bias))


@dataclass(frozen=True)
class Entry:
    """One kernel's spec, at the sizes of the GPU or at sizes that the emulator checks too."""

    function: Callable[..., Tensor]
    timed: Shapes
    checks: Sequence[Shapes]
    dtype: torch.dtype = torch.float32
    math_mode: str = "fp32"

    def spec(self, name: str, *, small: bool) -> KernelSpec:
        largest = max(self.checks, key=lambda shapes: sum(map(prod, shapes)))
        shapes = largest if small else self.timed
        return KernelSpec.from_callable(
            self.function,
            [torch.randn(shape, dtype=self.dtype) for shape in shapes],
            name=name,
            math_mode=self.math_mode,
            check_shapes=[shapes for shapes in self.checks if not small or shapes is not largest],
        )


_half = partial(Entry, dtype=torch.float16, math_mode="fp16")
_MATRIX = ((8192, 8192),)
_SMALL = (((37, 1021),), ((1, 5),), ((16, 256),))
_GEMM = ((4096, 4096), (4096, 4096))

ENTRIES: dict[str, Entry] = {
    "tiled_copy_predicated": Entry(relu, _MATRIX, _SMALL),
    "grid_stride_vectors": Entry(swish, _MATRIX, _SMALL),
    "bf16_stream": Entry(
        axpb,
        _MATRIX * 3,
        [shapes * 3 for shapes in _SMALL],
        dtype=torch.bfloat16,
        math_mode="bf16",
    ),
    "smem_transpose": Entry(transpose, _MATRIX, _SMALL),
    "warp_row_sum": Entry(row_sum, ((65536, 512),), (((37, 61),), ((1, 5),), ((9, 256),))),
    "block_reduction": Entry(row_norm, _MATRIX, (((5, 4099),), ((1, 5),), ((3, 2048),))),
    "online_softmax": Entry(softmax, _MATRIX, (((5, 1021),), ((2, 8195),), ((3, 512),))),
    "layer_norm": Entry(
        layer_norm,
        ((8192, 8192), (8192,), (8192,)),
        (((5, 1021), (1021,), (1021,)), ((2, 7), (7,), (7,)), ((3, 512), (512,), (512,))),
    ),
    "cluster_reduction": Entry(row_sum, ((64, 2**20),), (((3, 5003),), ((1, 5),), ((2, 4096),))),
    "fp32_register_tile": Entry(
        matmul,
        _GEMM,
        (((67, 37), (37, 71)), ((1, 5), (5, 3)), ((64, 32), (32, 64))),
    ),
    "split_k": Entry(
        linear,
        ((64, 65536), (64, 65536)),
        (((33, 331), (35, 331)), ((1, 5), (3, 5)), ((32, 512), (32, 512))),
    ),
    "ldmatrix_mma": _half(
        linear, _GEMM, (((67, 72), (71, 72)), ((1, 8), (3, 8)), ((64, 128), (64, 128)))
    ),
    "cp_async_pipeline": _half(
        linear, _GEMM, (((67, 200), (131, 200)), ((1, 8), (3, 8)), ((128, 96), (128, 96)))
    ),
    "fused_epilogue": _half(
        linear_relu,
        (*_GEMM, (4096,)),
        (
            ((67, 72), (72, 72), (72,)),
            ((1, 8), (8, 8), (8,)),
            ((64, 128), (64, 128), (64,)),
        ),
    ),
    "wgmma_tma": _half(
        linear, _GEMM, (((67, 264), (131, 264)), ((1, 8), (3, 8)), ((128, 128), (128, 128)))
    ),
    "warp_specialised": _half(
        linear, _GEMM, (((131, 328), (259, 328)), ((1, 8), (3, 8)), ((128, 128), (128, 128)))
    ),
    "tf32_three_passes": Entry(
        linear, _GEMM, (((67, 68), (71, 68)), ((1, 4), (3, 4)), ((64, 64), (64, 64)))
    ),
}
