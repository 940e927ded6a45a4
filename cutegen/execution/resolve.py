"""From the name of an executor to the executor."""

import torch

from cutegen.execution.cuda import CudaExecutor
from cutegen.execution.emulated import EmulatedExecutor
from cutegen.execution.protocol import EnvironmentUnfitError, Executor
from cutegen.toolchain.discovery import ToolNotFoundError, find_nvcc

NAMES = ("auto", "cuda", "emulated")


def resolve_executor(name: str = "auto", device: int = 0) -> Executor:
    """The executor called ``name``.

    Args:
        name: ``cuda``, ``emulated``, or ``auto``: cuda where a GPU and nvcc are at hand.
        device: CUDA device index.

    Raises:
        ValueError: There is no executor of that name.
        EnvironmentUnfitError: It needs something that this machine lacks.
    """
    if name not in NAMES:
        raise ValueError(f"unknown executor {name!r}: choose one of {', '.join(NAMES)}")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() and _has_nvcc() else "emulated"
    try:
        return CudaExecutor(device=device) if name == "cuda" else EmulatedExecutor()
    except ToolNotFoundError as error:
        raise EnvironmentUnfitError(str(error)) from error


def _has_nvcc() -> bool:
    try:
        find_nvcc()
    except ToolNotFoundError:
        return False
    return True
