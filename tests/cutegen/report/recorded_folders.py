"""Run folders put together from what an H200 and a person as the model really gave.

``matmul`` and ``swish``: the steps, samples and environment of ``tests/gpu/results``; the sources
of their candidates lie in ``recorded/`` beside the specs, and each must hash to the id that was
measured.
``rms_norm``: the prompts, replies and sources of ``tests/graphs/recordings``, and the times that
the GPU gave that lineage when it was taken up there. Nothing in them is invented, but for the
stamps of time in the log, which were not kept.
"""

import json
from pathlib import Path
from typing import Any

from cutegen.agents.models.replay import RecordedCall
from cutegen.agents.reply import Patch, WholeKernel, parse_kernel, parse_patch
from cutegen.edits import apply_edits
from cutegen.events import (
    Event,
    Finished,
    PredicateChanged,
    Profiled,
    RunStarted,
    Selected,
    append_event,
)
from cutegen.graphs.policies import policy_of
from cutegen.graphs.settings import Budget, Settings
from cutegen.graphs.stability import structure_is_stable
from cutegen.history import Step
from cutegen.kernel import Candidate, candidate_id
from cutegen.measurement.static import StaticProfiler
from cutegen.measurement.timing import Measurement
from cutegen.result import BEST_FILE, LOG_FILE, RESULT_FILE, SPEC_FILE, RunResult
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.store import Ledger, ModelCall, Store
from cutegen.toolchain.protocol import BuildResult

TESTS = Path(__file__).resolve().parents[2]
RESULTS = TESTS / "gpu" / "results"
SOURCES = Path(__file__).parent / "recorded"
RECORDINGS = TESTS / "graphs" / "recordings"


class Folder:
    """A run folder that is being written."""

    def __init__(self, path: Path, spec: KernelSpec, executor: str, model: str) -> None:
        path.mkdir(parents=True)
        self.path, self.spec = path, spec
        self.store = Store(path / "objects")
        self.ledger = Ledger(path / "ledger.sqlite")
        self.at = 1_764_000_000.0
        settings = Settings(
            model=model,
            executor=executor,
            arch="sm_90a",
            budget=Budget(),
            policy=policy_of(spec.kernel_class),
        )
        self.policy = settings.policy
        self.ledger.start(path.name, self.store.put_model(spec), settings.model_dump_json())
        (path / SPEC_FILE).write_text(spec.model_dump_json())

    def tell(self, event: Event) -> None:
        self.at += 1.0
        append_event(self.path / LOG_FILE, event.model_copy(update={"at": self.at}))

    def start(self, executor: str, model: str, *, resumed: bool = False) -> None:
        self.tell(
            RunStarted(
                run_id=self.path.name,
                run_dir=str(self.path),
                spec=self.spec.name,
                kernel_class=self.spec.kernel_class,
                executor=executor,
                model=model,
                arch="sm_90a",
                resumed=resumed,
            )
        )

    def propose(self, step: Step, source: str) -> None:
        if step.candidate:
            assert candidate_id(source, self.spec.id) == step.candidate, "not what was measured"
            self.ledger.record_candidate(
                Candidate(
                    id=step.candidate,
                    source=self.store.put(source),
                    parent=step.parent,
                    author=step.agent,
                    intent=step.intent,
                )
            )

    def take(self, step: Step, best: str = "") -> None:
        self.ledger.record_step(step)
        self.tell(
            Selected(
                step=step.index,
                kind=step.kind,
                candidate=step.candidate,
                decision=step.decision,
                reason=step.reason,
                best=best,
            )
        )

    def finish(self, result: RunResult) -> None:
        result = result.model_copy(update={"run_id": self.path.name, "run_dir": self.path})
        (self.path / RESULT_FILE).write_text(result.model_dump_json())
        self.tell(Finished(status=result.status, reason=result.reason))


def _spec(name: str) -> KernelSpec:
    """Kept, as deriving it makes inputs of gigabytes."""
    return KernelSpec.model_validate_json((SOURCES / f"{name}.json").read_text())


