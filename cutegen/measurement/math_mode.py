"""PyTorch's arithmetic switches, set to what a spec's math mode means."""

import torch

from cutegen.spec import MathMode


def set_math_mode(mode: MathMode) -> None:
    """Set the switches of this process: TF32 only where it is the mode."""
    tf32 = mode is MathMode.TF32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
