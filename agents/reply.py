"""What agents answer, and how the text of a chat model becomes it.

The reply format is plain text, since not every server offers tools or JSON modes::

    INTENT: one line                       optimizers, repairer, synthesizer
    EXPECTED: one line                     optimizers
    ```cuda … ```                          a whole kernel (synthesizer only), or in tags
    <<<<<<< SEARCH … ======= … >>>>>>> REPLACE     anchored edits
    CAUSE: … / LINE: … / CHANGE: …         a diagnosis, most likely cause first
    OUT_OF_IDEAS: reason                   an optimizer has nothing to propose
    VARIANT: … / STRUCTURE: …              the tuner's own (``tuning_reply``)
    UNSUPPORTED: operation: reason         the synthesizer cannot write this kernel
"""

import re
from collections.abc import Sequence

from cutegen.agents.request import Cause
from cutegen.edits import Edit
from cutegen.frozen import Frozen

REQUEST_KEY = "cutegen_request"
"""Key of ``HumanMessage.additional_kwargs`` under which the request's JSON travels."""

_FENCE = re.compile(
    r"^[ \t]*(`{3,})[ \t]*([\w+-]*)[^\n`]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL
)
_EDIT = re.compile(
    r"^<{5,9} ?SEARCH[ \t]*\n(.*?)^={5,9}[ \t]*\n(.*?)^>{5,9} ?REPLACE[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_EDIT_BEGINS = re.compile(r"^<{5,9} ?SEARCH", re.MULTILINE)
_ENTRY = re.compile(r"\bcutegen_launch\s*\([^;{]*\{")  # its definition; the header declares it
_DIFF = re.compile(r"^@@ -\d", re.MULTILINE)
# <think> (DeepSeek, Qwen and others), [THINK] (Mistral), ◁think▷ (Kimi), <reasoning> (by prompt)
_BEGINS, _ENDS = (
    rf"(?:<{slash}(?:think(?:ing)?|reasoning)>|\[{slash}THINK\]|◁{slash}think▷)"
    for slash in ("", "/")
)
_REASONING = re.compile(rf"{_BEGINS}.*?{_ENDS}", re.DOTALL)
# A file in tags instead of a fence, each tag alone on its line.
_TAGGED = re.compile(
    r"^[ \t]*<(kernel|cuda|code|file|source|answer)(?: [^>\n]*)?>[ \t]*\n(.*?)^[ \t]*</\1>[ \t]*$",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
# Some servers cut the opening tag away, and a reply cut at its limit has no closing one.
_HALF_REASONING = re.compile(rf"\A.*{_ENDS}|{_BEGINS}.*\Z", re.DOTALL)
MARKS = r"[ \t>*_#`-]*"
_CHANGE = re.compile(rf"^{MARKS}CHANGE{MARKS}:", re.MULTILINE | re.IGNORECASE)
_CAUSE = re.compile(
    rf"^{MARKS}(?:\d+[.)] *)?{MARKS}CAUSE(?: *\d+)?{MARKS}:", re.MULTILINE | re.IGNORECASE
)
_PARAGRAPH_ENDS = re.compile(
    rf"\s*$|{MARKS}(?:LINE|CHANGE|OUT_OF_IDEAS){MARKS}:|[ \t]*```", re.IGNORECASE
)
_CUDA = {"", "cuda", "cu", "cpp", "c++", "cxx", "c"}


class WholeKernel(Frozen):
    """The synthesizer's answer: a complete source."""

    intent: str
    source: str


class Patch(Frozen):
    """A repairer's or an optimizer's answer: one intent, anchored edits."""

    intent: str
    expected: str = ""
    edits: tuple[Edit, ...]


class Diagnosis(Frozen):
    """The diagnostician's answer: ranked causes."""

    causes: tuple[Cause, ...]


class OutOfIdeas(Frozen):
    """An optimizer has nothing left to propose, and says why."""

    reason: str


class Unsupported(Frozen):
    """A synthesizer cannot write this kernel, and names the operation."""

    operation: str
    reason: str


class ReplyError(ValueError):
    """A reply does not parse; the message quotes the fault for the one re-ask."""


def parse_kernel(text: str) -> WholeKernel | Unsupported:
    """Read a synthesizer's reply.

    Raises:
        ReplyError: No block defines ``cutegen_launch``, several different ones do, or there
            are edits instead.
    """
    text = clean(text)
    if _EDIT_BEGINS.search(text):
        raise ReplyError("the reply holds SEARCH/REPLACE blocks; send the whole file instead")
    bodies = [body for _, language, body in _FENCE.findall(text) if language.lower() in _CUDA]
    if not any(map(_ENTRY.search, bodies)):
        bodies += [body for _, body in _TAGGED.findall(text)]
    whole = list(dict.fromkeys(body for body in bodies if _ENTRY.search(body)))
    if not whole:
        if (refusal := field(text, "UNSUPPORTED")) is not None:
            operation, _, reason = refusal.partition(": ")
            return Unsupported(operation=operation.strip(), reason=reason.strip() or "not said")
        raise ReplyError(_why_no_kernel(text, bodies))
    if len(whole) > 1:
        raise ReplyError(
            f"the reply holds {len(whole)} blocks that could be the kernel; send exactly one"
        )
    return WholeKernel(intent=field(text, "INTENT") or "first kernel", source=whole[0])


def parse_patch(text: str) -> Patch | OutOfIdeas:
    """Read an optimizer's or a repairer's reply.

    Raises:
        ReplyError: No edit block, an unfinished one, a whole file instead, or no intent.
    """
    text = clean(text)
    edits = edits_in(text)
    if not edits:
        if (refusal := parse_refusal(text)) is not None:
            return refusal
        raise ReplyError(_why_no_edits(text))
    intent = field(text, "INTENT")
    if not intent:
        raise ReplyError("the reply has edits but no `INTENT:` line that says what they are for")
    return Patch(intent=intent, expected=field(text, "EXPECTED") or "", edits=edits)


def parse_diagnosis(text: str) -> Diagnosis | OutOfIdeas:
    """Read a diagnostician's reply: each CAUSE with the LINE and CHANGE that follow it.

    Raises:
        ReplyError: There is no CAUSE line, or one of them says nothing.
    """
    text = clean(text)
    parts = _CAUSE.split(text)
    if len(parts) == 1:
        if (refusal := parse_refusal(text)) is not None:
            return refusal
        raise ReplyError("the reply names no cause; write at least one line `CAUSE: …`")
    return Diagnosis(causes=tuple(_cause(part) for part in parts[1:]))


def edits_in(text: str) -> tuple[Edit, ...]:
    """The edit blocks of a text; none where there is no whole one.

    Raises:
        ReplyError: Some are whole, and others are not.
    """
    edits = tuple(Edit(search=search, replace=replace) for search, replace in _EDIT.findall(text))
    if edits and len(edits) != len(_EDIT_BEGINS.findall(text)):
        raise ReplyError(
            "a SEARCH block has no ======= or no >>>>>>> REPLACE line after it; close every block"
        )
    return edits


def parse_refusal(text: str) -> OutOfIdeas | None:
    """Whether an agent says that it has nothing to propose."""
    reason = field(text, "OUT_OF_IDEAS")
    return None if reason is None else OutOfIdeas(reason=reason or "not said")


def _cause(part: str) -> Cause:
    cause = _paragraph(part)
    if not cause:
        raise ReplyError("a `CAUSE:` line says nothing; write the cause after the colon")
    line = re.search(r"\d+", field(part, "LINE") or "")
    change = _CHANGE.split(part, maxsplit=1)
    return Cause(
        cause=cause,
        line=int(line.group()) if line else 0,
        smallest_change=_paragraph(change[1]) if len(change) > 1 else "",
    )


def _paragraph(text: str) -> str:
    """The lines up to an empty one, the next field or a fence, joined: models wrap them."""
    lines = text.lstrip(" \t\n*_").split("\n")
    ends = (index for index, line in enumerate(lines) if _PARAGRAPH_ENDS.match(line))
    taken = lines[: next(ends, len(lines))]
    return " ".join(line.strip() for line in taken).strip(" *_")


def clean(text: str) -> str:
    """Plain line ends, no reasoning text.

    Raises:
        ReplyError: Nothing is left.
    """
    cleaned = _HALF_REASONING.sub("", _REASONING.sub("", text.replace("\r\n", "\n")))
    if not cleaned.strip():
        raise ReplyError(
            "the reply is reasoning only; write the answer after it"
            if text.strip()
            else "the reply is empty"
        )
    return cleaned if cleaned.endswith("\n") else cleaned + "\n"


def field(text: str, name: str) -> str | None:
    """The rest of the first line that starts with ``NAME:``, bold or quoted or not."""
    found = re.search(rf"^{MARKS}{name}{MARKS}:(.*)$", text, re.MULTILINE | re.IGNORECASE)
    return found.group(1).strip(" \t*_") if found else None


def _why_no_kernel(text: str, bodies: Sequence[str]) -> str:
    if bodies:
        return "no ```cuda block defines `cutegen_launch`; send the whole file in one block"
    if "```" in text:
        return "the ```cuda block is not closed, so the reply may have been cut; send it whole"
    return "the reply holds no ```cuda block with the whole kernel"


def _why_no_edits(text: str) -> str:
    if "SEARCH" in text:
        return (
            "the edit block is incomplete: it needs the lines <<<<<<< SEARCH, =======, and "
            ">>>>>>> REPLACE, each alone on its line"
        )
    if _DIFF.search(text):
        return "the reply is a unified diff; send SEARCH/REPLACE blocks, without line numbers"
    if _ENTRY.search(text):
        return "the reply is a whole file; send only SEARCH/REPLACE blocks for what changes"
    return "the reply holds no SEARCH/REPLACE block"
