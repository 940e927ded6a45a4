"""One prompt, one re-ask: through the OpenAI client and a server on the loopback interface."""

import json
from typing import Any, Protocol

import pytest

from cutegen.agents.ask import LostStep, Usage
from cutegen.agents.models.errors import ModelError
from cutegen.agents.models.openai import OpenAIChat
from cutegen.agents.reply import REQUEST_KEY, WholeKernel
from cutegen.agents.request import StructuralRequest, SynthesisRequest
from cutegen.agents.revision import Revision
from cutegen.agents.structural_optimizer import propose_structure
from cutegen.agents.synthesizer import synthesize


class Service(Protocol):
    answers: list[tuple[int, Any]]
    asked: list[dict[str, Any]]

    def reply(self, text: str, finish_reason: str = "stop") -> None: ...
    def fail(self, status: int, message: str) -> None: ...


PATCH = """\
INTENT: doubled by addition
<<<<<<< SEARCH
    out[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
=======
    out[i] = make_float4(v.x + v.x, v.y + v.y, v.z + v.z, v.w + v.w);
>>>>>>> REPLACE
"""


def test_a_good_reply(service: Service, synthesis: SynthesisRequest, source: str) -> None:
    service.reply(f"INTENT: plain\n```cuda\n{source}```\n")
    answer = synthesize(OpenAIChat("small"), synthesis)
    assert answer.value == WholeKernel(intent="plain", source=source)
    assert answer.usage == Usage(calls=1, input_tokens=100, output_tokens=10)


def test_the_service_sees_the_prompt_and_nothing_else(
    service: Service, synthesis: SynthesisRequest, source: str
) -> None:
    service.reply(f"INTENT: plain\n```cuda\n{source}```\n")
    synthesize(OpenAIChat("small"), synthesis)
    (asked,) = service.asked
    assert asked["model"] == "small"
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
    assert "## The contract" in asked["messages"][1]["content"]
    assert REQUEST_KEY not in json.dumps(asked)
    assert not asked.get("stream")


def test_a_faulty_reply_is_quoted_once(
    service: Service, structural: StructuralRequest, source: str
) -> None:
    service.reply("INTENT: doubled by addition\n\nSee the code above.")
    service.reply(PATCH)
    answer = propose_structure(OpenAIChat("small"), structural)
    assert isinstance(answer.value, Revision)
    assert answer.value.source == source.replace("2 * v.x", "v.x + v.x").replace(
        "2 * v.y, 2 * v.z, 2 * v.w", "v.y + v.y, v.z + v.z, v.w + v.w"
    )
    assert answer.value.changed_lines == 2
    assert answer.usage == Usage(calls=2, input_tokens=200, output_tokens=20)
    roles = [message["role"] for message in service.asked[1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert "holds no SEARCH/REPLACE block" in service.asked[1]["messages"][3]["content"]


def test_a_refused_edit_is_quoted(service: Service, structural: StructuralRequest) -> None:
    service.reply(PATCH.replace("2 * v.x", "2.0f * v.x"))
    service.reply(PATCH)
    answer = propose_structure(OpenAIChat("small"), structural)
    assert isinstance(answer.value, Revision)
    quoted = service.asked[1]["messages"][3]["content"]
    assert "the nearest lines are (from line 7):" in quoted
    assert "make_float4(2 * v.x" in quoted


def test_two_faulty_replies_lose_the_step(
    service: Service, structural: StructuralRequest, source: str
) -> None:
    service.reply("I cannot see what you mean.")
    service.reply(f"INTENT: plain\n```cuda\n{source}```\n")
    answer = propose_structure(OpenAIChat("small"), structural)
    assert isinstance(answer.value, LostStep)
    assert "whole file" in answer.value.reason
    assert answer.usage.calls == 2


def test_a_reply_cut_at_the_limit_is_told_so(
    service: Service, synthesis: SynthesisRequest, source: str
) -> None:
    service.reply(f"INTENT: plain\n```cuda\n{source[:100]}", finish_reason="length")
    service.reply(f"INTENT: plain\n```cuda\n{source}```\n")
    answer = synthesize(OpenAIChat("small"), synthesis)
    assert isinstance(answer.value, WholeKernel)
    assert "cut at the length limit" in service.asked[1]["messages"][3]["content"]


def test_a_passing_fault_of_the_service_is_waited_out(
    service: Service, synthesis: SynthesisRequest, source: str
) -> None:
    service.fail(500, "overloaded")
    service.reply(f"INTENT: plain\n```cuda\n{source}```\n")
    answer = synthesize(OpenAIChat("small"), synthesis)
    assert isinstance(answer.value, WholeKernel)
    assert answer.usage.calls == 1
    assert len(service.asked) == 2


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "check OPENAI_API_KEY"),
        (404, "check the model's name"),
        (400, "the prompt may be longer"),
    ],
)
def test_a_service_that_refuses_stops_the_run_with_advice(
    service: Service, synthesis: SynthesisRequest, status: int, advice: str
) -> None:
    service.fail(status, "no such luck")
    with pytest.raises(ModelError, match=advice) as caught:
        synthesize(OpenAIChat("small"), synthesis)
    assert "no such luck" in str(caught.value)
    assert len(service.asked) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"<html>a login page</html>",
        b"[]",
        b'{"choices": null}',
        b'{"choices": []}',
        b'{"error": {"message": "not today"}}',
    ],
)
def test_a_service_that_speaks_another_language_stops_the_run(
    service: Service, synthesis: SynthesisRequest, body: bytes
) -> None:
    service.answers.append((200, body))
    with pytest.raises(ModelError, match="OPENAI_BASE_URL"):
        synthesize(OpenAIChat("small"), synthesis)


def test_nobody_listens(
    monkeypatch: pytest.MonkeyPatch, service: Service, synthesis: SynthesisRequest
) -> None:
    del service  # its environment is wanted, and another port
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(ModelError, match="check the network and OPENAI_BASE_URL"):
        synthesize(OpenAIChat("small"), synthesis)


def test_no_key_and_no_server_is_said_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelError, match="set OPENAI_API_KEY"):
        OpenAIChat("small")
