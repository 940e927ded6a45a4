"""Whole runs of the real graph on a tiny spec, played from recordings made of a few kernels."""

import os

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"  # read when langgraph is imported

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from cutegen.events import Event, NodeStarted
from cutegen.graphs.running import run_graph
from cutegen.result import RunResult
from cutegen.spec import KernelSpec
from cutegen.store import Ledger, ModelCall

SOURCE = (Path(__file__).parent / "kernels" / "swish.cu").read_text()

FLAT = """\
  int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) gO(i) = swish(gX(i));"""
STRIDED = """\
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += int64_t(gridDim.x) * kThreads)
    gO(i) = swish(gX(i));"""
RIGHT = "  return x / (1.0f + expf(-x));"
UNDECLARED = "  return y / (1.0f + expf(-x));"
WRONG = "  return x / (1.0f - expf(-x));"
WIDE, NARROW = (f"constexpr int kThreads = {threads};" for threads in (256, 128))


class Script:
    """Replies of the five agents, in the text protocol."""

    source = SOURCE
    broken = SOURCE.replace(RIGHT, UNDECLARED)
    flat, strided = FLAT, STRIDED
    right, undeclared, wrong = RIGHT, UNDECLARED, WRONG
    wide, narrow = WIDE, NARROW

    def first(self, source: str = SOURCE) -> tuple[str, str]:
        return "synthesizer", f"INTENT: one element per thread\n```cuda\n{source}```\n"

    def unsupported(self, operation: str, reason: str) -> tuple[str, str]:
        return "synthesizer", f"UNSUPPORTED: {operation}: {reason}\n"

    def diagnosis(self, cause: str) -> tuple[str, str]:
        return "diagnostician", f"CAUSE: {cause}\nLINE: 7\nCHANGE: undo it\n"

    def repair(self, search: str, replace: str) -> tuple[str, str]:
        return "repairer", self._patch("mend it", search, replace)

    def structure(self, search: str, replace: str) -> tuple[str, str]:
        return "structural_optimizer", self._patch("another structure", search, replace)

    def tuning(self, search: str, replace: str) -> tuple[str, str]:
        return "profile_tuner", self._patch("other parameters", search, replace)

    def out_of_ideas(self, agent: str, times: int = 1) -> list[tuple[str, str]]:
        return [(agent, "OUT_OF_IDEAS: nothing is left to try\n")] * times

    def babble(self, agent: str) -> list[tuple[str, str]]:
        return [(agent, "I would rather not.\n")] * 2

    def _patch(self, intent: str, search: str, replace: str) -> str:
        return (
            f"INTENT: {intent}\nEXPECTED: it gets better\n"
            f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n"
        )

    def everything(self) -> list[tuple[str, str]]:
        """A run that comes through every node: it fails, is mended, improved and tuned."""
        return [
            self.first(self.broken),
            self.diagnosis("y is not declared"),
            self.repair(UNDECLARED, RIGHT),
            self.structure(FLAT, STRIDED),
            *self.out_of_ideas("structural_optimizer", times=2),
            self.tuning(WIDE, NARROW),
            *self.out_of_ideas("profile_tuner"),
        ]


@dataclass(frozen=True)
class Played:
    """A run that came to its end."""

    result: RunResult
    events: list[Event]

    @property
    def nodes(self) -> list[str]:
        return [event.node for event in self.events if isinstance(event, NodeStarted)]

    @property
    def steps(self) -> list[tuple[str, str]]:
        return [(step.kind.value, step.decision.value) for step in self.result.steps]

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        return Ledger(self.result.run_dir / "ledger.sqlite").calls()


@pytest.fixture(scope="session")
def script() -> Script:
    return Script()


@pytest.fixture(scope="session")
def tiny() -> KernelSpec:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    return KernelSpec.from_callable(_swish, [torch.randn(8, 67)], name="tiny")


def _swish(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x)


def write_recording(path: Path, replies: Iterable[tuple[str, str]]) -> str:
    """Write replies as a recording; gives the name of the model that plays it."""
    lines = [json.dumps({"agent": agent, "reply": reply}) for agent, reply in replies]
    path.write_text("".join(f"{line}\n" for line in lines))
    return f"replay:{path}"


@pytest.fixture
def play(tiny: KernelSpec, tmp_path: Path) -> Callable[..., Played]:
    """Run the graph on replies, with the real emulator."""

    def run(replies: Iterable[tuple[str, str]], **options: Any) -> Played:
        events: list[Event] = []
        chosen = {"executor": "emulated", "nvcc_gate": False, **options}
        result = run_graph(
            tiny,
            model=write_recording(tmp_path / "recording.jsonl", replies),
            runs_dir=tmp_path / "runs",
            on_event=events.append,
            **chosen,
        )
        return Played(result, events)

    return run


@pytest.fixture(scope="session")
def everything(script: Script, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The model that plays a run through every node."""
    path = tmp_path_factory.mktemp("recordings") / "everything.jsonl"
    return write_recording(path, script.everything())


@pytest.fixture(scope="session")
def whole(tiny: KernelSpec, everything: str, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """That run, disturbed by nobody. Tests must leave its folder as it is."""
    events: list[Event] = []
    result = run_graph(
        tiny,
        model=everything,
        executor="emulated",
        nvcc_gate=False,
        runs_dir=tmp_path_factory.mktemp("runs"),
        run_id="whole",
        on_event=events.append,
    )
    return Played(result, events)
