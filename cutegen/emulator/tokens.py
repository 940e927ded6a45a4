"""A tolerant lexer for CUDA C++: positions of tokens, with comments and strings out of the way.

It never fails: what it does not know is a token of one character. A parser would know more
and break on more; candidates are written by models.
"""

import re
from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """What a token is."""

    WORD = "word"
    NUMBER = "number"
    TEXT = "text"
    MARK = "mark"
    DIRECTIVE = "directive"


class Token(NamedTuple):
    """A token, and where it stands in the source: ``source[start:end] == text``."""

    kind: Kind
    text: str
    start: int
    end: int


# A directive whose line is no code: the tokens of the others (`#define`, `#if`) are read on.
_DIRECTIVE = r"^[ \t]*\#[ \t]*(?:include|error|warning|pragma|line)\b(?:\\\r?\n|[^\n])*"
_PATTERN = re.compile(
    rf"""
      (?P<skip> \s+ | \\\r?\n | //(?:\\\r?\n|[^\n])* | /\*.*?(?:\*/|\Z) )
    | (?P<directive> {_DIRECTIVE} )
    | (?P<text> (?:u8|[uUL])?R"(?P<fence>[^\s()\\]{{0,16}})\(.*?\)(?P=fence)"
              | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*"
              | (?:u8|[uUL])?'(?:\\.|[^'\\\n])+' )
    | (?P<number> \.?[0-9](?:[eEpP][+-]|'?[A-Za-z0-9_.])* )
    | (?P<word> [A-Za-z_$][A-Za-z0-9_$]* )
    | (?P<mark> <<<|>>>|::|->|. )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPENING = {close: open_ for open_, close in _CLOSING.items()}


def tokenize(source: str) -> list[Token]:
    """Every token of ``source`` in order; comments and white space are left out."""
    tokens = []
    for match in _PATTERN.finditer(source):
        group = match.lastgroup if match.lastgroup != "fence" else "text"
        if group is not None and group != "skip":
            tokens.append(Token(Kind(group), match.group(), match.start(), match.end()))
    return tokens


def matching(tokens: list[Token], opening: int) -> int | None:
    """Index of the bracket that closes ``tokens[opening]``, or None."""
    depth = 0
    for index in range(opening, len(tokens)):
        text = tokens[index].text
        depth += (text in _CLOSING) - (text in _OPENING)
        if depth == 0:
            return index
    return None


def matching_backwards(tokens: list[Token], closing: int) -> int | None:
    """Index of the bracket that opens what ``tokens[closing]`` closes, or None."""
    depth = 0
    for index in range(closing, -1, -1):
        text = tokens[index].text
        depth += (text in _OPENING) - (text in _CLOSING)
        if depth == 0:
            return index
    return None


def line_of(source: str, position: int) -> int:
    """The line, from 1, of a position."""
    return source.count("\n", 0, position) + 1
