"""What a model's tokens cost: a table of data, which the user can put another one before."""

import os
import tomllib
from fnmatch import fnmatch
from functools import lru_cache
from importlib import resources
from pathlib import Path

from pydantic import ValidationError

from cutegen.frozen import Frozen

PRICES = "CUTEGEN_PRICES"
"""Environment variable: a TOML file whose prices come before the built-in ones."""

_MILLION = 1e6


class Price(Frozen):
    """US dollars per million tokens, for the models whose names fit a pattern."""

    model: str
    input: float
    output: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """The cost of one call, in US dollars."""
        return (self.input * input_tokens + self.output * output_tokens) / _MILLION


class _Table(Frozen):
    price: tuple[Price, ...] = ()


def price_of(model: str) -> Price | None:
    """The price of a model; None where no table knows one.

    Args:
        model: As in ``--model``. Only ``openai:`` models cost money; the others are free.

    Raises:
        ValueError: The user's table does not parse.
    """
    kind, _, name = model.partition(":")
    if kind != "openai":
        return Price(model=model, input=0.0, output=0.0)
    name = name.partition("@http")[0]
    tables = (_own(os.environ.get(PRICES, "")), _built_in())
    fitting = (price for table in tables for price in table.price if fnmatch(name, price.model))
    return next(fitting, None)


@lru_cache(maxsize=4)
def _own(file: str) -> _Table:
    if not file:
        return _Table()
    try:
        return _Table.model_validate(tomllib.loads(Path(file).read_text(encoding="utf-8")))
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise ValueError(f"{PRICES}: {file} is no table of prices: {error}") from error


@lru_cache(maxsize=1)
def _built_in() -> _Table:
    text = resources.files("cutegen.agents.models").joinpath("prices.toml").read_text("utf-8")
    return _Table.model_validate(tomllib.loads(text))
