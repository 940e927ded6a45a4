"""The playbook: a chat model without a language model.

It plays all five agents from a library of CuTe designs and moves, deterministically, through the
same messages and the same reply format as a language model. It reads the request that travels
beside the prompt; the prompt itself it does not read. What it cannot do it says.
"""

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import JsonValue, TypeAdapter

from cutegen.agents.models.errors import ModelError
from cutegen.agents.models.playbook.library import Playbook, playbook_for
from cutegen.agents.models.playbook.repairs import diagnosis_of, repair_of
from cutegen.agents.models.playbook.tuning import tuning_of
from cutegen.agents.models.playbook.unsupported import UnsupportedError
from cutegen.agents.models.playbook.writing import out_of_ideas, unsupported, whole_kernel
from cutegen.agents.reply import REQUEST_KEY, OutOfIdeas
from cutegen.agents.request import (
    AgentRequest,
    DiagnosisRequest,
    RepairRequest,
    StructuralRequest,
    SynthesisRequest,
    TuningRequest,
)
from cutegen.agents.revision import parse_revision

_REQUEST: TypeAdapter[AgentRequest] = TypeAdapter(AgentRequest)


class PlaybookChatModel(BaseChatModel):
    """A deterministic chat model: elementwise functions, functions of rows, matrix products."""

    @property
    def _llm_type(self) -> str:
        return "cutegen-playbook"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - the signature of the base class
    ) -> ChatResult:
        """Answer the request that travels beside the prompt."""
        del stop, run_manager, kwargs
        message = AIMessage(
            _answer(_REQUEST.validate_python(_request_of(messages))),
            usage_metadata={"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
            response_metadata={"model_name": "playbook", "finish_reason": "stop"},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def _request_of(messages: list[BaseMessage]) -> JsonValue:
    for message in reversed(messages):
        if REQUEST_KEY in message.additional_kwargs:
            request: JsonValue = message.additional_kwargs[REQUEST_KEY]
            return request
    raise ModelError(
        "the playbook reads the request that CuTeGen sends beside its prompts, and there is none: "
        "it answers CuTeGen's agents only"
    )


def _answer(request: AgentRequest) -> str:
    try:
        return _play(playbook_for(request.spec, request.arch), request)
    except UnsupportedError as error:
        if isinstance(request, SynthesisRequest):
            return unsupported(error.operation, error.reason)
        return out_of_ideas(f"the playbook has no design for {error.operation}: {error.reason}")


def _play(playbook: Playbook[Any], request: AgentRequest) -> str:
    match request:
        case SynthesisRequest():
            return playbook.first_kernel(request.failed)
        case StructuralRequest():
            return playbook.next_structure(request.source, request.history)
        case TuningRequest():
            return tuning_of(playbook, request)
        case DiagnosisRequest():
            return diagnosis_of(playbook, request)
        case RepairRequest():
            reply = repair_of(playbook, request)
            return _rewritten(reply, request.source) if request.rewrite else reply


def _rewritten(reply: str, source: str) -> str:
    """A patch as the whole file that it makes."""
    revision = parse_revision(reply, source)
    if isinstance(revision, OutOfIdeas):
        return reply
    return whole_kernel(revision.intent, revision.source)
