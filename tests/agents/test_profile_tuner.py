"""The tuner changes parameters, or hands the structure back; nothing else is taken from it."""

from collections.abc import Callable

import pytest

from cutegen.agents.ask import LostStep
from cutegen.agents.models.replay import ReplayChat
from cutegen.agents.profile_tuner import Tuning, propose_tuning
from cutegen.agents.reply import OutOfIdeas
from cutegen.agents.request import StructuralRequest, TuningRequest
from cutegen.agents.tuning_reply import StructureAtFault
from cutegen.measurement.profile import Bottleneck, Profile

Replay = Callable[..., ReplayChat]

NUMBERS = """\
INTENT: 128 threads
EXPECTED: more blocks
<<<<<<< SEARCH
  int64_t const i = int64_t(blockIdx.x) * 256 + threadIdx.x;
=======
  int64_t const i = int64_t(blockIdx.x) * 128 + threadIdx.x;
>>>>>>> REPLACE
<<<<<<< SEARCH
  twice<<<(n + 255) / 256, 256, 0, a->stream>>>((float4 const*)a->x, (float4*)a->out, n);
=======
  twice<<<(n + 127) / 128, 128, 0, a->stream>>>((float4 const*)a->x, (float4*)a->out, n);
>>>>>>> REPLACE
"""
STAGED = """\
INTENT: stage it
EXPECTED: nothing good
<<<<<<< SEARCH
    float4 const v = x[i];
=======
    __shared__ float4 held[256];
    float4 const v = held[threadIdx.x] = x[i];
>>>>>>> REPLACE
"""
BACK = "STRUCTURE: 4 of 32 bytes of each sector are used\n"


@pytest.fixture
def request_(structural: StructuralRequest) -> TuningRequest:
    shown = structural.model_dump(exclude={"agent", "evidence"})
    profile = Profile(source="ncu", bottleneck=Bottleneck.MEMORY, evidence="sectors half empty")
    return TuningRequest(**shown, profile=profile, may_hand_back=True)


def test_a_change_of_numbers_is_taken(request_: TuningRequest, replay: Replay) -> None:
    value = propose_tuning(replay("profile_tuner", NUMBERS), request_).value
    assert isinstance(value, Tuning)
    (variant,) = value.variants
    assert variant.intent == "128 threads"
    assert "128, 0, a->stream" in variant.source


def test_a_change_of_structure_is_refused_with_the_reason(
    request_: TuningRequest, replay: Replay
) -> None:
    mended = propose_tuning(replay("profile_tuner", STAGED, NUMBERS), request_)
    assert isinstance(mended.value, Tuning)
    assert mended.usage.calls == 2
    lost = propose_tuning(replay("profile_tuner", STAGED, STAGED), request_).value
    assert isinstance(lost, LostStep)
    assert "changes the structure (" in lost.reason
    assert "static" in lost.reason


def test_the_structure_can_be_handed_back_where_that_is_offered(
    request_: TuningRequest, replay: Replay
) -> None:
    value = propose_tuning(replay("profile_tuner", BACK), request_).value
    assert value == StructureAtFault(evidence="4 of 32 bytes of each sector are used")
    bare = propose_tuning(replay("profile_tuner", "**STRUCTURE:**\n", BACK), request_)
    assert (bare.value, bare.usage.calls) == (value, 2)
    closed = request_.model_copy(update={"may_hand_back": False})
    again = propose_tuning(replay("profile_tuner", BACK, "OUT_OF_IDEAS: no more\n"), closed)
    assert again.value == OutOfIdeas(reason="no more")


def test_a_mention_of_structure_among_edits_hands_nothing_back(
    request_: TuningRequest, replay: Replay
) -> None:
    value = propose_tuning(replay("profile_tuner", f"STRUCTURE: as it was\n{NUMBERS}"), request_)
    assert isinstance(value.value, Tuning)


def test_variants_are_refused_together_where_one_is_none(
    request_: TuningRequest, replay: Replay
) -> None:
    head, _, edits = NUMBERS.partition("<<<<<<< SEARCH")
    two = f"{head}VARIANT: 128\n<<<<<<< SEARCH{edits}VARIANT: 64\n<<<<<<< SEARCH" + edits.replace(
        "128", "64"
    )
    value = propose_tuning(replay("profile_tuner", two), request_).value
    assert isinstance(value, Tuning)
    assert [variant.intent for variant in value.variants] == ["128 threads: 128", "128 threads: 64"]
    absent = f"{head}VARIANT: kThreads = 128\n"
    mended = propose_tuning(replay("profile_tuner", absent, two), request_)
    assert mended.usage.calls == 2
    again = propose_tuning(replay("profile_tuner", absent, absent), request_).value
    assert isinstance(again, LostStep)
    assert "kThreads is not defined" in again.reason
