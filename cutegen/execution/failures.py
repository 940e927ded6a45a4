"""What a worker's reply, or its end, says about the candidate."""

import signal
from collections.abc import Sequence
from typing import Any

from cutegen.execution.process import Ending, WorkerEndedError
from cutegen.execution.reports import Report, parse_reports
from cutegen.status import Status
from cutegen.verification.session import Failure

_ILLEGAL_ADDRESS = 700
_MISALIGNED_ADDRESS = 716
_MEMORY_ALLOCATION = 2
_NO_DEVICE = {3, 35, 46, 100, 101, 802, 803, 804}  # initialisation, driver, busy, no device

# Codes as in driver_types.h; the emulator returns the same numbers.
_NAMES = {
    1: "cudaErrorInvalidValue",
    2: "cudaErrorMemoryAllocation",
    9: "cudaErrorInvalidConfiguration",
    98: "cudaErrorInvalidDeviceFunction",
    209: "cudaErrorNoKernelImageForDevice",
    700: "cudaErrorIllegalAddress",
    701: "cudaErrorLaunchOutOfResources",
    710: "cudaErrorAssert",
    715: "cudaErrorIllegalInstruction",
    716: "cudaErrorMisalignedAddress",
    719: "cudaErrorLaunchFailure",
    801: "cudaErrorNotSupported",
}
_HINTS = {
    1: "an argument of a runtime call is invalid: often more dynamic shared memory than "
    "cudaFuncSetAttribute was told of, or than the device has",
    9: "the grid or the block is empty or too large (1024 threads; grid y and z 65535)",
    98: "the kernel was not built for this architecture",
    209: "the kernel was not built for this architecture",
    700: "a kernel read or wrote an address that is not mapped: predicate the last tile",
    701: "too many registers or too much shared memory per block: lower the block size or "
    "set __launch_bounds__",
    716: "an access wider than its address is aligned: a row length that is no multiple of the "
    "vector width breaks vectorised accesses",
    719: "the kernel died: often an invalid shared-memory or local-memory access",
    801: "cutegen_launch refused these shapes: it must handle the check cases as well as "
    "the timed one",
}
_SIGNAL_HINTS = {
    signal.SIGABRT: "abort, a failed assert or an uncaught C++ exception",
    signal.SIGFPE: "an integer division by zero on the host side",
    signal.SIGILL: "an illegal instruction: often a function without a return statement",
}
_MEMORY_SIGNALS = (signal.SIGSEGV, signal.SIGBUS)


NOTHING_LAUNCHED = Failure(
    status=Status.DID_NOT_RUN,
    summary="cutegen_launch put no kernel on the stream",
    hints=("the work belongs into kernels: on a GPU the host cannot touch these tensors",),
)


def failed_launch(reply: dict[str, Any]) -> Failure | None:
    """What a reply to ``launch`` or ``sample`` reports; None when all went well."""
    if reply["error"]:
        return Failure(status=Status.LAUNCH_ERROR, summary=f"the launch failed: {reply['error']}")
    code = int(reply["code"])
    if not code:
        return None
    faults = [report for report in parse_reports(reply["report"]) if report.fatal]
    if faults:
        return _reported(faults[0], code)
    name = reply["name"] or _NAMES.get(code, "an unknown cudaError_t")
    text = f": {reply['text']}" if reply["text"] else ""
    late = reply["stage"] == "synchronize"
    seen = "a kernel failed with" if late else "cutegen_launch returned"
    if code in _NO_DEVICE:
        status = Status.ENVIRONMENT
    elif code == _ILLEGAL_ADDRESS:
        status = Status.OUT_OF_BOUNDS
    elif code == _MISALIGNED_ADDRESS:
        status = Status.MISALIGNED
    else:
        status = Status.LAUNCH_ERROR
    hint = _HINTS.get(code)
    return Failure(
        status=status,
        summary=f"{seen} {name} ({code}){text}",
        hints=(hint,) if hint else (),
        facts={"cuda_error": code, "cuda_error_name": name, "stage": reply["stage"]},
    )


def _reported(fault: Report, code: int) -> Failure:
    """What the emulator itself saw says more than an error code."""
    hint = _HINTS.get(code)
    return Failure(
        status=fault.status,
        summary=f"{fault.kernel}: {fault.summary}",
        hints=(*fault.details, *((hint,) if hint else ())),
        facts={"cuda_error": code, "kernel": fault.kernel, "lines": [*fault.lines]},
    )


def depends_on_unwritten(notes: Sequence[Report]) -> Failure:
    """The outputs changed with the content of memory that nobody had written before its read."""
    first = notes[0]
    return Failure(
        status=Status.UNINITIALIZED,
        summary=f"{first.kernel}: {first.summary}, and the outputs depend on it",
        hints=(
            *(note.summary for note in notes[1:]),
            "write it first, zeros where the tile has no elements, or wait for the copy that does",
        ),
        facts={"kernel": first.kernel, "lines": [*first.lines]},
    )


def ended_worker(error: WorkerEndedError, log: str, *, emulated: bool) -> Failure:
    """What the end of the worker process says about the candidate."""
    operation = error.operation
    match error.ending:
        case Ending.DEADLINE:
            status = Status.TIMEOUT
            summary = f"{operation} did not end within {error.detail:g} s"
            hints: tuple[str, ...] = (
                "an endless loop, a deadlock at a barrier, or far too slow an algorithm",
            )
        case Ending.SIGNAL:
            status, summary, hints = _killed(signal.Signals(int(error.detail)), operation, emulated)
        case Ending.EXIT:
            status = Status.LAUNCH_ERROR
            summary = f"the process exited with status {error.detail:g} during {operation}"
            hints = ("cutegen_launch must return, not exit",)
        case Ending.GARBLED:
            status = Status.CHEAT
            summary = f"the worker's channel was tampered with during {operation}"
            hints = ("a candidate has no business with file descriptors",)
    return Failure(
        status=status,
        summary=summary,
        hints=hints,
        facts={"ending": error.ending.value, "operation": operation},
        log=log,
    )


def _killed(
    number: signal.Signals, operation: str, emulated: bool
) -> tuple[Status, str, tuple[str, ...]]:
    summary = f"{number.name} during {operation}"
    if number == signal.SIGKILL:
        return (
            Status.RESOURCE,
            f"the worker was killed from outside ({summary})",
            ("most likely the machine ran out of memory: free some, or check smaller shapes",),
        )
    if number == signal.SIGXCPU:
        return Status.TIMEOUT, f"the CPU time limit was reached ({summary})", ()
    if number in _MEMORY_SIGNALS and emulated and operation == "launch":
        return (
            Status.OUT_OF_BOUNDS,
            f"an access outside of mapped memory: {summary}",
            ("predicate the last tile; check pointers and strides",),
        )
    hint = _SIGNAL_HINTS.get(number, "the host code of the candidate crashed")
    return Status.LAUNCH_ERROR, f"the process died: {summary}", (hint,)


def allocation_failed(code: int) -> bool:
    """Whether a CUDA error means that the device has no memory left."""
    return code == _MEMORY_ALLOCATION
