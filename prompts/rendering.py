"""From a request to the prompt of its agent. A name that a template misses is an error."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel, JsonValue

from cutegen.frozen import Frozen
from cutegen.history import Step
from cutegen.spec import TensorArg, TracedOp
from cutegen.status import Status

_LOG_LIMIT = 6000
_TRACE_LIMIT = 60


class RenderedPrompt(Frozen):
    """The two messages an agent sends."""

    system: str
    user: str


def render(request: BaseModel) -> RenderedPrompt:
    """Render the templates of the request's agent.

    Args:
        request: One of the requests of ``cutegen.agents.request``.
    """
    names = {name: getattr(request, name) for name in type(request).model_fields}
    agent = str(names["agent"])
    environment = _environment()
    return RenderedPrompt(
        system=environment.get_template(f"{agent}.system.md.j2").render(names),
        user=environment.get_template(f"{agent}.user.md.j2").render(names),
    )


@cache
def _environment() -> Environment:
    environment = Environment(  # noqa: S701 - the output is a prompt, not a web page
        loader=PackageLoader("cutegen.prompts", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        tensor=_tensor, operation=_operation, outcome=_outcome, bounded=_bounded
    )
    environment.globals.update(trace_limit=_TRACE_LIMIT)
    return environment


def _tensor(tensor: TensorArg) -> str:
    """A tensor in one phrase: ``x: float32[4096, 1000] (input)``."""
    return f"{tensor.name}: {tensor.dtype.value}{list(tensor.shape)} ({tensor.role})"


def _operation(op: TracedOp) -> str:
    """A traced operation as an assignment."""
    arguments = [_operand(value) for value in op.args]
    arguments += [f"{name}={_operand(value)}" for name, value in op.kwargs.items()]
    return f"{op.name} = {op.op}({', '.join(arguments)})  # {op.dtype.value}{list(op.shape)}"


def _operand(value: JsonValue) -> str:
    if isinstance(value, dict) and "ref" in value:
        return str(value["ref"])
    if isinstance(value, list):
        return "[" + ", ".join(_operand(item) for item in value) + "]"
    return repr(value)


def _outcome(step: Step) -> str:
    """What came of a step, in a few words."""
    parts = [step.decision.value]
    if step.status is not None and step.status is not Status.PASSED:
        parts.append(step.status.value)
    if step.time_us is not None:
        parts.append(f"{step.time_us:.1f} µs")
    if step.speedup is not None:
        parts.append(f"{step.speedup:.2f}x over PyTorch eager")
    if step.reason:
        parts.append(step.reason)
    return "; ".join(parts)


def _bounded(text: str) -> str:
    """The beginning and the end of a long text."""
    if len(text) <= _LOG_LIMIT:
        return text
    half = _LOG_LIMIT // 2
    return f"{text[:half]}\n[…]\n{text[-half:]}"
