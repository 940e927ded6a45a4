"""Calls that lead into CUTLASS say on which line they stand.

What goes wrong several calls deep in a header is then reported with the candidate's line:
``copy(tma.with(bar), a, b)`` becomes ``(::cutegen_emu::here(12), copy(tma.with(bar), a, b))``.
"""

from collections.abc import Iterator

from cutegen.emulator.edit import Edit
from cutegen.emulator.launches import kernel_start
from cutegen.emulator.tokens import Kind, Token, line_of, matching

_CALLS = frozenset(
    {
        *("copy", "gemm", "cooperative_copy", "cooperative_gemm"),
        *("producer_acquire", "producer_try_acquire", "producer_commit", "producer_tail"),
        *("producer_expect_transaction", "producer_get_barrier"),
        *("consumer_wait", "consumer_try_wait", "consumer_test_wait", "consumer_release"),
    }
)
# What stands before an expression. A declaration of such a name has a type there.
_BEFORE = frozenset({";", "{", "}", "(", ")", ",", "=", "!", "?", ":", "return", "else", "do"})
_AFTER = frozenset({";", ")", ",", ".", "?", ":"})


def caller_edits(source: str, tokens: list[Token]) -> Iterator[Edit]:
    """Edits round every call of a function in ``_CALLS``."""
    for index, token in enumerate(tokens):
        if token.kind is not Kind.WORD or token.text not in _CALLS:
            continue
        if index + 1 >= len(tokens) or tokens[index + 1].text != "(":
            continue
        start, end = kernel_start(tokens, index + 1), matching(tokens, index + 1)
        if not start or end is None or tokens[start - 1].text not in _BEFORE:
            continue
        if end + 1 < len(tokens) and tokens[end + 1].text not in _AFTER:
            continue
        line = line_of(source, token.start)
        yield Edit(tokens[start].start, tokens[start].start, f"(::cutegen_emu::here({line}), ")
        yield Edit(tokens[end].end, tokens[end].end, ")")
