"""Answered model calls come from the ledger, whole."""

from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from cutegen.agents.models.errors import ModelError
from cutegen.agents.reply import REQUEST_KEY
from cutegen.events import AgentAsked
from cutegen.graphs.durable_model import DurableChat
from cutegen.store import Ledger, Store


class Counting:
    """Answers with the number of the call, once for each that it is allowed."""

    def __init__(self, allowed: int) -> None:
        self.allowed = allowed
        self.asked = 0

    def invoke(self, messages: list[BaseMessage], /) -> AIMessage:
        assert messages
        self.asked += 1
        if self.asked > self.allowed:
            raise ModelError("no more")
        return AIMessage(
            f"reply {self.asked}",
            response_metadata={"finish_reason": "length"},
            usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        )


def question(text: str) -> list[BaseMessage]:
    return [HumanMessage(text, additional_kwargs={REQUEST_KEY: {"agent": "repairer"}})]


def wrap(model: Counting, folder: Path, told: list[AgentAsked], step: int = 0) -> DurableChat:
    return DurableChat(
        lambda: model,
        model="openai:gpt-4o",
        run_id="run",
        step=step,
        ledger=Ledger(folder / "ledger.sqlite"),
        store=Store(folder / "objects"),
        tell=told.append,
    )


def test_a_call_is_answered_once(tmp_path: Path) -> None:
    model, told = Counting(allowed=2), list[AgentAsked]()
    first = wrap(model, tmp_path, told).invoke(question("why?"))
    again = wrap(model, tmp_path, told).invoke(question("why?"))
    assert model.asked == 1
    assert again == first
    assert again.text == "reply 1"
    assert again.usage_metadata is not None
    assert again.usage_metadata["total_tokens"] == 7
    assert again.response_metadata == {"finish_reason": "length"}
    assert [(e.stored, e.tokens) for e in told] == [(False, 7), (True, 7)]
    call = Ledger(tmp_path / "ledger.sqlite").calls()[0]
    assert "why?" in Store(tmp_path / "objects").get_text(call.prompt)


def test_another_step_attempt_or_prompt_is_another_call(tmp_path: Path) -> None:
    model, told = Counting(allowed=4), list[AgentAsked]()
    chat = wrap(model, tmp_path, told)
    chat.invoke(question("why?"))
    chat.invoke(question("why?"))
    wrap(model, tmp_path, told, step=1).invoke(question("why?"))
    wrap(model, tmp_path, told).invoke(question("how?"))
    assert model.asked == 4
    assert [e.attempt for e in told] == [0, 1, 0, 0]


def test_a_call_that_was_not_answered_leaves_no_trace(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        wrap(Counting(allowed=0), tmp_path, []).invoke(question("why?"))
    assert Ledger(tmp_path / "ledger.sqlite").calls() == ()
