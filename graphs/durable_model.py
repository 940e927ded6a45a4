"""A chat model whose answers outlive the process: what was answered is never asked again."""

import hashlib
import json
import time
from collections.abc import Callable

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from pydantic import TypeAdapter

from cutegen.agents.ask import Chat
from cutegen.agents.models.replay import asked_agent, conversation
from cutegen.events import AgentAsked
from cutegen.store import Ledger, ModelCall, Store


class DurableChat:
    """Answers from the ledger where it can; else asks the model and notes the answer at once.

    A call is known by run, step, agent, attempt (the how-manieth of its step) and conversation.
    """

    def __init__(
        self,
        chat: Callable[[], Chat],
        *,
        run_id: str,
        step: int,
        ledger: Ledger,
        store: Store,
        tell: Callable[[AgentAsked], None],
    ) -> None:
        """Wrap the model that ``chat`` makes; it is made only when it must be asked."""
        self._chat = chat
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
        tokens = call.usage.get("total_tokens")
        self._tell(
            AgentAsked(
                agent=agent,
                attempt=call.attempt,
                seconds=call.seconds,
                tokens=tokens if isinstance(tokens, int) else 0,
                stored=stored,
            )
        )
        return _message(call)

    def _ask(self, messages: list[BaseMessage], key: str, agent: str, prompt: str) -> ModelCall:
        began = time.monotonic()
        reply = self._chat().invoke(messages)
        counted = reply.usage_metadata
        return ModelCall(
            key=key,
            agent=agent,
            step=self._step,
            attempt=self._attempt,
            prompt=prompt,
            reply=str(reply.text),
            finish_reason=str(reply.response_metadata.get("finish_reason") or ""),
            usage={
                name: counted[name] for name in ("input_tokens", "output_tokens", "total_tokens")
            }
            if counted
            else {},
            seconds=time.monotonic() - began,
        )


def _message(call: ModelCall) -> AIMessage:
    """The answer again, with all that ``ask`` reads of it."""
    metadata = {"finish_reason": call.finish_reason} if call.finish_reason else {}
    message = AIMessage(call.reply, response_metadata=metadata)
    if call.usage:
        message.usage_metadata = TypeAdapter(UsageMetadata).validate_python(call.usage)
    return message
