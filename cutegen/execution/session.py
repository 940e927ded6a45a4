"""A candidate loaded in its worker process, with an arena that both sides map."""

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch
from pydantic import JsonValue
from torch import Tensor

from cutegen.execution.address_space import space_for
from cutegen.execution.confinement import chosen_layers
from cutegen.execution.failures import (
    NOTHING_LAUNCHED,
    depends_on_unwritten,
    ended_worker,
    failed_launch,
)
from cutegen.execution.memory import Arena, CudaArena, Layout, prepare, trespasses, view
from cutegen.execution.process import WorkerEndedError, WorkerProcess
from cutegen.execution.reports import Report, parse_reports
from cutegen.kernel import args_structure, fill_args
from cutegen.measurement.sampling import SampleFailedError
from cutegen.spec import Case, KernelSpec
from cutegen.status import Status
from cutegen.toolchain.places import name_places
from cutegen.verification.poison import same_bits
from cutegen.verification.session import CaseRun, Failure

_EMULATED_ELEMENTS = 1 << 20
_EMULATED_OPERATIONS = 1 << 26
_WATCHED_ELEMENTS = 1 << 17
_WATCHED_OPERATIONS = 1 << 22
_POISON = 0xFF  # what unwritten workspace and shared memory hold: NaN in every floating type
_OTHER_POISON = 0x3B  # a small number in every floating type
_HOST_MEMORY = 8 << 30  # what an emulated candidate may use beside its arena


