"""Names of models, recordings and their replay."""

from collections.abc import Callable
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from cutegen.agents.ask import Chat, LostStep
from cutegen.agents.diagnostician import diagnose
from cutegen.agents.models.errors import ModelError
from cutegen.agents.models.openai import OpenAIChat
from cutegen.agents.models.replay import (
    RecordedCall,
    ReplayChat,
    conversation,
    write_recording,
)
from cutegen.agents.models.resolve import resolve_model
from cutegen.agents.profile_tuner import Tuning, propose_tuning
from cutegen.agents.reply import REQUEST_KEY, Diagnosis, OutOfIdeas, WholeKernel
from cutegen.agents.request import (
    Cause,
    DiagnosisRequest,
    RepairRequest,
    StructuralRequest,
    SynthesisRequest,
    TuningRequest,
)
from cutegen.agents.structural_optimizer import propose_structure
from cutegen.agents.synthesizer import synthesize
from cutegen.measurement.profile import Bottleneck, Profile

Replay = Callable[..., ReplayChat]

PATCH = (
    "INTENT: mend the guard\n"
    "<<<<<<< SEARCH\n  if (i <= n) {\n=======\n  if (i < n) {\n>>>>>>> REPLACE\n"
)


def test_names_mean_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, replay: Replay) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    replay("synthesizer")
    assert isinstance(resolve_model("openai:org/small:8b"), OpenAIChat)
    assert isinstance(resolve_model(f"replay:{tmp_path / 'recording.jsonl'}"), ReplayChat)


class Kept:
    """Passes calls on, and keeps them as a recording."""

    def __init__(self, chat: Chat, path: Path) -> None:
        self.chat, self.path = chat, path
        self.calls: list[RecordedCall] = []

    def invoke(self, messages: list[BaseMessage], /) -> AIMessage:
        reply = self.chat.invoke(messages)
        agent = messages[1].additional_kwargs[REQUEST_KEY]["agent"]
        call = RecordedCall(agent=agent, prompt=conversation(messages), reply=str(reply.text))
        self.calls.append(call)
        write_recording(self.path, self.calls)
        return reply


@pytest.mark.parametrize(
    "name", ["", "gpt", "openai", "openai:", "replay:", "playbook:x", "human:me"]
)
def test_another_name_lists_the_choices(name: str) -> None:
    with pytest.raises(ValueError, match="use playbook, openai:NAME, human or replay:FILE"):
        resolve_model(name)


@pytest.mark.parametrize("content", [b"{}", b"no json", b'{"agent": "x"}', b"\xff\xfe"])
def test_a_file_that_is_no_recording(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="is no recording"):
        resolve_model(f"replay:{path}")
    with pytest.raises(ModelError, match="is no recording"):
        resolve_model(f"replay:{tmp_path / 'absent'}")


def test_a_recording_replays_to_the_same_answers(
    tmp_path: Path, replay: Replay, synthesis: SynthesisRequest, source: str
) -> None:
    # the re-ask is recorded too, and U+2028 is no end of a line
    replies = ("no kernel \u2028 here", f"INTENT: plain\n```cuda\n{source}```\n")
    path = tmp_path / "recorded.jsonl"
    first = synthesize(Kept(replay("synthesizer", *replies), path), synthesis)
    assert isinstance(first.value, WholeKernel)
    again = synthesize(ReplayChat(path), synthesis)
    assert again == first
    assert again.usage.calls == 2


def test_a_replay_is_strict(
    tmp_path: Path, replay: Replay, synthesis: SynthesisRequest, structural: StructuralRequest
) -> None:
    path = tmp_path / "recorded.jsonl"
    synthesize(Kept(replay("synthesizer", "UNSUPPORTED: sort: no"), path), synthesis)
    with pytest.raises(ModelError, match="recorded from synthesizer, and structural_optimizer"):
        propose_structure(ReplayChat(path), structural)
    other = synthesis.model_copy(update={"arch": "sm_80"})
    with pytest.raises(ModelError, match=r"call 1 .* recorded with another prompt") as no:
        synthesize(ReplayChat(path), other)
    lines = str(no.value).split("\n")
    assert any(line.startswith("-- The target is `sm_90a`") for line in lines)
    assert any(line.startswith("+- The target is `sm_80`") for line in lines)
    assert len(lines) < 30
    chat = ReplayChat(path)
    synthesize(chat, synthesis)
    with pytest.raises(ModelError, match="holds 1 calls, and synthesizer asks for another"):
        synthesize(chat, synthesis)


def test_a_resumed_replay_goes_on_after_the_calls_it_had_answered(
    replay: Replay, structural: StructuralRequest
) -> None:
    chat = replay("structural_optimizer", "OUT_OF_IDEAS: first", "OUT_OF_IDEAS: second")
    chat.skip(1)
    assert propose_structure(chat, structural).value == OutOfIdeas(reason="second")


def test_outside_a_run_nobody_can_be_asked(tmp_path: Path, synthesis: SynthesisRequest) -> None:
    with pytest.raises(ModelError, match="inside a run only"):
        resolve_model("human")
    with pytest.raises(ModelError, match="inside a run only"):
        synthesize(resolve_model("human", tmp_path), synthesis)


def test_a_conversation_without_a_request_cannot_be_replayed(replay: Replay) -> None:
    with pytest.raises(ModelError, match="no request travels"):
        replay("synthesizer", "x").invoke([HumanMessage("hello")])


def test_the_diagnostician_answers_with_causes(
    replay: Replay, repair_request: RepairRequest
) -> None:
    names = ("spec", "header", "arch", "source", "verdict")
    request = DiagnosisRequest(**{name: getattr(repair_request, name) for name in names})
    reply = "CAUSE: one thread too many\nLINE: 5\nCHANGE: <"
    value = diagnose(replay("diagnostician", reply), request).value
    cause = Cause(cause="one thread too many", line=5, smallest_change="<")
    assert value == Diagnosis(causes=(cause,))


def test_the_profile_tuner_answers_with_a_revision(
    replay: Replay, structural: StructuralRequest
) -> None:
    profile = Profile(source="static", bottleneck=Bottleneck.MEMORY, evidence="the copy rate")
    shared = StructuralRequest.model_fields.keys() & TuningRequest.model_fields.keys()
    fields = {name: getattr(structural, name) for name in shared}
    request = TuningRequest(**fields | {"agent": "profile_tuner", "profile": profile})
    value = propose_tuning(replay("profile_tuner", PATCH), request).value
    assert isinstance(value, Tuning)
    (variant,) = value.variants
    assert "i < n" in variant.source
    value = propose_tuning(replay("profile_tuner", "?", "!"), request).value
    assert isinstance(value, LostStep)
