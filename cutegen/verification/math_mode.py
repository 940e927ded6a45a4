"""PyTorch's own result at the spec's math mode: what a candidate's error is compared with."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from cutegen.reference import evaluate
from cutegen.spec import KernelSpec, MathMode

_TF32_DROPPED_BITS = 13  # of fp32's 23 mantissa bits TF32 keeps 10


@contextmanager
def tf32(*, allowed: bool) -> Iterator[None]:
    """Allow or forbid TF32 in PyTorch's products and convolutions, for a while."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    matmul.allow_tf32 = cudnn.allow_tf32 = allowed
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before


def round_to_tf32(tensor: Tensor) -> Tensor:
    """Round float32 values to TF32's 10 mantissa bits, to nearest, ties to even."""
    bits = tensor.view(torch.int32)
    odd = (bits >> _TF32_DROPPED_BITS) & 1
    half = (1 << (_TF32_DROPPED_BITS - 1)) - 1
    rounded = ((bits + half + odd) >> _TF32_DROPPED_BITS) << _TF32_DROPPED_BITS
    return torch.where(torch.isfinite(tensor), rounded.view(torch.float32), tensor)


def native_result(spec: KernelSpec, tensors: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
    """Run the reference as PyTorch would at the spec's math mode.

    TF32 without a GPU is approximated by rounding every float32 operand to TF32 first.
    """
    match spec.math_mode:
        case MathMode.FP32:
            with tf32(allowed=False):
                return evaluate(spec, tensors)
        case MathMode.TF32:
            on_gpu = any(tensor.is_cuda for tensor in tensors.values())
            with tf32(allowed=True):
                return evaluate(spec, tensors if on_gpu else _rounded(tensors))
        case MathMode.BF16:
            return evaluate(spec, tensors, precision=torch.bfloat16)
        case MathMode.FP16:
            return evaluate(spec, tensors, precision=torch.float16)


def _rounded(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name: round_to_tf32(tensor) if tensor.dtype == torch.float32 else tensor
        for name, tensor in tensors.items()
    }
