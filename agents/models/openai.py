"""Any server that speaks the OpenAI chat API, through langchain-openai.

``openai:NAME`` asks the server of ``OPENAI_BASE_URL``, ``openai:NAME@http://host/v1`` another.
"""

import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import openai
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from cutegen.agents.models.errors import ModelError
from cutegen.agents.models.patience import patiently
from cutegen.agents.models.progress import ESTIMATED, Heard, Progress

_TIMEOUT_S = 600.0  # without a sign of life; ChatOpenAI's own default waits for ever
_CONNECT_S = 20.0
_CONCURRENT = 4  # requests at once: enough for a beam, little enough for one local GPU
_QUOTE_LIMIT = 500
_LOCAL_KEY = "not-needed"  # local servers want the header, not its content
_CHARACTERS_PER_TOKEN = 3.5  # of code, roughly
# Parameters that a server may not know, in the order in which they are given up.
_OPTIONAL = ("stream_options", "temperature", "stream")
# What langchain-openai raises at an answer of another shape, which it reads without checking.
_OTHER_LANGUAGE = (AttributeError, LookupError, TypeError, ValueError)
_REFUSED_REQUEST = (openai.BadRequestError, openai.UnprocessableEntityError)
_ADVICE: dict[type[Exception], str] = {  # the first kind that fits
    openai.AuthenticationError: "check OPENAI_API_KEY",
    openai.PermissionDeniedError: "check what OPENAI_API_KEY may do",
    openai.NotFoundError: "check the model's name and OPENAI_BASE_URL",
    openai.RateLimitError: "a limit or quota is used up; wait or raise it, then resume the run",
    openai.APITimeoutError: "no reply came in time; raise CUTEGEN_MODEL_TIMEOUT_S, or resume the "
    "run to try again",
    httpx.TimeoutException: "no reply came in time; raise CUTEGEN_MODEL_TIMEOUT_S, or resume the "
    "run to try again",
    openai.APIConnectionError: "check the network and OPENAI_BASE_URL",
    httpx.TransportError: "check the network and OPENAI_BASE_URL",
    openai.BadRequestError: "it refused the request; the prompt may be longer than the model takes",
    openai.UnprocessableEntityError: "it refused the request; it may be no chat model",
    openai.OpenAIError: "resume the run to try again",
}


