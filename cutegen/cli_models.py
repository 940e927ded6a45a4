"""Options of the command line that say who is asked, how, and for how much."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from cutegen.agents.models.choice import by_agent

ModelNames = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="playbook (the default), openai:NAME, openai:NAME@URL, human or replay:FILE. Once for "
        "all agents, and AGENT=MODEL for one of them.",
    ),
]
Temperatures = Annotated[
    list[str] | None,
    typer.Option("--temperature", help="A number, or AGENT=NUMBER for one agent."),
]
Tokens = Annotated[int | None, typer.Option("--tokens", help="Most tokens.", min=1)]
Dollars = Annotated[float | None, typer.Option("--usd", help="Most US dollars.", min=0.000001)]
Record = Annotated[
    Path | None,
    typer.Option("--record", help="Record the model's answers, for replay:FILE.", dir_okay=False),
]


def temperatures_of(options: Sequence[str]) -> tuple[float | None, dict[str, float]]:
    """Temperatures: for all agents, and for single ones.

    Raises:
        ValueError: One of them is no number, or no agent's.
    """
    common, own = by_agent(options)
    return float(common) if common else None, {name: float(text) for name, text in own.items()}
