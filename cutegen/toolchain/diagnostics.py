"""Compiler output as data: the first real error, the candidate's own line, no noise.

Three dialects are read: nvcc's front end (EDG), g++, and the back ends (ptxas, the linker).
An error inside a CuTe header is located at the line of the candidate that led there, which
both front ends name in their instantiation chain.
"""

import re
from collections.abc import Iterator, Sequence

from cutegen.toolchain.protocol import Diagnostic

_LIMIT = 8
_MESSAGE_LIMIT = 600

_EDG = re.compile(
    r"^(?P<file>[^\s(][^(]*)\((?P<line>\d+)\): (?:catastrophic )?error: (?P<message>.+)$"
)
_EDG_FRAME = re.compile(r"at line (?P<line>\d+)(?: of (?P<file>\S+))?")
_GCC = re.compile(
    r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? (?:fatal )?error: (?P<message>.+)$"
)
_GCC_FRAME = re.compile(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)?\s+required from")
_GCC_INCLUDED = re.compile(r"^(?:In file included| {4,}) +from (?P<file>[^:\s]+):(?P<line>\d+)")
_GCC_NOTE = re.compile(r"^[^\s:][^:]*:\d+:(?:\d+:)? note: (?P<note>.+)$")
_PTXAS = re.compile(r"^ptxas (?:error|fatal)\s*:\s*(?P<message>.+)$")
_LINKER = re.compile(r"(?P<message>undefined reference to .+|undefined symbol: .+)$")
_STATIC_ASSERT = re.compile(r"static[ _]assert(?:ion)? failed(?: with|:)? *(?P<text>.*)$")


def parse(output: str, source: str, candidate: str) -> tuple[Diagnostic, ...]:
    """Digest what a compiler said about a candidate.

    Args:
        output: Everything the build printed.
        source: The candidate's text, to quote its lines.
        candidate: The candidate's file name, as the compiler prints its end.

    Returns:
        At most eight errors, in the compiler's order; the first is the one to mend.
    """
    lines = output.splitlines()
    source_lines = source.splitlines()
    found: list[Diagnostic] = []
    for diagnostic in _errors(lines, candidate):
        quoted = _quote(diagnostic, source_lines)
        if quoted not in found:
            found.append(quoted)
        if len(found) == _LIMIT:
            break
    return tuple(found)


def _errors(lines: Sequence[str], candidate: str) -> Iterator[Diagnostic]:
    for index, line in enumerate(lines):
        if match := _EDG.match(line):
            yield _edg(match, lines[index + 1 :], candidate)
        elif match := _GCC.match(line):
            yield _gcc(match, lines, index, candidate)
        elif match := (_PTXAS.match(line) or _LINKER.search(line)):
            yield Diagnostic(severity="error", message=_bounded(match["message"]))


def _edg(error: re.Match[str], after: Sequence[str], candidate: str) -> Diagnostic:
    """An error of nvcc's front end; the frames that led there come after it."""
    own = int(error["line"]) if error["file"].endswith(candidate) else 0
    file = error["file"]
    for line in after:
        if _EDG.match(line) or line.startswith("Error limit reached"):
            break
        if frame := _EDG_FRAME.search(line):
            file = frame["file"] or file  # a frame without a file is in the one before it
            if file.endswith(candidate):
                own = int(frame["line"])
    return _diagnostic(error["message"], line=own)


def _gcc(error: re.Match[str], lines: Sequence[str], index: int, candidate: str) -> Diagnostic:
    """An error of g++; the frames that led there come before it, its notes after it."""
    column = int(error["column"] or 0)
    if error["file"].endswith(candidate):
        own = int(error["line"])
    else:
        own, column = _gcc_origin(lines, index, candidate), 0
    notes: list[str] = []
    for line in lines[index + 1 :]:
        if _GCC.match(line):
            break
        if note := _GCC_NOTE.match(line):
            notes.append(note["note"])
    return _diagnostic(error["message"], line=own, column=column, detail="; ".join(notes[:2]))


def _gcc_origin(lines: Sequence[str], index: int, candidate: str) -> int:
    """The candidate's line nearest before the error in an instantiation or include chain."""
    for line in reversed(lines[:index]):
        if _GCC.match(line):
            return 0
        frame = _GCC_FRAME.match(line) or _GCC_INCLUDED.match(line)
        if frame and frame["file"].endswith(candidate):
            return int(frame["line"])
    return 0


def _diagnostic(message: str, *, line: int, column: int = 0, detail: str = "") -> Diagnostic:
    if asserted := _STATIC_ASSERT.search(message):
        detail = asserted["text"].strip(' "') or detail
    return Diagnostic(
        severity="error",
        message=_bounded(message),
        line=line,
        column=column,
        detail=_bounded(detail),
    )


def _quote(diagnostic: Diagnostic, source_lines: Sequence[str]) -> Diagnostic:
    if not 1 <= diagnostic.line <= len(source_lines):
        return diagnostic
    text = source_lines[diagnostic.line - 1].strip()
    return diagnostic.model_copy(update={"source_line": text})


def _bounded(text: str) -> str:
    return text if len(text) <= _MESSAGE_LIMIT else text[:_MESSAGE_LIMIT] + " …"