class OpenAIChat:
    """A chat model by name; may be asked from several threads.

    Replies are streamed, so that a long one is seen to come along and a time limit watches for
    silence, not for length. A server that knows no streaming, no counts of tokens or no
    temperature is asked without them, once it has said so.
    """

    def __init__(
        self, name: str, *, temperature: float | None = None, timeout_s: float | None = None
    ) -> None:
        """Read ``OPENAI_API_KEY`` and ``OPENAI_BASE_URL``; nothing is asked yet.

        Args:
            name: The model's, with ``@`` and the server's address if it is not the usual one.
            temperature: The server's own if None.
            timeout_s: Longest silence; ``CUTEGEN_MODEL_TIMEOUT_S`` or ten minutes if None.

        Raises:
            ModelError: Neither a key nor a server of one's own is set.
        """
        self._name, base_url = model_and_server(name)
        key = os.environ.get("OPENAI_API_KEY") or (_LOCAL_KEY if base_url else None)
        if key is None:
            raise ModelError(
                "set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, "
                "or use --model playbook, which needs neither"
            )
        silence_s = timeout_s or float(os.environ.get("CUTEGEN_MODEL_TIMEOUT_S", _TIMEOUT_S))
        self._chat = ChatOpenAI(
            model=self._name,
            base_url=base_url,
            api_key=SecretStr(key),
            timeout=httpx.Timeout(silence_s, connect=min(silence_s, _CONNECT_S)),
            max_retries=0,  # see patience
            use_responses_api=False,
        )
        self._temperature = temperature
        self._given_up: frozenset[str] = frozenset()
        if temperature is None:
            self._given_up |= {"temperature"}
        self._places = threading.BoundedSemaphore(_CONCURRENT)

    @property
    def given_up(self) -> frozenset[str]:
        """Optional parameters that the server is asked without."""
        return self._given_up

    def invoke(self, messages: list[BaseMessage], /) -> AIMessage:
        """Answer the conversation.

        Raises:
            ModelError: The service refused, did not answer in time, or speaks another language.
        """
        return self.invoke_telling(messages, lambda _: None)

    def invoke_telling(
        self, messages: list[BaseMessage], tell: Callable[[Progress], None], /
    ) -> AIMessage:
        """Answer the conversation, and tell how the reply comes along; raises as ``invoke``."""
        plain = [_text_only(message) for message in messages]
        try:
            with self._places:
                return _counted(self._asked(plain, tell), plain)
        except (openai.OpenAIError, httpx.TransportError) as error:
            raise ModelError(
                f"the model {self._name} could not be asked: {_advice(error)}. "
                f"The service said: {str(error)[:_QUOTE_LIMIT]}"
            ) from error
        except _OTHER_LANGUAGE as error:
            raise ModelError(
                f"the server of the model {self._name} does not answer in the form of OpenAI's "
                f"chat completions; check OPENAI_BASE_URL. It said: {str(error)[:_QUOTE_LIMIT]}"
            ) from error

    def _asked(self, messages: list[BaseMessage], tell: Callable[[Progress], None]) -> AIMessage:
        """Ask, giving up optional parameters until the server takes the request."""
        without = self._given_up
        while True:
            try:
                reply = patiently(partial(self._once, messages, without, tell), tell)
            except _REFUSED_REQUEST as error:
                left = [name for name in _OPTIONAL if name not in without]
                if not left:
                    raise
                named = [name for name in left if name in str(error)]
                without |= {(named or left)[0]}
            else:
                if reply is not None:
                    self._given_up = without
                    return reply
                without |= {"stream", "stream_options"}

    def _once(
        self, messages: list[BaseMessage], without: frozenset[str], tell: Callable[[Progress], None]
    ) -> AIMessage | None:
        """One request. None where a stream was asked for and something else came."""
        options: dict[str, Any] = {}
        if "temperature" not in without:
            options["temperature"] = self._temperature
        if "stream" in without:
            return self._chat.invoke(messages, **options)
        options["stream_usage"] = "stream_options" not in without
        whole: AIMessageChunk | None = None
        characters = 0
        try:
            for chunk in self._chat.stream(messages, **options):
                whole = chunk if whole is None else whole + chunk
                characters += len(chunk.text)
                tell(Heard(characters=characters))
        except ValueError:
            if whole is not None:
                raise
            return None  # langchain's way to say that nothing was streamed
        if whole is None or not (whole.text or whole.response_metadata.get("finish_reason")):
            return None
        return AIMessage(
            str(whole.text),
            response_metadata=whole.response_metadata,
            usage_metadata=whole.usage_metadata,
        )


def model_and_server(name: str) -> tuple[str, str | None]:
    """Split ``NAME@http://host/v1``; the server is ``OPENAI_BASE_URL``'s where none is named."""
    model, at, rest = name.partition("@http")
    server = f"http{rest}" if at else os.environ.get("OPENAI_BASE_URL")
    return model, server or None


def _counted(reply: AIMessage, messages: list[BaseMessage]) -> AIMessage:
    """The reply with its tokens counted: by the server, else roughly by us, and marked so."""
    if reply.usage_metadata is not None and reply.usage_metadata["total_tokens"]:
        return reply
    asked, answered = (
        round(characters / _CHARACTERS_PER_TOKEN)
        for characters in (sum(len(message.text) for message in messages), len(reply.text))
    )
    usage = UsageMetadata(input_tokens=asked, output_tokens=answered, total_tokens=asked + answered)
    metadata = {**reply.response_metadata, ESTIMATED: True}
    return AIMessage(str(reply.text), response_metadata=metadata, usage_metadata=usage)


def _advice(error: Exception) -> str:
    return next(advice for kind, advice in _ADVICE.items() if isinstance(error, kind))


def _text_only(message: BaseMessage) -> BaseMessage:
    """The request that travels beside a prompt is for models in this process only."""
    return message.model_copy(update={"additional_kwargs": {}})
