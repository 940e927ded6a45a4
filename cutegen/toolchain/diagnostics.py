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
_EDG_FRAME = re.compile(r"^ {6,}\S.* at line (?P<line>\d+)(?: of (?P<file>.+))?$")
_EDG_TYPES = re.compile(r"^ {6,}(?P<types>(?:argument|operand) types are: .+)$")
_GCC = re.compile(
    r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? (?:fatal )?error: (?P<message>.+)$"
)
_GCC_FRAME = re.compile(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)?\s+required from")
_GCC_INCLUDED = re.compile(r"^(?:In file included| {4,}) +from (?P<file>[^:\s]+):(?P<line>\d+)")
_GCC_ANY = re.compile(r"^[^\s:][^:]*:\d+:(?:\d+:)? (?:fatal error|error|warning|note): ")
_GCC_NOTE = re.compile(r"^[^\s:][^:]*:\d+:(?:\d+:)? note: +(?P<note>.+)$")
_CRASH = re.compile(r"^nvcc error\s*: (?P<message>.+)$")
_PTXAS = re.compile(r"^ptxas (?:\S+, line \d+; )?(?:error|fatal)\s*:\s*(?P<message>.+)$")
# notes of g++ that list what was tried and say nothing of why it did not fit
_GCC_NOISE = ("candidate: ", "template argument deduction", "in definition of macro")
_PTXAS_ECHO = "Ptx assembly aborted due to errors"
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
    # not splitlines(): compilers count newlines only, and it splits at form feeds and more
    lines = output.split("\n")
    source_lines = source.split("\n")
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
        if line.endswith(_PTXAS_ECHO):
            continue
        if match := _EDG.match(line):
            yield _edg(match, lines[index + 1 :], candidate)
        elif match := _GCC.match(line):
            yield _gcc(match, lines, index, candidate)
        elif match := (_PTXAS.match(line) or _LINKER.search(line) or _CRASH.match(line)):
            yield Diagnostic(severity="error", message=_bounded(match["message"]))


def _edg(error: re.Match[str], after: Sequence[str], candidate: str) -> Diagnostic:
    """An error of nvcc's front end; the frames that led there come after it, innermost first.

    A frame names no file when it is in the file of the error.
    """
    own = int(error["line"]) if error["file"].endswith(candidate) else 0
    detail = ""
    for line in after:
        if not line or _EDG.match(line):
            break
        if types := _EDG_TYPES.match(line):
            detail = types["types"]
        frame = _EDG_FRAME.match(line)
        if frame and not own and (frame["file"] or error["file"]).endswith(candidate):
            own = int(frame["line"])
    return _diagnostic(error["message"], line=own, detail=detail)


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
        note = _GCC_NOTE.match(line)
        if note and not note["note"].startswith(_GCC_NOISE):
            notes.append(note["note"])
    return _diagnostic(error["message"], line=own, column=column, detail="; ".join(notes[:2]))


def _gcc_origin(lines: Sequence[str], index: int, candidate: str) -> int:
    """The candidate's line in the chain before the error; the innermost, so the last one found.

    Going up from the error, the chain runs from the outermost frame to the innermost, and
    then through the includes, which count only when no frame is the candidate's.
    """
    own = 0
    for line in reversed(lines[:index]):
        if _GCC_ANY.match(line):
            break
        frame = _GCC_FRAME.match(line) or (None if own else _GCC_INCLUDED.match(line))
        if frame and frame["file"].endswith(candidate):
            own = int(frame["line"])
    return own


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
