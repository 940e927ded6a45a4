"""What the tuner answers: a change of numbers, a few variants of one, or the structure back.

Besides a patch, and beside ``OUT_OF_IDEAS``, a reply may be::

    INTENT: one line, then EXPECTED: one line, and two to four of
    VARIANT: kThreads = 128, kStages = 4     named constants and their new numbers
    VARIANT: one line                        or edit blocks, where more must follow

    STRUCTURE: evidence                      no number cures what the profile shows
"""

import re

from cutegen.agents.reply import (
    MARKS,
    OutOfIdeas,
    Patch,
    ReplyError,
    clean,
    edits_in,
    field,
    parse_patch,
)
from cutegen.edits import Edit
from cutegen.frozen import Frozen

MOST_VARIANTS = 4

_VARIANT = re.compile(rf"^{MARKS}VARIANT(?: *\d+)?{MARKS}:", re.MULTILINE | re.IGNORECASE)
_NUMBER = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:=|:|->|→)\s*(\d+)\s*")


class Variant(Frozen):
    """One of several changes: new numbers for named constants, or edits."""

    label: str
    constants: dict[str, int] = {}
    edits: tuple[Edit, ...] = ()


class Variants(Frozen):
    """A few changes with one intent, of which the fastest is to be kept."""

    intent: str
    expected: str
    variants: tuple[Variant, ...]


class StructureAtFault(Frozen):
    """The tuner hands the structure back: what in the profile no number can cure."""

    evidence: str


def parse_tuning(text: str) -> Patch | Variants | StructureAtFault | OutOfIdeas:
    """Read a tuner's reply.

    Raises:
        ReplyError: It is none of these, or lacks an intent, evidence, or a variant's change.
    """
    text = clean(text)
    head, *parts = _VARIANT.split(text)
    if not parts:
        return _hand_back(text) or parse_patch(text)
    if len(parts) > MOST_VARIANTS:
        raise ReplyError(f"the reply has {len(parts)} variants; send at most {MOST_VARIANTS}")
    intent = field(head, "INTENT")
    if not intent:
        raise ReplyError("the reply has variants but no `INTENT:` line before them")
    return Variants(
        intent=intent,
        expected=field(head, "EXPECTED") or "",
        variants=tuple(map(_variant, parts)),
    )


def _hand_back(text: str) -> StructureAtFault | None:
    evidence = field(text, "STRUCTURE")
    if evidence is None or edits_in(text):
        return None
    if not evidence:
        raise ReplyError("`STRUCTURE:` names no evidence; write what the profile shows after it")
    return StructureAtFault(evidence=evidence)


def _variant(part: str) -> Variant:
    first, _, rest = part.partition("\n")
    label = first.strip(" \t*_`.;")
    edits = edits_in(rest)
    if edits:
        return Variant(label=label or "edits", edits=edits)
    numbers = [_NUMBER.fullmatch(item) for item in label.replace("`", "").split(",")]
    constants = {found[1]: int(found[2]) for found in numbers if found is not None}
    if len(constants) != len(numbers):
        raise ReplyError(
            f"`VARIANT: {label}` has no edit blocks below it and is no list `NAME = NUMBER, …` of "
            "named constants, each once"
        )
    return Variant(label=label, constants=constants)
