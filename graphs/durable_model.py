"""A chat model whose answers outlive the process: what was answered is never asked again."""

import hashlib
import json
import time
from collections.abc import Callable

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from pydantic import JsonValue, TypeAdapter

from cutegen.agents.ask import Chat
from cutegen.agents.models.prices import price_of
from cutegen.agents.models.progress import ESTIMATED, Heard, Progress, TellingChat
from cutegen.agents.models.replay import asked_agent, conversation
from cutegen.events import AgentAsked, AgentSpeaks, AskedAgain
from cutegen.store import Ledger, ModelCall, Store

_SPEAKS_EVERY_S = 2.0


class DurableChat:
    """Answers from the ledger where it can; else asks the model and notes the answer at once.

    A call is known by run, step, agent, attempt (the how-manieth of its step) and conversation.
    """

    def __init__(
        self,
        chat: Callable[[], Chat],
        *,
        model: str,
        run_id: str,
        step: int,
        ledger: Ledger,
        store: Store,
        tell: Callable[[AgentAsked | AgentSpeaks | AskedAgain], None],
    ) -> None:
        """Wrap the model that ``chat`` makes; it is made only when it must be asked.

        ``model`` is its name, by which its price is known.
        """
        self._chat = chat
        self._model = model
        self._run_id = run_id
        self._step = step
        self._ledger = ledger
        self._store = store
        self._tell = tell
        self._attempt = 0

    def invoke(self, messages: list[BaseMessage], /) -> AIMessage:
        """Answer the conversation.

        Raises:
            ModelError: The model cannot be asked.
        """
        agent = asked_agent(messages)
        asked = json.dumps(conversation(messages))
        identity = json.dumps([self._run_id, self._step, agent, self._attempt, asked])
        key = hashlib.sha256(identity.encode()).hexdigest()
        call = self._ledger.answered(key)
        stored = call is not None
        if call is None:
            call = self._ask(messages, key, agent, self._store.put(asked))
            self._ledger.record_call(call)
        self._attempt += 1
        tokens, cost = call.usage.get("total_tokens"), call.usage.get("cost_usd", 0.0)
        self._tell(
            AgentAsked(
                agent=agent,
                attempt=call.attempt,
                seconds=call.seconds,
                tokens=tokens if isinstance(tokens, int) else 0,
                cost_usd=cost if isinstance(cost, float) else None,
                stored=stored,
            )
        )
        return _message(call)

    def _ask(self, messages: list[BaseMessage], key: str, agent: str, prompt: str) -> ModelCall:
        began = time.monotonic()
        chat = self._chat()
        reply = (
            chat.invoke_telling(messages, self._progress(agent, began))
            if isinstance(chat, TellingChat)
            else chat.invoke(messages)
        )
        return ModelCall(
            key=key,
            agent=agent,
            step=self._step,
            attempt=self._attempt,
            prompt=prompt,
            reply=str(reply.text),
            finish_reason=str(reply.response_metadata.get("finish_reason") or ""),
            usage=self._usage(reply),
            seconds=time.monotonic() - began,
        )

    def _usage(self, reply: AIMessage) -> dict[str, JsonValue]:
        counted = reply.usage_metadata
        if counted is None:
            return {}
        price = price_of(self._model)
        asked, answered = counted["input_tokens"], counted["output_tokens"]
        usage: dict[str, JsonValue] = {
            "input_tokens": asked,
            "output_tokens": answered,
            "total_tokens": counted["total_tokens"],
            "cost_usd": price.of(asked, answered) if price else None,
        }
        return usage | ({"estimated": True} if reply.response_metadata.get(ESTIMATED) else {})

    def _progress(self, agent: str, began: float) -> Callable[[Progress], None]:
        """Tell of a reply that comes along, now and then, and of every fault."""
        told = began

        def tell(progress: Progress) -> None:
            nonlocal told
            now = time.monotonic()
            if not isinstance(progress, Heard):
                self._tell(AskedAgain(agent=agent, reason=progress.reason, wait_s=progress.wait_s))
            elif now - told >= _SPEAKS_EVERY_S:
                told = now
                self._tell(
                    AgentSpeaks(agent=agent, characters=progress.characters, seconds=now - began)
                )

        return tell


def _message(call: ModelCall) -> AIMessage:
    """The answer again, with all that ``ask`` reads of it."""
    metadata = {"finish_reason": call.finish_reason} if call.finish_reason else {}
    message = AIMessage(call.reply, response_metadata=metadata)
    if call.usage:
        counts = {name: count for name, count in call.usage.items() if name.endswith("_tokens")}
        message.usage_metadata = TypeAdapter(UsageMetadata).validate_python(counts)
    return message
