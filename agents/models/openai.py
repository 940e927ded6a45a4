"""Any server that speaks the OpenAI chat API, through langchain-openai."""

import os

import openai
from langchain_core.messages import AIMessage, BaseMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from cutegen.agents.models.errors import ModelError

_TIMEOUT_S = 600.0  # of one attempt; ChatOpenAI's own default waits for ever
_RETRIES = 3
_QUOTE_LIMIT = 500
_LOCAL_KEY = "not-needed"  # local servers want the header, not its content
# What langchain-openai raises at an answer of another shape, which it reads without checking.
_OTHER_LANGUAGE = (AttributeError, LookupError, TypeError, ValueError)
_ADVICE: dict[type[openai.OpenAIError], str] = {  # the first kind that fits
    openai.AuthenticationError: "check OPENAI_API_KEY",
    openai.PermissionDeniedError: "check what OPENAI_API_KEY may do",
    openai.NotFoundError: "check the model's name and OPENAI_BASE_URL",
    openai.RateLimitError: "a limit or quota is used up; wait or raise it, then resume the run",
    openai.APITimeoutError: f"no reply came within {_TIMEOUT_S:.0f} s; resume the run to try again",
    openai.APIConnectionError: "check the network and OPENAI_BASE_URL",
    openai.BadRequestError: "it refused the request; the prompt may be longer than the model takes",
    openai.OpenAIError: "resume the run to try again",
}


class OpenAIChat:
    """A chat model by name; its service's errors become ``ModelError``."""

    def __init__(self, name: str) -> None:
        """Read ``OPENAI_API_KEY`` and ``OPENAI_BASE_URL``; nothing is asked yet.

        Raises:
            ModelError: Neither a key nor a server of one's own is set.
        """
        base_url = os.environ.get("OPENAI_BASE_URL")
        key = os.environ.get("OPENAI_API_KEY") or (_LOCAL_KEY if base_url else None)
        if key is None:
            raise ModelError(
                "set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, "
                "or use --model playbook, which needs neither"
            )
        self._name = name
        self._chat = ChatOpenAI(
            model=name,
            base_url=base_url,
            api_key=SecretStr(key),
            timeout=_TIMEOUT_S,
            max_retries=_RETRIES,
            use_responses_api=False,
            disable_streaming=True,  # a streamed reply comes without its count of tokens
            stream_usage=False,
        )

    def invoke(self, messages: list[BaseMessage], /) -> AIMessage:
        """Answer the conversation.

        Raises:
            ModelError: The service refused, did not answer in time, or speaks another language.
        """
        try:
            return self._chat.invoke([_text_only(message) for message in messages])
        except openai.OpenAIError as error:
            raise ModelError(
                f"the model {self._name} could not be asked: {_advice(error)}. "
                f"The service said: {str(error)[:_QUOTE_LIMIT]}"
            ) from error
        except _OTHER_LANGUAGE as error:
            raise ModelError(
                f"the server of the model {self._name} does not answer in the form of OpenAI's "
                f"chat completions; check OPENAI_BASE_URL. It said: {str(error)[:_QUOTE_LIMIT]}"
            ) from error


def _advice(error: openai.OpenAIError) -> str:
    return next(advice for kind, advice in _ADVICE.items() if isinstance(error, kind))


def _text_only(message: BaseMessage) -> BaseMessage:
    """The request that travels beside a prompt is for models in this process only."""
    return message.model_copy(update={"additional_kwargs": {}})
