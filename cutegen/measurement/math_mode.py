"""PyTorch's arithmetic switches, set to what a spec's math mode means."""

import torch

from cutegen.spec import MathMode


def set_math_mode(mode: MathMode) -> None:
    """Set the switches of this process: TF32 only for the ``tf32`` mode, full sums always."""
    tf32 = mode is MathMode.TF32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
