"""The arithmetic modes, apart from the spec: the command line names them without PyTorch."""

from enum import StrEnum


class MathMode(StrEnum):
    """The arithmetic a kernel may use, and the one its baseline and error bound use."""

    FP32 = "fp32"
    TF32 = "tf32"
    BF16 = "bf16"
    FP16 = "fp16"
