"""The predicate's properties, and every router in every state."""

import itertools
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from cutegen.graphs.context import Context
from cutegen.graphs.edges import (
    OUT_OF_IDEAS_TWICE,
    POLICIES,
    ROOFLINE,
    ROUTERS,
    TUNING_PATIENCE,
    structure_is_stable,
    target_is_reached,
    tuning_is_left,
)
from cutegen.graphs.kernel_graph import build_graph, graph
from cutegen.graphs.settings import Settings, StabilityPolicy
from cutegen.graphs.standing import open_predicate
from cutegen.graphs.state import Attempt, Node, State
from cutegen.history import Decision, Step, StepKind
from cutegen.spec import KernelClass
from cutegen.structure import Fingerprint

POLICY = StabilityPolicy(window=2, least_rounds=3, epsilon=0.02)
SETTINGS = Settings(model="playbook", executor="emulated", arch="sm_90a", policy=POLICY)
OPTIMIZERS = {"structural_optimizer", "profile_tuner"}


def step(
    kind: str,
    decision: str,
    design: str = "",
    time_us: float | None = None,
    roof: float | None = None,
) -> Step:
    return Step(
        index=0,
        kind=StepKind(kind),
        agent="somebody",
        intent="",
        decision=Decision(decision),
        fingerprint=Fingerprint(features={"design": design}) if design else None,
        time_us=time_us,
        roofline_fraction=roof,
    )


def numbered(*steps: Step) -> tuple[Step, ...]:
    return tuple(s.model_copy(update={"index": i}) for i, s in enumerate(steps))


FIRST = step("synthesis", "accepted", "plain", 100.0)
QUIET = step("structural", "rejected", "other")
OUT = step("structural", "no-proposal")

steps_ = st.builds(
    step,
    kind=st.sampled_from(list(StepKind)),
    decision=st.sampled_from(list(Decision)),
    design=st.sampled_from(["plain", "tiled", "piped"]),
    time_us=st.none() | st.floats(1.0, 1000.0),
    roof=st.none() | st.floats(0.0, ROOFLINE - 0.01),
)
histories = st.lists(steps_, max_size=20).map(lambda steps: numbered(*steps))
policies = st.builds(
    StabilityPolicy,
    window=st.integers(1, 5),
    least_rounds=st.integers(0, 6),
    epsilon=st.floats(0.0, 0.2),
)


@given(histories, policies)
def test_never_true_before_a_verified_candidate(
    history: tuple[Step, ...], policy: StabilityPolicy
) -> None:
    unverified = [s for s in history if s.decision is not Decision.ACCEPTED]
    assert not structure_is_stable(unverified, policy).stable


@given(histories, policies, st.integers(0, 3), st.integers(0, 3), st.floats(0.0, 0.1))
def test_more_patience_never_opens_the_edge(
    history: tuple[Step, ...], policy: StabilityPolicy, w: int, m: int, epsilon: float
) -> None:
    patient = StabilityPolicy(
        window=policy.window + w,
        least_rounds=policy.least_rounds + m,
        epsilon=max(0.0, policy.epsilon - epsilon),
    )
    if structure_is_stable(history, patient).stable:
        assert structure_is_stable(history, policy).stable


@given(histories, policies, st.sampled_from(list(StepKind)))
def test_an_accepted_change_of_structure_closes_the_edge(
    history: tuple[Step, ...], policy: StabilityPolicy, kind: StepKind
) -> None:
    after = numbered(FIRST, *history, step(kind, "accepted", "never seen before"))
    assert not structure_is_stable(after, policy).stable


@given(histories, policies)
def test_true_in_the_end(history: tuple[Step, ...], policy: StabilityPolicy) -> None:
    enough = max(policy.window, policy.least_rounds)
    after = numbered(FIRST, *history, *[QUIET] * enough)
    assert structure_is_stable(after, policy).stable


@given(histories, policies)
def test_pure(history: tuple[Step, ...], policy: StabilityPolicy) -> None:
    before = [s.model_dump_json() for s in history]
    assert structure_is_stable(history, policy) == structure_is_stable(list(history), policy)
    assert [s.model_dump_json() for s in history] == before


def test_out_of_ideas_counts_twice_only() -> None:
    assert not structure_is_stable(numbered(FIRST, OUT), POLICY).stable
    twice = numbered(FIRST, *[OUT] * OUT_OF_IDEAS_TWICE)
    assert structure_is_stable(twice, POLICY).stable
    reopened = (*twice, step("tuning", "accepted", "tiled"))
    assert not structure_is_stable(reopened, POLICY).stable
    assert not structure_is_stable((*reopened, OUT), POLICY).stable


def test_at_the_roof() -> None:
    history = numbered(step("synthesis", "accepted", "plain", 10.0, ROOFLINE))
    assert structure_is_stable(history, POLICIES[KernelClass.MATMUL]).stable


def test_a_run_ends_at_the_share_of_the_roof_that_was_asked_for() -> None:
    near = numbered(FIRST, step("structural", "accepted", "tiled", 10.0, 0.96))
    assert target_is_reached(near, 0.95)
    assert not target_is_reached(near, 0.97)
    assert not target_is_reached(near, 0)  # none was asked for
    assert not target_is_reached(numbered(FIRST), 0.5)  # not measured
    rejected = step("structural", "rejected", "other", 9.0, 0.99)
    assert not target_is_reached((*near, rejected), 0.97)


