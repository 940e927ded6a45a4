"""What a node works with: the run's folder, spec, settings, model, executor and event stream."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cutegen.events import Event, append_event
from cutegen.execution.protocol import Executor
from cutegen.graphs.acceptance import Design
from cutegen.graphs.context import Context
from cutegen.graphs.durable_model import DurableChat
from cutegen.graphs.renewed import renewed
from cutegen.graphs.settings import Settings
from cutegen.graphs.state import Attempt, State
from cutegen.history import Step
from cutegen.kernel import args_header
from cutegen.measurement.nsight.profiler import NsightCompute
from cutegen.measurement.profile import Profile, Profiler
from cutegen.measurement.static import StaticProfiler, occupancy_of
from cutegen.measurement.timing import Measurement
from cutegen.result import LOG_FILE
from cutegen.spec import KernelSpec
from cutegen.store import Ledger, Store
from cutegen.structure import fingerprint
from cutegen.toolchain.discovery import ToolNotFoundError, find_nvcc
from cutegen.toolchain.nvcc import NvccToolchain
from cutegen.toolchain.protocol import BuildRequest, BuildResult
from cutegen.verification.verdict import Verdict


class RunFolder:
    """Where everything about one run is kept."""

    def __init__(self, path: Path) -> None:
        """Use ``path``, which is made when needed."""
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.store = Store(path / "objects")
        self.ledger = Ledger(path / "ledger.sqlite")

    @property
    def log(self) -> Path:
        """The events, one JSON line each."""
        return self.path / LOG_FILE


@dataclass(frozen=True)
class Workshop:
    """One node's tools. Cheap to make; what is dear is made once per process, on first use."""

    context: Context
    folder: RunFolder
    run_id: str
    spec: KernelSpec
    settings: Settings
    history: tuple[Step, ...]
    write: Callable[[dict[str, object]], None]

    @classmethod
    def of(
        cls, state: State, context: Context, write: Callable[[dict[str, object]], None]
    ) -> "Workshop":
        """The tools for a state that a run was started in."""
        folder = RunFolder(Path(context.runs_dir) / state["run_id"])
        return cls(
            context=context,
            folder=folder,
            run_id=state["run_id"],
            spec=_spec(folder.path, state["spec"]),
            settings=Settings.model_validate(state["settings"]),
            history=tuple(_step(folder.path, digest) for digest in state.get("steps", [])),
            write=write,
        )

    def emit(self, event: Event) -> None:
        """Tell the stream and the log."""
        stamped = event.model_copy(update={"at": time.time()})
        append_event(self.folder.log, stamped)
        self.write(stamped.model_dump(mode="json"))

    @property
    def header(self) -> str:
        """The text of ``cutegen_args.h``."""
        return args_header(self.spec)

    @property
    def executor(self) -> Executor:
        """Where candidates are judged.

        Raises:
            EnvironmentUnfitError: This machine cannot be that place.
        """
        return self.context.judge(self.settings.executor)

    def chat(self, agent: str) -> DurableChat:
        """The model of an agent, for one turn."""
        choice = self.settings.choice(agent)
        return DurableChat(
            lambda: self.context.chat(choice, self.folder.path),
            model=choice.name,
            run_id=self.run_id,
            step=len(self.history),
            ledger=self.folder.ledger,
            store=self.folder.store,
            tell=self.emit,
        )

    def source(self, attempt: Attempt) -> str:
        """A candidate's text."""
        return self.folder.store.get_text(attempt["source"])

    def verdict(self, attempt: Attempt) -> Verdict:
        """A candidate's verdict."""
        return self.folder.store.get_model(attempt["verdict"], Verdict)

    def measurement(self, attempt: Attempt) -> Measurement:
        """A candidate's measurement."""
        return self.folder.store.get_model(attempt["measurement"], Measurement)

    def gate(self, source: str) -> BuildResult | None:
        """What nvcc makes of a source on a run without a GPU; None where it is not asked."""
        if self.settings.executor == "cuda" or not self.settings.nvcc_gate or not has_nvcc():
            return None
        toolchain = NvccToolchain(arch=self.settings.arch)
        return toolchain.build(BuildRequest(source=source, header=self.header))

    def static_build(self, source: str) -> BuildResult:
        """The build that knows most: nvcc's, if there is one. Every build is cached."""
        return self.gate(source) or self.executor.build(self.spec, source)

    def design(self, source: str) -> Design:
        """What is known of a source without running it."""
        build = self.static_build(source)
        occupied = occupancy_of(self.settings.arch, source, build)
        return Design(
            fingerprint=fingerprint(source, build),
            spilled_bytes=sum(k.spill_store_bytes + k.spill_load_bytes for k in build.resources),
            occupancy=round(occupied.fraction, 3) if occupied else None,
        )

    def profile(self, source: str, measurement: Measurement) -> Profile:
        """Where a verified kernel's time goes, as far as is known."""
        profiler: Profiler = StaticProfiler(self.settings.arch)
        if self.settings.executor == "cuda":
            profiler = NsightCompute(profiler)
        return profiler.profile(self.spec, source, self.static_build(source), measurement)


def has_nvcc() -> bool:
    """Whether nvcc is to be found here."""
    try:
        find_nvcc()
    except ToolNotFoundError:
        return False
    return True


@lru_cache(maxsize=64)
def _spec(folder: Path, digest: str) -> KernelSpec:
    return Store(folder / "objects").get_model(digest, KernelSpec)


@lru_cache(maxsize=1024)
def _step(folder: Path, digest: str) -> Step:
    store = Store(folder / "objects")
    return renewed(store.get_model(digest, Step), Ledger(folder / "ledger.sqlite"), store)