def measured(name: str, path: Path) -> Path:
    """The folder of a run on the GPU, with PyTorch's samples beside the kernel's."""
    told: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    spec = _spec(name)
    result = RunResult.model_validate(told["run"])
    measurement = Measurement.model_validate(told["measurement"])
    assert result.best is not None
    best = result.best.model_copy(
        update={
            "source_path": path / BEST_FILE,
            "timing": measurement.candidate,
            "baselines": measurement.baselines,
            "roofline": measurement.roofline,
            "speedup": measurement.speedup,
        }
    )
    result = result.model_copy(update={"best": best})
    folder = Folder(path, spec, "cuda", "playbook")
    folder.start("cuda", "playbook")
    stable = False
    kept = folder.store.put_model(measurement)
    for told_step in result.steps:
        own = {"measurement": kept} if told_step.candidate == best.id else {}
        step = told_step.model_copy(update=own)
        if step.candidate:
            folder.propose(step, (SOURCES / f"{step.candidate}.cu").read_text())
        folder.take(step)
        found = structure_is_stable(result.steps[: step.index + 1], folder.policy)
        if found.stable != stable:
            stable = found.stable
            folder.tell(PredicateChanged(stable=stable, why=found.why))
            if stable:
                _profile(folder, told["source"], measurement, best.id)
    (path / BEST_FILE).write_text(told["source"])
    folder.finish(result)
    return path


def _profile(folder: Folder, source: str, measurement: Measurement, best: str) -> None:
    build = BuildResult(status=Status.PASSED, toolchain="nvcc")
    profile = StaticProfiler("sm_90a").profile(folder.spec, source, build, measurement)
    folder.tell(
        Profiled(
            candidate=best,
            source=profile.source,
            bottleneck=profile.bottleneck,
            evidence=profile.evidence,
            profile=folder.store.put_model(profile),
        )
    )


def taken_over(path: Path) -> Path:
    """The folder of a run that began on the emulator and was measured on the GPU later."""
    told = json.loads((RESULTS / "recorded.json").read_text())["runs"]["rms_norm"]
    folder, sources, steps = _emulated(path, told)
    folder.start("cuda", "replay:rms_norm.jsonl", resumed=True)
    for step in steps[2:]:
        folder.take(step)
    best = steps[-1]
    (path / BEST_FILE).write_text(sources[best.candidate])
    folder.finish(
        RunResult.model_validate(
            {
                "status": told["status"],
                "reason": "the recording is at its end",
                "run_id": path.name,
                "run_dir": str(path),
                "spec": folder.spec.id,
                "spec_name": folder.spec.name,
                "executor": "cuda",
                "model": "replay:rms_norm.jsonl",
                "steps": [step.model_dump() for step in steps],
                "environment": told["environment"],
                "best": {
                    "id": best.candidate,
                    "source_path": path / BEST_FILE,
                    "executor": "cuda",
                    "speedup": told["speedup"],
                    "timing": told["timing"],
                    "roofline_fraction": told["roofline_fraction"],
                    "verdict": {
                        "status": "PASSED",
                        "executor": "cuda",
                        "evidence": {"summary": "as exact as PyTorch"},
                    },
                },
            }
        )
    )
    return path


def unfinished(path: Path) -> Path:
    """The same run before its end, on the emulator: no times, and no result."""
    told = json.loads((RESULTS / "recorded.json").read_text())["runs"]["rms_norm"]
    _emulated(path, told)
    return path


def _emulated(path: Path, told: dict[str, Any]) -> tuple[Folder, dict[str, str], list[Step]]:
    spec = _spec("rms_norm")
    steps = [Step.model_validate(step) for step in told["steps"]]
    folder = Folder(path, spec, "emulated", "human")
    folder.start("emulated", "human")
    lines = (RECORDINGS / "rms_norm.jsonl").read_text().split("\n")
    calls = [RecordedCall.model_validate_json(line) for line in lines if line]
    kernel, patch = parse_kernel(calls[0].reply), parse_patch(calls[1].reply)
    assert isinstance(kernel, WholeKernel)
    assert isinstance(patch, Patch)
    first = kernel.source
    second = apply_edits(first, patch.edits)
    sources = {steps[0].candidate: first, steps[1].candidate: second}
    for step, call in zip(steps, calls, strict=False):
        folder.ledger.record_call(
            ModelCall(
                key=f"recorded-{step.index}",
                agent=call.agent,
                step=step.index,
                attempt=0,
                prompt=folder.store.put(json.dumps(call.prompt)),
                reply=call.reply,
                seconds=0.0,
            )
        )
        folder.propose(step, sources[step.candidate])
        folder.take(step)
    return folder, sources, steps
