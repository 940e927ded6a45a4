"""A person, or a coding agent, as the model: the graph interrupts with the prompt.

The answer is the text that the graph is resumed with: from Studio, from a notebook
(``Command(resume=…)`` or ``resume_run(…, reply=…)``), or by ``cutegen resume RUN --reply FILE``.
"""

from collections.abc import Sequence
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.types import interrupt

from cutegen.agents.models.errors import ModelError
from cutegen.agents.models.replay import asked_agent
from cutegen.result import Question
from cutegen.store import Ledger, write_atomically

QUESTIONS = "questions"
"""Folder of a run in which the prompts lie that a person is asked to answer."""

_HEADINGS = {"system": "Instructions", "human": "Task", "ai": "Your earlier reply"}


class HumanChat:
    """Asks by an interrupt of the graph that it is asked in."""

    def __init__(self, folder: Path) -> None:
        """Leave prompts in the run's folder ``folder``; nothing is written yet."""
        self._folder = folder

    def invoke(self, messages: list[BaseMessage], /) -> AIMessage:
        """Give the reply that the graph was resumed with, or interrupt it with the prompt.

        Raises:
            ModelError: Nobody could resume with a reply: this is not asked inside a graph.
        """
        question = self._put(messages)
        # A node that is asked again is resumed with all of its replies, oldest first. Those to
        # earlier questions stand in the conversation, unless the resumed values were lost.
        earlier = [str(message.text) for message in messages if isinstance(message, AIMessage)]
        reply = _resumed_with(question)
        while earlier and reply == earlier[0]:
            earlier.pop(0)
            reply = _resumed_with(question)
        return AIMessage(reply)

    def _put(self, messages: Sequence[BaseMessage]) -> Question:
        """Write the prompt where a person finds it; the same question has the same file."""
        agent = asked_agent(messages)
        number = Ledger(self._folder / "ledger.sqlite").usage().calls + 1
        text = "\n\n".join(
            f"# {_HEADINGS.get(message.type, message.type)}\n\n{str(message.text).strip()}"
            for message in messages
        )
        file = self._folder / QUESTIONS / f"{number:03d}-{agent}.md"
        file.parent.mkdir(exist_ok=True)
        write_atomically(file, text + "\n")
        return Question(agent=agent, prompt=text, prompt_file=file.resolve())


def _resumed_with(question: Question) -> str:
    try:
        value = interrupt(question.model_dump(mode="json"))
    except RuntimeError as error:  # there is no graph around this call
        raise ModelError(
            "the model `human` answers inside a run only: `cutegen run … --model human`"
        ) from error
    if isinstance(value, dict) and "reply" in value:  # Studio's form sends objects
        value = value["reply"]
    return value if isinstance(value, str) else str(value)
