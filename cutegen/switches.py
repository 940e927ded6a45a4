"""The values of the method's switches; apart from it, for the command line loads no pydantic."""

from typing import Literal

Profiling = Literal["delayed", "immediate", "never"]
"""When the tuner sees a profile: once the structure is stable, from the first verified kernel
on, or not at all."""

RepairForm = Literal["patch", "rewrite"]
"""What a repairer sends: small anchored edits, or the whole file anew."""

Start = Literal["best", "last"]
"""Which verified kernel the next step starts from."""
