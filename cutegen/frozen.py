"""The base class of every noun in CuTeGen."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """An immutable value that refuses unknown fields and round-trips through JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")
