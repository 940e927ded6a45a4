"""Every path of the graph, walked with the real compiler, emulator, store and checkpoints."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from cutegen.events import Built, PredicateChanged, PredicateHeld, Profiled, read_events
from cutegen.execution import EmulatedExecutor, EnvironmentUnfitError
from cutegen.execution.protocol import MeasurementJob
from cutegen.graphs.resuming import resume_run
from cutegen.graphs.running import arun_graph, run_graph, stream_graph
from cutegen.graphs.settings import Budget, StabilityPolicy
from cutegen.graphs.workshop import RunFolder, has_nvcc
from cutegen.history import Decision
from cutegen.measurement.timing import Measurement, MeasurementState
from cutegen.result import RunResult, RunStatus
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.toolchain.emulated import EmulatorToolchain

Play = Callable[..., Any]


def test_a_run_through_every_node(whole: Any, script: Any) -> None:
    played = whole
    result = played.result
    assert result.status is RunStatus.SUCCEEDED, result.reason
    assert played.steps == [
        ("synthesis", "failed"),
        ("repair", "accepted"),
        ("structural", "accepted"),
        ("structural", "no-proposal"),
        ("structural", "no-proposal"),
        ("tuning", "rejected"),
        ("tuning", "no-proposal"),
    ]
    assert result.steps[0].status is Status.COMPILE_ERROR
    assert "y" in result.steps[0].reason
    judged = ["compile", "verify", "measure", "select"]
    assert played.nodes == [
        *("synthesize", "compile", "diagnose", "repair", *judged),
        *("structural_optimizer", *judged),
        *("structural_optimizer", "select", "structural_optimizer", "select"),
        *("profile", "profile_tuner", *judged, "profile", "profile_tuner", "select", "finish"),
    ]
    assert [e.stable for e in played.events if isinstance(e, PredicateChanged)] == [True]
    assert result.steps[1].parent == result.steps[0].candidate
    assert result.steps[5].parent == result.steps[2].candidate
    best = result.best
    assert best is not None
    assert best.source == script.source.replace(script.flat, script.strided)
    assert (best.speedup, best.timing) == (None, None)
    assert "GPU" in best.speedup_reason
    x = torch.randn(5, 33)
    torch.testing.assert_close(best(x), x * torch.sigmoid(x))


def test_the_log_and_the_result_survive_in_the_folder(play: Play, script: Any) -> None:
    played = play([script.first()], budget=Budget(steps=0), run_id="kept")
    folder = played.result.run_dir
    assert list(read_events(folder / "log.jsonl")) == played.events
    moved = folder.rename(folder.with_name("moved"))
    loaded = RunResult.load(moved)
    assert loaded.best is not None
    assert loaded.best.source == script.source
    assert loaded.steps == played.result.steps
    assert json.loads((moved / "result.json").read_text())["status"] == "SUCCEEDED"


def test_wrong_values_are_repaired(play: Play, script: Any) -> None:
    wrong = script.source.replace(script.right, script.wrong)
    played = play(
        [
            script.first(wrong),
            script.diagnosis("a sign"),
            script.repair(script.wrong, script.right),
        ],
        budget=Budget(steps=0),
    )
    assert played.result.status is RunStatus.SUCCEEDED
    assert played.result.steps[0].status is Status.WRONG_VALUES
    assert played.steps == [("synthesis", "failed"), ("repair", "accepted")]
    assert played.nodes[:4] == ["synthesize", "compile", "verify", "diagnose"]


def test_a_move_that_cannot_be_repaired_returns_to_the_best(play: Play, script: Any) -> None:
    played = play(
        [
            script.first(),
            script.structure(script.right, script.undeclared),
            script.diagnosis("y is not declared"),
            script.repair(script.undeclared, script.undeclared.replace("y", "z")),
            script.structure(script.flat, script.strided),
        ],
        budget=Budget(steps=2, repairs=1),
    )
    assert played.steps == [
        ("synthesis", "accepted"),
        ("structural", "failed"),
        ("repair", "failed"),
        ("structural", "accepted"),
    ]
    first, *_, last = played.result.steps
    assert last.parent == first.candidate
    assert played.result.best.id == last.candidate
    assert played.result.status is RunStatus.SUCCEEDED


def test_a_failed_move_loses_nothing(play: Play, script: Any) -> None:
    played = play(
        [script.first(), script.structure(script.right, script.undeclared)],
        budget=Budget(steps=1, repairs=0),
    )
    assert played.result.status is RunStatus.SUCCEEDED
    assert played.result.best.source == script.source
    assert "diagnose" not in played.nodes


def test_a_synthesis_that_cannot_be_repaired_starts_anew(play: Play, script: Any) -> None:
    played = play([script.first(script.broken), script.first()], budget=Budget(steps=0, repairs=0))
    assert played.steps == [("synthesis", "failed"), ("synthesis", "accepted")]
    assert "was tried in step" not in played.calls[1].reply


def test_without_a_verified_kernel_the_run_fails(play: Play, script: Any) -> None:
    played = play(
        [script.first(script.broken), script.first(script.broken)], budget=Budget(repairs=0)
    )
    assert played.result.status is RunStatus.FAILED
    assert played.result.best is None
    assert "tried in step 0" in played.result.steps[1].reason
    assert sum(isinstance(event, Built) for event in played.events) == 1


def test_unsupported_ends_cleanly(play: Play, script: Any) -> None:
    played = play([script.unsupported("aten.fft_fft", "no design for it")])
    assert played.result.status is RunStatus.UNSUPPORTED
    assert "aten.fft_fft" in played.result.reason
    assert played.nodes == ["synthesize", "finish"]


def test_nothing_is_proposed_twice(play: Play, script: Any) -> None:
    back = script.structure(script.strided, script.flat)
    played = play(
        [script.first(), script.structure(script.flat, script.strided), back],
        budget=Budget(steps=2),
    )
    assert played.steps[-1] == ("structural", "rejected")
    assert "tried in step 0" in played.result.steps[-1].reason
    assert sum(isinstance(event, Built) for event in played.events) == 2
    assert played.result.best.id == played.result.steps[1].candidate


def test_a_move_that_changes_nothing_is_rejected(play: Play, script: Any) -> None:
    played = play(
        [script.first(), script.structure(script.wide, script.narrow)],
        budget=Budget(steps=1),
    )
    assert played.steps[-1] == ("structural", "rejected")
    assert "256→128" in played.result.steps[-1].reason


def test_a_tuning_that_changes_the_structure_is_refused(play: Play, script: Any) -> None:
    structural = script.tuning(script.flat, script.strided)
    played = play(
        [
            script.first(),
            *script.out_of_ideas("structural_optimizer", times=2),
            structural,
            structural,  # asked again, with the reason
            *script.out_of_ideas("profile_tuner"),
        ]
    )
    assert [e.stable for e in played.events if isinstance(e, PredicateChanged)] == [True]
    assert played.steps[3] == ("tuning", "failed")
    assert "changes the structure (grid-stride grid replaces" in played.result.steps[3].reason
    assert played.result.best.source == script.source


def test_the_tuner_hands_a_structure_back_with_the_evidence(play: Play, script: Any) -> None:
    """The edge is held, opened, closed, and after a change of structure opened again."""
    evidence = "one block per tile: launches weigh as much as the work (31 %)"
    played = play(
        [
            script.first(),
            *script.out_of_ideas("structural_optimizer", times=2),
            ("profile_tuner", f"STRUCTURE: {evidence}\n"),
            script.structure(script.flat, script.strided),
            *script.out_of_ideas("structural_optimizer", times=2),
            *script.out_of_ideas("profile_tuner"),
        ]
    )
    assert played.result.status is RunStatus.SUCCEEDED, played.result.reason
    told = [(e.stable, e.why) for e in played.events if isinstance(e, PredicateChanged)]
    assert told == [
        (True, "the structural optimizer is out of ideas"),
        (False, f"the tuner hands the structure back: {evidence}"),
        (True, "the structural optimizer is out of ideas"),
    ]
    held = [e.why for e in played.events if isinstance(e, PredicateHeld)]
    assert held[0] == "0 of at least 2 structural rounds"
    assert f"the tuner hands the structure back: {evidence}" in held
    assert held[-1].startswith("1 of at least 2")
    assert played.steps[3:5] == [("tuning", "handed-back"), ("structural", "accepted")]
    profiled = [e.candidate for e in played.events if isinstance(e, Profiled)]
    assert profiled == [played.result.steps[0].candidate, played.result.steps[4].candidate]
    store = RunFolder(played.result.run_dir).store
    with_evidence = [
        (call.agent, call.step)
        for call in played.calls
        if evidence in store.get_text(call.prompt) and call.agent != "profile_tuner"
    ]
    assert with_evidence == [("structural_optimizer", 4)]


def test_a_structure_is_handed_back_once(play: Play, script: Any) -> None:
    back = ("profile_tuner", "STRUCTURE: it is at fault\n")
    played = play(
        [
            script.first(),
            *script.out_of_ideas("structural_optimizer", times=2),
            back,
            *script.out_of_ideas("structural_optimizer"),
            back,
            *script.out_of_ideas("profile_tuner"),
        ]
    )
    assert played.steps[3:] == [
        ("tuning", "handed-back"),
        ("structural", "no-proposal"),
        ("tuning", "no-proposal"),
    ]
    assert len(played.calls) == 7


def test_quiet_rounds_open_the_edge(play: Play, script: Any) -> None:
    played = play(
        [
            script.first(),
            script.structure(script.wide, script.narrow),
            *script.out_of_ideas("profile_tuner"),
        ],
        policy=StabilityPolicy(window=1, least_rounds=1, epsilon=0.02),
    )
    (opened,) = [e for e in played.events if isinstance(e, PredicateChanged)]
    assert "brought no new structure" in opened.why
    assert played.nodes[-5:] == ["select", "profile", "profile_tuner", "select", "finish"]


@pytest.mark.parametrize(
    ("agent", "decision"), [("structural_optimizer", "failed"), ("profile_tuner", "failed")]
)
def test_an_unusable_reply_costs_a_step_not_the_run(
    play: Play, script: Any, agent: str, decision: str
) -> None:
    before = (
        [] if agent == "structural_optimizer" else script.out_of_ideas("structural_optimizer", 2)
    )
    played = play(
        [script.first(), *before, *script.babble(agent)], budget=Budget(steps=len(before) + 1)
    )
    assert played.steps[-1][1] == decision
    assert played.result.status is RunStatus.SUCCEEDED


def test_unusable_replies_of_the_menders(play: Play, script: Any) -> None:
    played = play(
        [
            script.first(script.broken),
            *script.babble("diagnostician"),
            *script.babble("repairer"),
            script.diagnosis("y is not declared"),
            script.repair(script.undeclared, script.right),
        ],
        budget=Budget(steps=0),
    )
    assert played.steps == [("synthesis", "failed"), ("repair", "failed"), ("repair", "accepted")]


@pytest.mark.parametrize("agent", ["diagnostician", "repairer"])
def test_a_hopeless_candidate_is_given_up(play: Play, script: Any, agent: str) -> None:
    before = [] if agent == "diagnostician" else [script.diagnosis("y is not declared")]
    played = play(
        [script.first(script.broken), *before, *script.out_of_ideas(agent), script.first()],
        budget=Budget(steps=0),
    )
    assert played.result.status is RunStatus.SUCCEEDED
    assert played.nodes.count("synthesize") == 2


def test_unusable_syntheses_fail(play: Play, script: Any) -> None:
    played = play([*script.babble("synthesizer"), *script.babble("synthesizer")])
    assert played.result.status is RunStatus.FAILED
    assert played.nodes == ["synthesize", "synthesize", "finish"]


def test_a_machine_without_a_compiler_stops_the_run(
    play: Play, script: Any, tmp_path: Path
) -> None:
    executor = EmulatedExecutor(EmulatorToolchain(gxx=tmp_path / "no-such-g++"))
    played = play([script.first()], executor=executor)
    assert played.result.status is RunStatus.STOPPED
    assert "ENVIRONMENT" in played.result.reason
    assert "diagnose" not in played.nodes
    assert played.result.steps == ()
    mended = resume_run(played.result.run_dir, budget=Budget(steps=0))
    assert mended.status is RunStatus.SUCCEEDED, mended.reason
    assert len(played.calls) == 1


def test_a_silent_model_service_stops_the_run_which_can_go_on(
    play: Play, script: Any, tmp_path: Path
) -> None:
    played = play([script.first()], budget=Budget(steps=1))
    assert played.result.status is RunStatus.STOPPED
    assert "holds 1 calls" in played.result.reason
    assert played.result.best is not None
    longer = tmp_path / "longer.jsonl"
    more = dict(zip(("agent", "reply"), script.structure(script.flat, script.strided), strict=True))
    longer.write_text((tmp_path / "recording.jsonl").read_text() + json.dumps(more) + "\n")
    resumed = resume_run(played.result.run_dir, model=f"replay:{longer}")
    assert resumed.status is RunStatus.SUCCEEDED, resumed.reason
    assert [step.decision for step in resumed.steps] == [Decision.ACCEPTED] * 2


def test_a_cost_limit_stops_the_run_which_can_go_on(play: Play, script: Any) -> None:
    played = play(script.everything(), budget=Budget(model_calls=2))
    assert played.result.status is RunStatus.STOPPED
    assert "2 model calls" in played.result.reason
    assert played.nodes[-2:] == ["diagnose", "finish"]
    resumed = resume_run(played.result.run_dir, budget=Budget())
    assert resumed.status is RunStatus.SUCCEEDED, resumed.reason
    assert len(resumed.steps) == 7
    assert resumed.model_calls == 8


def test_a_finished_run_is_not_run_again(
    play: Play, script: Any, tiny: KernelSpec, tmp_path: Path
) -> None:
    played = play([script.first()], budget=Budget(steps=0), run_id="once")
    events: list[object] = []
    again = run_graph(tiny, runs_dir=tmp_path / "runs", run_id="once", on_event=events.append)
    assert again == played.result
    assert events == []
    other = KernelSpec.from_callable(torch.relu, [torch.randn(3, 4)], name="other")
    with pytest.raises(ValueError, match="another spec"):
        run_graph(other, runs_dir=tmp_path / "runs", run_id="once")


def test_callers_mistakes_are_named(tiny: KernelSpec, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no run id"):
        run_graph(tiny, executor="emulated", runs_dir=tmp_path, run_id="../outside")
    with pytest.raises(ValueError, match="unknown executor"):
        run_graph(tiny, executor="abacus", runs_dir=tmp_path)
    with pytest.raises(FileNotFoundError, match="no run folder"):
        resume_run(tmp_path)
    if not torch.cuda.is_available():
        with pytest.raises(EnvironmentUnfitError):
            run_graph(tiny, executor="cuda", runs_dir=tmp_path)


def test_callers_with_an_event_loop(tiny: KernelSpec, tmp_path: Path, whole: Any) -> None:
    options = {"executor": "emulated", "nvcc_gate": False, "runs_dir": tmp_path}
    result = asyncio.run(arun_graph(tiny, model=whole.result.model, **options))
    assert [s.decision for s in result.steps] == [s.decision for s in whole.result.steps]


def test_a_generator_of_events(tiny: KernelSpec, tmp_path: Path, whole: Any) -> None:
    options = {"executor": "emulated", "nvcc_gate": False, "runs_dir": tmp_path}
    events = list(stream_graph(tiny, model=whole.result.model, **options))
    assert [e.event for e in events] == [e.event for e in whole.events]


def test_a_time_that_is_not_believed_is_a_failure(play: Play, script: Any) -> None:
    class Doubter(EmulatedExecutor):
        """Judges for real, and believes no time."""

        def measure(self, job: MeasurementJob) -> Measurement:
            assert job.source
            return Measurement(state=MeasurementState.REFUSED, reason="faster than light")

    played = play([script.first()], executor=Doubter(), budget=Budget(repairs=0, syntheses=1))
    assert played.result.status is RunStatus.FAILED
    assert "faster than light" in played.result.steps[0].reason
    assert played.nodes == ["synthesize", "compile", "verify", "measure", "finish"]


@pytest.mark.skipif(not has_nvcc(), reason="nvcc is not installed")
def test_nvcc_must_build_what_the_emulator_verified(play: Play, script: Any) -> None:
    # a warp per block leaves half of the warps of an H100 unused; g++ knows no such limits
    few = script.source.replace(script.wide, script.wide.replace("256", "32"))
    host = script.flat.replace("blockIdx.x", "blockIdx.x + 0 * std::rand()")
    played = play(
        [
            script.first(few),
            script.structure(script.flat, host),
            *script.out_of_ideas("structural_optimizer", times=2),
            script.tuning(script.wide.replace("256", "32"), script.wide),
        ],
        nvcc_gate=True,
        budget=Budget(steps=4, repairs=0),
    )
    built = [(e.toolchain, e.status) for e in played.events if isinstance(e, Built)]
    assert built[:2] == [("emulator", Status.PASSED), ("nvcc", Status.PASSED)]
    assert built[2:4] == [("emulator", Status.PASSED), ("nvcc", Status.COMPILE_ERROR)]
    assert played.steps[1] == ("structural", "failed")
    assert played.steps[-1] == ("tuning", "accepted")
    assert "50%" in played.result.steps[-1].reason


@pytest.mark.parametrize("allowed", [False, True])
def test_a_repair_may_lower_the_structure_only_where_that_is_allowed(
    play: Play, script: Any, allowed: bool
) -> None:
    staged = f"  __shared__ float held[256];\n{script.undeclared}"
    broken = script.source.replace(script.right, staged)
    lowered = script.repair(staged, script.right)  # mends it, and gives the staging up
    replies = [script.first(broken), script.diagnosis("y is not declared"), lowered]
    if not allowed:
        replies += [lowered, *script.babble("synthesizer")]
    played = play(replies, allow_simplify=allowed, budget=Budget(steps=0, repairs=1, syntheses=2))
    last = played.result.steps[1]
    if allowed:
        assert last.decision is Decision.ACCEPTED
    else:
        assert last.decision is Decision.FAILED
        assert "smem falls from static to none" in last.reason