class WorkerSession:
    """Runs cases of one candidate; implements the ladder's ``Session``.

    Use it as a context manager. It takes the arena over and closes it.
    """

    def __init__(
        self,
        spec: KernelSpec,
        library: Path,
        arena: Arena,
        *,
        timeout_s: float,
        cudart: str = "",
        device: int = 0,
    ) -> None:
        """Keep what is needed; the process starts with ``start``.

        Args:
            spec: The contract.
            library: Shared object that exports ``cutegen_launch``.
            arena: Memory large enough for every case that will be run.
            timeout_s: Limit for loading, and for each launch.
            cudart: Path of libcudart; empty on the emulator.
            device: CUDA device index.
        """
        self._spec = spec
        self._library = library
        self._arena = arena
        self._timeout_s = timeout_s
        self._cudart = cudart
        self._device_index = device
        self._process: WorkerProcess | None = None
        self._broken: Failure | None = None
        self._launches = 0  # seeds the emulator, so that no random order is tried twice
        self.facts: dict[str, JsonValue] = {}
        self.notes: list[Report] = []  # odd things that the emulator saw, each once

    @property
    def folder(self) -> Path | None:
        """Where the worker may write; None before it has started."""
        return Path(self._process.folder) if self._process is not None else None

    @property
    def emulated(self) -> bool:
        """Whether the candidate runs on the CPU."""
        return not self._cudart

    @property
    def name(self) -> str:
        """The executor's name."""
        return "emulated" if self.emulated else "cuda"

    @property
    def device(self) -> torch.device:
        """Where the arena lies."""
        return self._arena.memory.device

    @property
    def schedules(self) -> tuple[str, ...]:
        """Thread orders: the emulator's, or whatever the hardware does."""
        return ("fifo", "reverse", "random") if self.emulated else ("hardware",)

    @property
    def runs_made(self) -> int:
        """Runs since the candidate was loaded."""
        return self._launches

    def runs_timed_case(self, case: Case) -> bool:
        """Always on a GPU; on the emulator only when it is small."""
        return not self.emulated or small_enough_to_emulate(case)

    def __enter__(self) -> Self:
        """Start the worker and load the candidate; a failure shows in the first run."""
        self._start()
        return self

    def _start(self) -> None:
        try:
            self._process = WorkerProcess(
                self._arena.descriptor,
                cudart=self._cudart,
                device=self._device_index,
                memory_limit=_HOST_MEMORY + space_for(self._arena.memory.numel())
                if self.emulated
                else 0,
            )
            self._load(self._process)
        except WorkerEndedError as error:
            self._break(error)
        except RuntimeError as error:
            self._broken = Failure(status=Status.ENVIRONMENT, summary=str(error))
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the worker and give the memory back."""
        self.close()

    def close(self) -> None:
        """End the worker's process group, then free the arena. Views of it become invalid."""
        if self._process is not None:
            self._process.close()
        self._arena.close()

    def restart(self) -> None:
        """Load the candidate anew in a fresh process, as if it had never been called."""
        if self._process is not None:
            self._process.close()
        self._process, self._broken, self._launches = None, None, 0
        self._start()

    def _load(self, process: WorkerProcess) -> None:
        reply = self._ask_to_load(process)
        if "cudaIpcOpenMemHandle" in reply["error"] and isinstance(self._arena, CudaArena):
            self._arena.use_mirror()
            reply = self._ask_to_load(process)
        self.facts["sandbox"] = reply.get("sandbox")
        if not self.emulated:
            self.facts["memory"] = "ipc" if self._arena.ipc_handle else "copied"
        if reply["error"] == "missing-entry-point":
            self._broken = Failure(
                status=Status.LAUNCH_ERROR,
                summary="the candidate exports no cutegen_launch",
                hints=('define `extern "C" cudaError_t cutegen_launch(CutegenArgs const* a)`',),
            )
        elif "cudaErrorMemoryAllocation" in reply["error"]:
            self._broken = Failure(
                status=Status.RESOURCE,
                summary=f"the GPU has no memory for the case: {reply['error']}",
                hints=("free the GPU's memory, or give the spec smaller timed shapes",),
            )
        elif reply["error"]:
            self._broken = Failure(
                status=Status.LAUNCH_ERROR,
                summary=f"the candidate cannot be loaded: {reply['error']}",
                hints=("every function that is called must be defined in the candidate",),
            )

    def _ask_to_load(self, process: WorkerProcess) -> dict[str, Any]:
        return process.ask(
            "load",
            self._timeout_s,
            library=str(self._library),
            ipc=self._arena.ipc_handle,
            memory=_HOST_MEMORY,
            layers=chosen_layers(),
        )

    def run(self, case: Case, inputs: Mapping[str, Tensor], schedule: str) -> CaseRun:
        """Poison the outputs, launch once, and look at everything it may have touched.

        Where the emulator saw a read of memory that nobody has written, a second launch on another
        content of such memory tells whether the outputs depend on it.
        """
        if self._broken is not None or self._process is None:
            return CaseRun(failure=self._broken)
        self._launches += 1
        known = len(self.notes)
        seen = self._launch(self._process, case, inputs, schedule, _POISON)
        unwritten = [n for n in self.notes[known:] if n.status is Status.UNINITIALIZED]
        if not unwritten or seen.failure is not None:
            return seen
        first = {name: output.clone() for name, output in seen.outputs.items()}
        again = self._launch(self._process, case, inputs, schedule, _OTHER_POISON)
        if again.failure is None and all(
            same_bits(first[name], output) for name, output in again.outputs.items()
        ):
            return seen
        return CaseRun(failure=depends_on_unwritten(unwritten))

    def _launch(
        self,
        process: WorkerProcess,
        case: Case,
        inputs: Mapping[str, Tensor],
        schedule: str,
        poison: int,
    ) -> CaseRun:
        layout, memory = Layout(case), self._arena.memory
        prepare(memory, layout, inputs)
        self._arena.to_worker()
        try:
            request = self._request(layout, schedule, poison)
            reply = process.ask("launch", self._timeout_s, **request)
        except WorkerEndedError as error:
            return CaseRun(failure=self._break(error))
        reply["report"] = name_places(reply["report"], self._library)
        reports = parse_reports(reply["report"])
        self.notes += [r for r in reports if not r.fatal and r not in self.notes]
        failure = failed_launch(reply)
        if failure is not None and failure.refuses_shapes:
            return CaseRun(failure=failure)
        if failure is not None:
            # After an error the context may be lost: nothing more is asked of this process.
            log = process.close()
            self._broken = failure.model_copy(update={"log": log})
            return CaseRun(failure=self._broken)
        if not reply["launched"]:
            return CaseRun(failure=NOTHING_LAUNCHED)
        self._arena.from_worker()
        written = [
            f"{where.changed} bytes {where.side} of {where.tensor}, the nearest "
            f"{where.distance} bytes away"
            for where in trespasses(memory, layout)
        ]
        if not reply["workspace_intact"]:
            written.append(f"outside the workspace of {reply['workspace_bytes']} bytes")
        return CaseRun(
            outputs={t.name: view(memory, layout, t) for t in case.of("output")},
            trespasses=tuple(written),
            modified=tuple(
                tensor.name
                for tensor in case.of("input", "parameter", "buffer")
                if not same_bits(view(memory, layout, tensor), inputs[tensor.name])
            ),
        )

    def _exchange(self, operation: str, **fields: object) -> dict[str, Any]:
        if self._broken is not None or self._process is None:
            raise SampleFailedError(self._broken.summary if self._broken else "not started")
        try:
            return self._process.ask(operation, self._timeout_s, **fields)
        except WorkerEndedError as error:
            raise SampleFailedError(self._break(error).summary) from error

    def _request(self, layout: Layout, schedule: str, poison: int) -> dict[str, object]:
        """The packed arguments, and where the worker patches its own addresses in."""
        structure = args_structure(self._spec)
        offset = {name: getattr(structure, name).offset for name, *_ in structure._fields_}
        packed = bytes(fill_args(self._spec, layout.case, dict.fromkeys(layout.offsets, 0)))
        return {
            "arguments": base64.b64encode(packed).decode(),
            "pointers": [[offset[name], at] for name, at in layout.offsets.items()],
            "used": layout.nbytes,
            "stream": offset["stream"],
            "workspace": offset["workspace"],
            "workspace_bytes": offset["workspace_bytes"],
            "poison": poison,
            "tensors": {
                tensor.name: (
                    layout.offsets[tensor.name],
                    tensor.nbytes,
                    tensor.dtype.itemsize,
                )
                for tensor in layout.case.tensors
            },
            "environment": {
                "CUTEGEN_EMU_ORDER": schedule,
                "CUTEGEN_EMU_SEED": str(self._launches),
                "CUTEGEN_EMU_POISON": str(poison),
                "CUTEGEN_EMU_WATCH": str(int(small_enough_to_watch(layout.case))),
            }
            if self.emulated
            else {},
        }

    def _break(self, error: WorkerEndedError) -> Failure:
        log = self._process.close() if self._process is not None else ""
        self._broken = ended_worker(error, log, emulated=self.emulated)
        return self._broken


def small_enough_to_emulate(case: Case) -> bool:
    """Whether the emulator can run a case in seconds."""
    elements, operations = _work(case)
    return elements <= _EMULATED_ELEMENTS and operations <= _EMULATED_OPERATIONS


def small_enough_to_watch(case: Case) -> bool:
    """Whether that is so with every access watched, which takes about ten times as long."""
    elements, operations = _work(case)
    return elements <= _WATCHED_ELEMENTS and operations <= _WATCHED_OPERATIONS


def _work(case: Case) -> tuple[int, int]:
    """Elements, and multiplications at most: every output element times the widest extent."""
    elements = sum(tensor.numel for tensor in case.tensors)
    outputs = sum(tensor.numel for tensor in case.of("output"))
    widest = max((extent for tensor in case.tensors for extent in tensor.shape), default=1)
    return elements, outputs * widest


def arena_bytes(cases: Iterable[Case]) -> int:
    """Bytes an arena needs to hold any one of ``cases``."""
    return max(Layout(case).nbytes for case in cases)
