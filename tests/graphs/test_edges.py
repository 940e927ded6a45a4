"""Every router in every state."""

import itertools
from typing import Any, get_args

import pytest
from histories import FIRST, SETTINGS, numbered, step
from syrupy.assertion import SnapshotAssertion

from cutegen.graphs.context import Context
from cutegen.graphs.edges import ROUTERS, TUNING_PATIENCE, target_is_reached, tuning_is_left
from cutegen.graphs.kernel_graph import build_graph, graph
from cutegen.graphs.standing import open_predicate
from cutegen.graphs.state import Attempt, Node, State

OPTIMIZERS = {"structural_optimizer", "profile_tuner"}


def test_tuning_ends_when_the_tuner_says_so_or_brings_nothing() -> None:
    tried = step("tuning", "rejected", "plain")
    assert tuning_is_left(numbered(FIRST))
    assert not tuning_is_left(numbered(FIRST, step("tuning", "no-proposal")))
    assert tuning_is_left(numbered(FIRST, *[tried] * (TUNING_PATIENCE - 1)))
    assert not tuning_is_left(numbered(FIRST, *[tried] * TUNING_PATIENCE))
    gain = step("tuning", "accepted", "plain", 90.0)
    assert tuning_is_left(numbered(FIRST, *[tried] * TUNING_PATIENCE, gain))


def test_a_run_ends_at_the_share_of_the_roof_that_was_asked_for() -> None:
    near = numbered(FIRST, step("structural", "accepted", "tiled", 10.0, 0.96))
    assert target_is_reached(near, 0.95)
    assert not target_is_reached(near, 0.97)
    assert not target_is_reached(near, 0)  # none was asked for
    assert not target_is_reached(numbered(FIRST), 0.5)  # not measured
    rejected = step("structural", "rejected", "other", 9.0, 0.99)
    assert not target_is_reached((*near, rejected), 0.97)


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