def test_a_gain_within_one_structure_restarts_the_window() -> None:
    faster = step("structural", "accepted", "plain", 50.0)
    barely = step("structural", "accepted", "plain", 99.0)
    assert not structure_is_stable(numbered(FIRST, QUIET, QUIET, faster), POLICY).stable
    assert structure_is_stable(numbered(FIRST, QUIET, QUIET, barely), POLICY).stable


def test_a_repair_belongs_to_the_round_it_mends() -> None:
    broken = step("structural", "failed")
    repairs = [step("repair", "failed"), step("repair", "failed")]
    two_rounds = numbered(FIRST, broken, *repairs, broken, *repairs)
    assert not structure_is_stable(two_rounds, POLICY).stable
    assert structure_is_stable((*two_rounds, broken), POLICY).stable
    mended = numbered(FIRST, QUIET, QUIET, broken, step("repair", "accepted", "tiled"))
    assert not structure_is_stable(mended, POLICY).stable


def test_matmul_waits_longest_and_activations_least() -> None:
    waits = [
        (POLICIES[kind].window, POLICIES[kind].least_rounds)
        for kind in (KernelClass.MATMUL, KernelClass.REDUCTION, KernelClass.ACTIVATION)
    ]
    assert waits == sorted(waits, reverse=True)
    assert set(POLICIES) == set(KernelClass)


def test_tuning_ends_when_the_tuner_says_so_or_brings_nothing() -> None:
    tried = step("tuning", "rejected", "plain")
    assert tuning_is_left(numbered(FIRST))
    assert not tuning_is_left(numbered(FIRST, step("tuning", "no-proposal")))
    assert tuning_is_left(numbered(FIRST, *[tried] * (TUNING_PATIENCE - 1)))
    assert not tuning_is_left(numbered(FIRST, *[tried] * TUNING_PATIENCE))
    gain = step("tuning", "accepted", "plain", 90.0)
    assert tuning_is_left(numbered(FIRST, *[tried] * TUNING_PATIENCE, gain))


def test_the_profile_node_trusts_nobody() -> None:
    with pytest.raises(RuntimeError, match="wired wrongly"):
        open_predicate(numbered(FIRST), SETTINGS)


def attempt(status: str) -> Attempt:
    return Attempt(
        id="c",
        source="s",
        parent="",
        author="",
        intent="",
        expected="",
        kind="structural",
        repairs=0,
        status=status,
        verdict="",
        diagnosis="",
        hopeless=False,
        measurement="",
        note="",
    )


def every_state() -> list[State]:
    axes: dict[str, tuple[Any, ...]] = {
        "candidate": (None, attempt(""), attempt("WRONG_VALUES"), attempt("PASSED")),
        "best": (None, attempt("PASSED")),
        "stop": (None, {"status": "STOPPED", "reason": "", "node": "verify"}),
    }
    for flag in (
        *("repairs_left", "syntheses_left", "rounds_left", "stable", "structure_left"),
        *("tuning_left", "unprofiled", "reached"),
    ):
        axes[flag] = (False, True)
    states: list[Any] = [
        dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())
    ]
    return states


@pytest.mark.parametrize("node", ROUTERS)
def test_every_router_in_every_state(node: Node) -> None:
    drawn = {edge.target for edge in graph.get_graph().edges if edge.source == node}
    reached = set()
    for state in every_state():
        target = ROUTERS[node](state)
        reached.add(target)
        candidate = state["candidate"]
        passed = candidate is not None and candidate["status"] == "PASSED"
        if state["stop"]:
            assert target == "finish"
        if node == "select" and state["reached"]:
            assert target == "finish"
        if target == "structural_optimizer":
            assert node == "select"
            assert state["best"]
        if target == "profile":
            assert node == "select"
            assert state["best"]
            assert state["stable"]
            assert not state["unprofiled"]
        if target == "profile_tuner":
            assert node == "profile" or (node == "select" and state["unprofiled"])
        if target == "measure":
            assert node == "verify"
            assert passed
        if target == "verify":
            assert node == "compile"
        if target == "select":
            # the optimizers themselves refuse to run without a best
            assert state["best"] or node in OPTIMIZERS or (node == "measure" and passed)
    assert reached == drawn


def test_correctness_comes_before_optimization() -> None:
    edges = {(edge.source, edge.target) for edge in graph.get_graph().edges}
    into = {node: {source for source, target in edges if target == node} for node in get_args(Node)}
    assert into["structural_optimizer"] == {"select"}
    assert into["profile"] == {"select"}
    assert into["profile_tuner"] == {"profile", "select"}  # the latter in runs without profiles
    assert into["measure"] == {"verify"}
    assert into["verify"] == {"compile"}
    assert {target for source, target in edges if source in OPTIMIZERS} == {
        "compile",
        "select",
        "finish",
    }


def test_the_drawing(snapshot: SnapshotAssertion) -> None:
    assert graph.get_graph().draw_mermaid() == snapshot


def test_the_exported_graph_has_no_saver_and_a_documented_context() -> None:
    assert graph.checkpointer is None
    assert graph.name == "cutegen"
    assert set(build_graph().nodes) == set(get_args(Node))
    schema = graph.get_context_jsonschema()
    assert schema is not None
    assert set(schema["properties"]) == set(Context.__dataclass_fields__)
    assert "required" not in schema
    assert list(graph.get_input_jsonschema()["properties"]) == ["spec_path"]
