"""The switches for ablations, in whole runs; the defaults are the method itself."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from histories import SETTINGS, histories, policies
from hypothesis import given

from cutegen.events import PredicateChanged, PredicateHeld, Profiled, RunStarted
from cutegen.graphs.context import Context
from cutegen.graphs.gate import gate
from cutegen.graphs.kernel_graph import graph
from cutegen.graphs.settings import Budget, Settings, StabilityPolicy
from cutegen.graphs.stability import structure_is_stable
from cutegen.graphs.standing import open_predicate
from cutegen.graphs.workshop import RunFolder
from cutegen.history import Decision, Step, StepKind
from cutegen.method import Method
from cutegen.result import RunResult, RunStatus
from cutegen.switches import Profiling

Play = Callable[..., Any]
EAGER = StabilityPolicy(window=1, least_rounds=1, epsilon=0.02)


def with_profiling(profiling: Profiling, policy: StabilityPolicy) -> Settings:
    method = Method(profiling=profiling)
    return SETTINGS.model_copy(update={"policy": policy, "method": method})


def _answered(history: tuple[Step, ...]) -> bool:
    """Whether a structural round followed the last time a structure was handed back."""
    back = [i for i, step in enumerate(history) if step.decision is Decision.HANDED_BACK]
    return not back or any(step.kind is StepKind.STRUCTURAL for step in history[back[-1] + 1 :])


@given(histories, policies)
def test_only_immediate_profiling_gets_round_the_predicate(
    history: tuple[Step, ...], policy: StabilityPolicy
) -> None:
    answered = _answered(history)
    stable = answered and structure_is_stable(history, policy).stable
    verified = answered and any(step.decision is Decision.ACCEPTED for step in history)
    for profiling, opened in (("delayed", stable), ("never", stable), ("immediate", verified)):
        settings = with_profiling(profiling, policy)
        found = gate(history, settings)
        assert (found.open, found.structure_left) == (opened, not stable)
        if opened and profiling != "never":
            assert open_predicate(history, settings) == found.why
        else:
            with pytest.raises(RuntimeError, match="wired wrongly"):
                open_predicate(history, settings)


def test_the_defaults_are_the_method_itself(whole: Any) -> None:
    started = next(event for event in whole.events if isinstance(event, RunStarted))
    assert whole.result.method == started.method == Context().method == Method()
    assert Method().departures == ""
    assert Method(start="last", repair="rewrite").departures == "repair=rewrite, start=last"
    old = SETTINGS.model_dump()
    del old["method"]  # a run that began before there were switches
    assert Settings.model_validate(old).method == Method()
    held = [event.why for event in whole.events if isinstance(event, PredicateHeld)]
    assert held == [
        "0 of at least 2 structural rounds",
        "1 of at least 2 structural rounds",
        "1 of at least 2 structural rounds",
    ]


def test_studio_offers_the_values() -> None:
    schema = graph.get_context_jsonschema()
    assert schema is not None
    offered = {name: schema["properties"][name] for name in Method.model_fields}
    assert [form["enum"] for form in offered.values()] == [
        ["delayed", "immediate", "never"],
        ["patch", "rewrite"],
        ["best", "last"],
    ]
    assert all(form["title"] and "ablations" in form["description"] for form in offered.values())


def test_immediate_profiling_tunes_every_structure(play: Play, script: Any) -> None:
    played = play(
        [
            script.first(),
            script.tuning(script.wide, script.narrow),
            *script.out_of_ideas("profile_tuner"),
            script.structure(script.flat, script.strided),
            *script.out_of_ideas("profile_tuner"),
            *script.out_of_ideas("structural_optimizer", times=2),
        ],
        profiling="immediate",
    )
    assert played.result.status is RunStatus.SUCCEEDED, played.result.reason
    assert played.steps == [
        ("synthesis", "accepted"),
        ("tuning", "rejected"),
        ("tuning", "no-proposal"),
        ("structural", "accepted"),
        ("tuning", "no-proposal"),
        ("structural", "no-proposal"),
        ("structural", "no-proposal"),
    ]
    (opened,) = [event for event in played.events if isinstance(event, PredicateChanged)]
    assert opened.stable
    assert opened.why == "profiling is immediate; 0 of at least 2 structural rounds"
    profiled = [event.candidate for event in played.events if isinstance(event, Profiled)]
    first, structured = played.result.steps[0], played.result.steps[3]
    assert profiled == [first.candidate, first.candidate, structured.candidate]
    assert RunResult.load(played.result.run_dir).method == Method(profiling="immediate")


def test_a_run_without_profiles_tunes_blindly_in_the_same_order(play: Play, script: Any) -> None:
    played = play(script.everything(), profiling="never")
    assert played.result.status is RunStatus.SUCCEEDED, played.result.reason
    assert "profile" not in played.nodes
    assert "profile_tuner" in played.nodes
    assert not [event for event in played.events if isinstance(event, Profiled)]
    (opened,) = [event for event in played.events if isinstance(event, PredicateChanged)]
    assert opened.why == "the structural optimizer is out of ideas; this run makes no profile"
    store = RunFolder(played.result.run_dir).store
    prompts = [json.loads(store.get_text(call.prompt)) for call in played.calls]
    assert not any("Bottleneck:" in text for prompt in prompts for _, text in prompt)
    tuner = [call.agent for call in played.calls].index("profile_tuner")
    assert "There is no profile of it" in prompts[tuner][0][1]


def test_repairs_as_whole_files(play: Play, script: Any) -> None:
    _, whole_file = script.first()
    played = play(
        [
            script.first(script.broken),
            script.diagnosis("y is not declared"),
            ("repairer", whole_file),
        ],
        repair="rewrite",
        budget=Budget(steps=0),
    )
    assert played.steps == [("synthesis", "failed"), ("repair", "accepted")]
    assert played.result.best.source == script.source
    asked = RunFolder(played.result.run_dir).store.get_text(played.calls[-1].prompt)
    assert "write it anew" in asked
    assert "<<<<<<< SEARCH" not in asked


def test_the_next_step_can_start_from_the_last_kernel(play: Play, script: Any) -> None:
    played = play(
        [
            script.first(),
            script.structure(script.wide, script.narrow),
            script.structure(script.flat, script.strided),
        ],
        start="last",
        budget=Budget(steps=2),
    )
    first, rejected, accepted = played.result.steps
    assert (rejected.parent, rejected.decision) == (first.candidate, Decision.REJECTED)
    assert (accepted.parent, accepted.decision) == (rejected.candidate, Decision.ACCEPTED)
    both = script.source.replace(script.wide, script.narrow).replace(script.flat, script.strided)
    assert played.result.best.source == both
