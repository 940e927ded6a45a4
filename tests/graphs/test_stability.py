"""The predicate: its properties, its reasons, and the policies."""

from pathlib import Path

import pytest
from histories import FIRST, OUT, POLICY, QUIET, histories, numbered, policies, step
from hypothesis import given
from hypothesis import strategies as st

from cutegen.graphs.policies import POLICIES, policy_of
from cutegen.graphs.settings import Settings, StabilityPolicy
from cutegen.graphs.stability import Reason, structure_is_stable
from cutegen.history import Decision, Step, StepKind
from cutegen.spec import KernelClass
from cutegen.structure import HIDDEN

more = st.builds(
    dict,
    window=st.integers(0, 3),
    least_rounds=st.integers(0, 3),
    refusals=st.integers(0, 2),
    epsilon=st.floats(-0.1, 0.0),
    roofline=st.floats(0.0, 0.2),
)


@given(histories, policies)
def test_it_answers_for_every_history_and_says_why(
    history: tuple[Step, ...], policy: StabilityPolicy
) -> None:
    before = [s.model_dump_json() for s in history]
    found = structure_is_stable(history, policy)
    assert found == structure_is_stable(list(history), policy)
    assert [s.model_dump_json() for s in history] == before
    assert found.why
    assert found.reasons
    assert all(reason.opens is found.stable for reason in found.reasons)


@given(histories, policies)
def test_never_true_before_a_verified_candidate(
    history: tuple[Step, ...], policy: StabilityPolicy
) -> None:
    unverified = [s for s in history if s.decision is not Decision.ACCEPTED]
    found = structure_is_stable(unverified, policy)
    assert not found.stable
    assert found.reasons == (Reason.UNVERIFIED,)


@given(histories, policies, more)
def test_more_patience_never_opens_the_edge(
    history: tuple[Step, ...], policy: StabilityPolicy, added: dict[str, float]
) -> None:
    fields = {name: getattr(policy, name) + more for name, more in added.items()}
    fields["epsilon"] = max(0.0, fields["epsilon"])
    patient = StabilityPolicy.model_validate(fields)
    for length in range(len(history) + 1):
        if structure_is_stable(history[:length], patient).stable:
            assert structure_is_stable(history[:length], policy).stable


@given(histories, policies, st.sampled_from(list(StepKind)))
def test_an_accepted_change_of_structure_closes_the_edge(
    history: tuple[Step, ...], policy: StabilityPolicy, kind: StepKind
) -> None:
    after = numbered(FIRST, *history, step(kind, "accepted", "never seen before"))
    found = structure_is_stable(after, policy)
    assert not found.stable
    assert Reason.STILL_MOVING in found.reasons


@given(histories, policies)
def test_true_in_the_end(history: tuple[Step, ...], policy: StabilityPolicy) -> None:
    enough = max(policy.window, policy.least_rounds)
    after = numbered(FIRST, *history, *[QUIET] * enough)
    assert structure_is_stable(after, policy).stable


@given(histories, policies)
def test_true_in_the_end_when_nothing_is_proposed(
    history: tuple[Step, ...], policy: StabilityPolicy
) -> None:
    after = numbered(FIRST, *history, *[OUT] * policy.refusals)
    found = structure_is_stable(after, policy)
    assert found.stable
    assert Reason.OUT_OF_IDEAS in found.reasons


def test_out_of_ideas_counts_twice_only() -> None:
    assert not structure_is_stable(numbered(FIRST, OUT), POLICY).stable
    twice = numbered(FIRST, *[OUT] * POLICY.refusals)
    assert structure_is_stable(twice, POLICY).reasons == (Reason.OUT_OF_IDEAS,)
    reopened = (*twice, step("tuning", "accepted", "tiled"))
    assert not structure_is_stable(reopened, POLICY).stable
    assert not structure_is_stable((*reopened, OUT), POLICY).stable


def test_at_the_roof() -> None:
    history = numbered(step("synthesis", "accepted", "plain", 10.0, 0.95))
    found = structure_is_stable(history, policy_of(KernelClass.MATMUL))
    assert found.reasons == (Reason.AT_THE_ROOFLINE,)
    assert found.why == "the best reaches 95% of the roofline"


def test_both_reasons_are_told() -> None:
    found = structure_is_stable(numbered(FIRST, QUIET), POLICY)
    assert found.reasons == (Reason.TOO_FEW_ROUNDS, Reason.STILL_MOVING)
    assert found.why == "1 of at least 3 structural rounds"


def test_a_gain_within_one_structure_restarts_the_window() -> None:
    faster = step("structural", "accepted", "plain", 50.0)
    barely = step("structural", "accepted", "plain", 99.0)
    assert not structure_is_stable(numbered(FIRST, QUIET, QUIET, faster), POLICY).stable
    found = structure_is_stable(numbered(FIRST, QUIET, QUIET, barely), POLICY)
    assert found.reasons == (Reason.SETTLED,)


def test_a_repair_belongs_to_the_round_it_mends() -> None:
    broken = step("structural", "failed")
    repairs = [step("repair", "failed"), step("repair", "failed")]
    two_rounds = numbered(FIRST, broken, *repairs, broken, *repairs)
    assert not structure_is_stable(two_rounds, POLICY).stable
    assert structure_is_stable((*two_rounds, broken), POLICY).stable
    mended = numbered(FIRST, QUIET, QUIET, broken, step("repair", "accepted", "tiled"))
    assert not structure_is_stable(mended, POLICY).stable


def test_a_hidden_design_is_no_new_one() -> None:
    settled = numbered(FIRST, QUIET, QUIET, QUIET, step("tuning", "accepted", HIDDEN, 99.0))
    assert structure_is_stable(settled, POLICY).stable


def test_matmul_waits_longest_and_activations_least() -> None:
    kinds = (KernelClass.MATMUL, KernelClass.REDUCTION, KernelClass.ACTIVATION)
    waits = [(policy_of(kind).window, policy_of(kind).least_rounds) for kind in kinds]
    assert waits == sorted(waits, reverse=True)
    for kind in KernelClass:
        assert policy_of(kind).roofline == 0.95


def test_a_user_has_policies_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "own.toml"
    monkeypatch.setenv(POLICIES, str(file))
    file.write_text("[matmul]\nwindow = 5\n")
    assert policy_of(KernelClass.MATMUL).window == 5
    assert policy_of(KernelClass.MATMUL).least_rounds == 4
    assert policy_of(KernelClass.GENERIC).window == 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[conv]\nwindow = 1", "no class of kernels is named conv"),
        ("[matmul]\npatience = 1", "no patience: there are window"),
        ("[matmul]\nwindow = 'long'", "valid integer"),
        ("[matmul", "no table of policies"),
    ],
)
def test_a_table_that_is_none_is_refused(
    text: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    monkeypatch.setenv(POLICIES, str(file))
    with pytest.raises(ValueError, match=complaint):
        policy_of(KernelClass.MATMUL)


def test_settings_of_older_runs_have_the_defaults() -> None:
    old = {"model": "playbook", "executor": "emulated", "arch": "sm_90a"}
    policy = {"window": 2, "least_rounds": 3, "epsilon": 0.02}
    settings = Settings.model_validate(old | {"policy": policy})
    assert (settings.policy.refusals, settings.policy.roofline) == (2, 0.95)
