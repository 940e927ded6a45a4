"""CuTeGen: a PyTorch module becomes a verified, fast CuTe kernel.

The front door is resolved on first use, so that a worker process which imports only the
instrument never waits for the graph and the model clients.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutegen.graphs.resuming import resume_run, stream_resumed
    from cutegen.graphs.running import arun_graph, run_graph, stream_graph
    from cutegen.graphs.settings import Budget
    from cutegen.graphs.suite_running import resume_suite, run_suite
    from cutegen.result import RunResult, RunStatus
    from cutegen.spec import KernelSpec
    from cutegen.suite import SuiteResult

__all__ = [
    "Budget",
    "KernelSpec",
    "RunResult",
    "RunStatus",
    "SuiteResult",
    "arun_graph",
    "resume_run",
    "resume_suite",
    "run_graph",
    "run_suite",
    "stream_graph",
    "stream_resumed",
]

_HOMES = {
    "Budget": "graphs.settings",
    "KernelSpec": "spec",
    "RunResult": "result",
    "RunStatus": "result",
    "SuiteResult": "suite",
    "arun_graph": "graphs.running",
    "resume_run": "graphs.resuming",
    "resume_suite": "graphs.suite_running",
    "run_graph": "graphs.running",
    "run_suite": "graphs.suite_running",
    "stream_graph": "graphs.running",
    "stream_resumed": "graphs.resuming",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
