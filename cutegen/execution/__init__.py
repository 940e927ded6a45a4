"""Executors: where candidates are built, judged and timed.

The names are resolved on first use: the worker process imports this package too, and must
not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutegen.execution.callable import KernelCallable, load_callable
    from cutegen.execution.cuda import CudaExecutor
    from cutegen.execution.emulated import EmulatedExecutor
    from cutegen.execution.protocol import EnvironmentUnfitError
    from cutegen.execution.resolve import resolve_executor

__all__ = [
    "CudaExecutor",
    "EmulatedExecutor",
    "EnvironmentUnfitError",
    "KernelCallable",
    "load_callable",
    "resolve_executor",
]

_HOMES = {
    "CudaExecutor": "cuda",
    "EmulatedExecutor": "emulated",
    "EnvironmentUnfitError": "protocol",
    "KernelCallable": "callable",
    "load_callable": "callable",
    "resolve_executor": "resolve",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
