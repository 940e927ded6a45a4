"""Nouns that show themselves in a notebook."""

from collections.abc import Callable, Collection
from importlib import import_module
from typing import cast

from cutegen.frozen import Frozen

_RENDERER = "cutegen.report.notebook"


class Shown(Frozen):
    """A noun that a notebook shows as a table and a terminal as lines, not as its fields.

    How it looks is the report's business, which a mere reader of results never loads.
    """

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """What IPython displays: ``text/html``, and ``text/plain`` where there is no HTML."""
        del include, exclude  # IPython leaves out by itself what it does not want
        render = cast("Callable[[object], dict[str, str]]", import_module(_RENDERER).bundle)
        return render(self)
