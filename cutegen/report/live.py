"""A run in a notebook's cell, while it goes on: ``run_graph(spec, on_event=LiveRun())``."""

import sys
import time
from collections.abc import Collection
from importlib import import_module
from typing import Protocol, cast

from rich.console import Console
from rich.text import Text

from cutegen.events import AgentSpeaks, AgentWaits, Event, Finished, NodeStarted, Selected
from cutegen.report import markup
from cutegen.report.terminal import RunProgress, line_of

_SHOWN = 16  # lines; what was told before is folded away
_QUIET_S = 0.25  # a reply that comes along in pieces is not drawn more often
_ENDS = (AgentWaits, Finished)


class Cell(Protocol):
    """What shows the run and can show it again: IPython's ``DisplayHandle``."""

    def update(self, obj: object) -> None:
        """Show the object's new state in the old place."""


class LiveRun:
    """Follows a run: what the terminal would print, and what is being done right now.

    In a notebook one display is drawn anew with each event. Anywhere else the lines are printed.
    """

    def __init__(self) -> None:
        """Follow a run that is about to begin; the first event makes the display."""
        self._lines: list[Text] = []
        self._now = ""
        self._steps = 0
        self._drawn = 0.0
        self._cell: Cell | None = None
        self._printer = None if _in_notebook() else RunProgress(Console())

    def __call__(self, event: Event) -> None:
        """Show an event."""
        if self._printer is not None:
            self._printer.show(event)
            return
        line = line_of(event)
        if line:
            self._lines.append(line)
        self._follow(event)
        if isinstance(event, AgentSpeaks) and time.monotonic() < self._drawn + _QUIET_S:
            return
        self._draw()

    def _follow(self, event: Event) -> None:
        match event:
            case NodeStarted():
                self._now = " ".join(filter(None, (event.node, event.candidate)))
            case AgentSpeaks():
                self._now = f"{event.agent} writes: {event.characters:,} characters"
            case Selected():
                self._steps = event.step + 1
            case Finished():
                self._lines.append(Text.assemble((event.status, "bold"), f" {event.reason}"))
        if isinstance(event, _ENDS):
            self._now = ""

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        if self._cell is None:
            show = import_module("IPython.display").display  # a notebook has it loaded
            self._cell = cast("Cell", show(self, display_id=True))
        else:
            self._cell.update(self)

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """What was told so far, for IPython."""
        del include, exclude
        told, latest = self._lines[:-_SHOWN], self._lines[-_SHOWN:]
        earlier = markup.folded(f"{len(told)} lines before", markup.lines_of(told)) if told else ""
        steps = "1 step" if self._steps == 1 else f"{self._steps} steps"
        now = f"{steps} so far; now: {self._now}" if self._now else steps
        page = markup.section(earlier, markup.lines_of(latest), markup.paragraph(markup.dim(now)))
        return {
            "text/html": str(page),
            "text/plain": "\n".join((*(line.plain for line in self._lines), now)),
        }


def _in_notebook() -> bool:
    """Whether this code was called from a cell; whoever is in one has IPython loaded."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")
