"""The stability policy of each class of kernel: a table beside this module, and a user's own."""

import os
import tomllib
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cutegen.graphs.settings import StabilityPolicy
from cutegen.spec import KernelClass

POLICIES = "CUTEGEN_POLICIES"
"""Names a user's file, of the form of ``policies.toml``; what it leaves out stays as it is."""


def policy_of(kernel_class: KernelClass) -> StabilityPolicy:
    """The policy that a run of this class starts with, unless its caller says otherwise.

    Raises:
        ValueError: The user's table is none; the message says what is wrong with it.
    """
    return _policies(os.environ.get(POLICIES, ""))[kernel_class]


@lru_cache(maxsize=4)
def _policies(file: str) -> dict[KernelClass, StabilityPolicy]:
    table = tomllib.loads(
        resources.files("cutegen.graphs").joinpath("policies.toml").read_text("utf-8")
    )
    try:
        own = tomllib.loads(Path(file).read_text(encoding="utf-8")) if file else {}
        return {kind: _policy(table, own, kind) for kind in _known(own)}
    except (OSError, tomllib.TOMLDecodeError, ValidationError, ValueError) as error:
        raise ValueError(f"{POLICIES}: {file} is no table of policies: {error}") from error


def _known(own: dict[str, Any]) -> type[KernelClass]:
    strange = own.keys() - {kind.value for kind in KernelClass}
    if strange:
        known = ", ".join(kind.value for kind in KernelClass)
        raise ValueError(f"no class of kernels is named {', '.join(strange)}: they are {known}")
    return KernelClass


def _policy(table: dict[str, Any], own: dict[str, Any], kind: KernelClass) -> StabilityPolicy:
    changes = own.get(kind.value, {})
    strange = set(changes) - set(StabilityPolicy.model_fields)
    if strange:
        fields = ", ".join(StabilityPolicy.model_fields)
        raise ValueError(f"[{kind.value}] has no {', '.join(strange)}: there are {fields}")
    return StabilityPolicy.model_validate(table[kind.value] | changes)
