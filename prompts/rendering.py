"""From a request to the prompt of its agent. A name that a template misses is an error."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel

from cutegen.frozen import Frozen
from cutegen.prompts import phrases
from cutegen.prompts.recipes import Recipe, choose
from cutegen.spec import KernelSpec
from cutegen.structure import Fingerprint

_TRACE_LIMIT = 60  # operations
_HISTORY_LIMIT = 40  # steps


class RenderedPrompt(Frozen):
    """The two messages an agent sends."""

    system: str
    user: str


def render(request: BaseModel) -> RenderedPrompt:
    """Render the templates of the request's agent; equal requests give equal prompts.

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


def _recipes(spec: KernelSpec, arch: str, design: Fingerprint | None = None) -> tuple[Recipe, ...]:
    return choose(spec, arch, design)


@cache
def _environment() -> Environment:
    environment = Environment(  # noqa: S701 - the output is a prompt, not a web page
        loader=PackageLoader("cutegen.prompts", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,  # an included text ends its own last line
    )
    environment.filters.update(
        tensor=phrases.tensor,
        operation=phrases.operation,
        work=phrases.work,
        machine=phrases.machine,
        reading=phrases.reading,
        outcome=phrases.outcome,
        intent=phrases.intent,
        expectation=phrases.expectation,
        cell=phrases.cell,
        fenced=phrases.fenced,
        numbered=phrases.numbered,
        bounded=phrases.bounded,
        capitalised=phrases.capitalised,
        recipes=_recipes,
    )
    environment.globals.update(trace_limit=_TRACE_LIMIT, history_limit=_HISTORY_LIMIT)
    return environment
