"""One prompt, one re-ask: through the OpenAI client and a server on the loopback interface."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import pytest
from langchain_core.messages import HumanMessage

from cutegen.agents.ask import LostStep, Usage
from cutegen.agents.models.errors import ModelError
from cutegen.agents.models.openai import OpenAIChat
from cutegen.agents.models.progress import Heard, Progress
from cutegen.agents.reply import REQUEST_KEY, WholeKernel
from cutegen.agents.request import StructuralRequest, SynthesisRequest
from cutegen.agents.revision import Revision
from cutegen.agents.structural_optimizer import propose_structure
from cutegen.agents.synthesizer import synthesize

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


class Service(Protocol):
    asked: list[dict[str, Any]]
    unknown: set[str]
    streams: bool
    port: int
    at: list[float]

    def reply(self, text: str | None, finish_reason: str = "stop", **more: Any) -> None: ...
    def fail(self, status: int, message: str, **headers: str) -> None: ...
    def raw(self, body: bytes) -> None: ...


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
    assert (asked["stream"], asked["stream_options"]) == (True, {"include_usage": True})


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


def good(source: str) -> str:
    return f"INTENT: plain\n```cuda\n{source}```\n"


def test_a_passing_fault_of_the_service_is_waited_out(
    service: Service, synthesis: SynthesisRequest, source: str, waits: list[float]
) -> None:
    service.fail(500, "overloaded")
    service.fail(429, "slow down", Retry_After="7")
    service.reply("", drop_after=0)
    service.reply(good(source))
    answer = synthesize(OpenAIChat("small"), synthesis)
    assert isinstance(answer.value, WholeKernel)
    assert answer.usage == Usage(calls=1, input_tokens=100, output_tokens=10)
    assert len(service.asked) == 4
    assert waits == [0.5, 7.0, 2.0]


def test_a_stream_that_breaks_off_is_begun_anew(
    service: Service, synthesis: SynthesisRequest, source: str, waits: list[float]
) -> None:
    service.reply(good(source), drop_after=4)
    service.reply(good(source))
    value = synthesize(OpenAIChat("small"), synthesis).value
    assert value == WholeKernel(intent="plain", source=source)
    assert waits == [0.5]


def test_a_fault_that_stays_is_told_after_a_few_tries(
    service: Service, synthesis: SynthesisRequest, waits: list[float]
) -> None:
    for _ in range(4):
        service.fail(503, "down for today")
    with pytest.raises(ModelError, match="down for today"):
        synthesize(OpenAIChat("small"), synthesis)
    assert waits == [0.5, 1.0, 2.0]


def test_a_quota_that_is_used_up_for_long_is_not_waited_for(
    service: Service, synthesis: SynthesisRequest, waits: list[float]
) -> None:
    service.fail(429, "come back tomorrow", Retry_After="86400")
    with pytest.raises(ModelError, match="a limit or quota is used up"):
        synthesize(OpenAIChat("small"), synthesis)
    assert waits == []


def test_a_slow_reply_is_heard_as_it_comes(
    service: Service, synthesis: SynthesisRequest, source: str
) -> None:
    service.reply(good(source), pause_s=0.05)  # longer together than the silence allowed
    heard: list[Progress] = []
    chat = OpenAIChat("small", timeout_s=0.3)
    reply = chat.invoke_telling([HumanMessage("hello")], heard.append)
    assert reply.text == good(source)
    counts = [progress.characters for progress in heard if isinstance(progress, Heard)]
    assert counts == sorted(counts)
    assert counts[-1] == len(good(source))
    assert len(counts) > 5
    del synthesis


def test_silence_has_a_limit(service: Service, waits: list[float]) -> None:
    for _ in range(4):
        service.reply("late", pause_s=0.6)
    with pytest.raises(ModelError, match="no reply came in time; raise CUTEGEN_MODEL_TIMEOUT_S"):
        OpenAIChat("small", timeout_s=0.1).invoke([HumanMessage("hello")])
    assert len(waits) == 3


@pytest.mark.parametrize("unknown", ["stream_options", "temperature", "stream"])
def test_a_server_that_knows_no_optional_parameters(
    service: Service, synthesis: SynthesisRequest, source: str, unknown: str
) -> None:
    service.unknown = {unknown}
    chat = OpenAIChat("small", temperature=0.3)
    for _ in range(2):
        service.reply(good(source))
        assert isinstance(synthesize(chat, synthesis).value, WholeKernel)
    assert chat.given_up == {unknown}
    assert not service.asked[-1].get(unknown)
    assert len(service.asked) == 3  # it is refused once, and remembered
    if unknown != "temperature":
        assert service.asked[-1]["temperature"] == 0.3


def test_a_server_that_knows_the_bare_request_only(
    service: Service, synthesis: SynthesisRequest, source: str
) -> None:
    service.unknown = {"stream_options", "temperature", "stream"}
    service.reply(good(source))
    assert isinstance(
        synthesize(OpenAIChat("small", temperature=0.3), synthesis).value, WholeKernel
    )
    assert {name for name, value in service.asked[-1].items() if value} == {"model", "messages"}


def test_a_server_that_streams_nothing_is_asked_for_the_whole(
    service: Service, synthesis: SynthesisRequest, source: str
) -> None:
    service.streams = False
    service.reply(good(source))
    service.reply(good(source))
    answer = synthesize(OpenAIChat("small"), synthesis)
    assert isinstance(answer.value, WholeKernel)
    assert answer.usage == Usage(calls=1, input_tokens=100, output_tokens=10)


def test_an_empty_choice_is_asked_again(
    service: Service, synthesis: SynthesisRequest, source: str
) -> None:
    service.reply(None)
    service.reply(good(source))
    answer = synthesize(OpenAIChat("small"), synthesis)
    assert isinstance(answer.value, WholeKernel)
    assert "empty" in service.asked[-1]["messages"][-1]["content"]


def test_tokens_that_nobody_counted_are_estimated(
    service: Service, synthesis: SynthesisRequest, source: str
) -> None:
    service.reply(good(source), usage=None)
    answer = synthesize(OpenAIChat("small"), synthesis)
    assert answer.usage.output_tokens == round(len(good(source)) / 3.5)
    prompt = sum(len(message["content"]) for message in service.asked[0]["messages"])
    assert answer.usage.input_tokens == round(prompt / 3.5)


def test_a_model_on_a_server_of_its_own(
    service: Service, monkeypatch: pytest.MonkeyPatch, synthesis: SynthesisRequest, source: str
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    service.reply(good(source))
    chat = OpenAIChat(f"small@v2@http://127.0.0.1:{service.port}/v1")
    assert isinstance(synthesize(chat, synthesis).value, WholeKernel)
    assert service.asked[0]["model"] == "small@v2"


def test_a_beam_is_asked_side_by_side(
    service: Service, synthesis: SynthesisRequest, source: str
) -> None:
    chat = OpenAIChat("small")
    for _ in range(4):
        service.reply(good(source), pause_s=0.05)
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda _: synthesize(chat, synthesis), range(4)))
    assert all(isinstance(answer.value, WholeKernel) for answer in answers)
    at = service.at
    assert max(at) - min(at) < 0.4  # all were asked before the first had answered


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
    tries = 3 if status == 400 else 1  # it may be the optional parameters that it refuses
    for _ in range(tries):
        service.fail(status, "no such luck")
    with pytest.raises(ModelError, match=advice) as caught:
        synthesize(OpenAIChat("small"), synthesis)
    assert "no such luck" in str(caught.value)
    assert len(service.asked) == tries


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
    service.raw(body)
    service.raw(body)
    with pytest.raises(ModelError, match="OPENAI_BASE_URL"):
        synthesize(OpenAIChat("small"), synthesis)


def test_nobody_listens(
    monkeypatch: pytest.MonkeyPatch,
    service: Service,
    synthesis: SynthesisRequest,
    waits: list[float],
) -> None:
    del service, waits  # its environment is wanted, and another port
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
