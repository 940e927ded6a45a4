"""``kernel<<<grid, block, smem, stream>>>(arguments)`` as a call that g++ understands."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from cutegen.emulator.edit import Edit
from cutegen.emulator.error import EmulationError
from cutegen.emulator.kernels import Kernel
from cutegen.emulator.tokens import (
    Kind,
    Token,
    line_of,
    matching,
    matching_backwards,
)

_QUALIFYING = frozenset({"::", ".", "->"})
_KEYWORDS = frozenset({"return", "else", "do", "and", "or", "not", "if", "while", "for", "switch"})


def launch_edits(source: str, tokens: list[Token], kernels: Sequence[Kernel]) -> Iterator[Edit]:
    """Edits for every launch of a source; ``kernels`` are those that it declares.

    The kernel is called in a closure, once per thread, with the arguments as written.

    Raises:
        EmulationError: A launch is malformed, or its arguments have side effects.
    """
    clusters = {kernel.name: kernel.cluster for kernel in kernels if kernel.cluster}
    for index, token in enumerate(tokens):
        if token.text == "<<<":
            yield from _one_launch(source, tokens, index, clusters)


def _one_launch(
    source: str, tokens: list[Token], opening: int, clusters: dict[str, str]
) -> Iterator[Edit]:
    line = line_of(source, tokens[opening].start)
    first = kernel_start(tokens, opening)
    closing = _configuration_end(tokens, opening)
    if first is None or closing is None:
        raise EmulationError(line, "this launch", "write it as name<<<grid, block>>>(arguments)")
    end = matching(tokens, closing + 1)
    if end is None:
        raise EmulationError(line, "a launch without its closing `)`", "close the argument list")
    _refuse_side_effects(source, tokens[closing + 1 : end])
    kernel = _flat(tokens[first:opening])
    head = source[tokens[first].start : tokens[opening].end]
    shown = kernel.replace("\\", "\\\\").replace('"', '\\"')
    breaks = "\\\n" if "\\\n" in head else "\n"  # a launch in a macro keeps its continuations
    yield Edit(
        tokens[first].start,
        tokens[opening].end,
        f'::cutegen_emu::Launch("{shown}", ' + breaks * head.count("\n"),
    )
    call = tokens[closing + 1]
    names = (token.text for token in tokens[first:opening] if token.text in clusters)
    shape = "".join(f".cluster({clusters[name]})" for name in names)
    yield Edit(tokens[closing].start, tokens[closing].end, f"){shape}.run([&] {{ " + kernel)
    yield Edit(call.start, call.end, "(")
    yield Edit(tokens[end].start, tokens[end].end, "); })")


def kernel_start(tokens: list[Token], opening: int) -> int | None:
    """Index of the first token of the expression that names what ``<<<``, or ``(``, calls."""
    index = opening - 1
    while (start := _piece_start(tokens, index)) is not None:
        if not start or tokens[start - 1].text not in _QUALIFYING:
            return start
        qualifier = start - 1
        if not qualifier or not _ends_piece(tokens[qualifier - 1]):
            return qualifier if tokens[qualifier].text == "::" else None
        index = qualifier - 1
    return None


def _piece_start(tokens: list[Token], index: int) -> int | None:
    """First token of what ends at ``index``: a name with its suffixes, or a parenthesis."""
    if index >= 0 and tokens[index].text in {")", "]"}:
        start = matching_backwards(tokens, index)
        if start is None:
            return None
        called = start and (tokens[index].text == "]" or _ends_piece(tokens[start - 1]))
        return _piece_start(tokens, start - 1) if called else start
    name: int | None = index
    if index >= 0 and tokens[index].text in {">", ">>>"}:
        name = _template_start(tokens, index)
    if name is None or name < 0 or tokens[name].kind is not Kind.WORD:
        return None
    return name - 1 if name and tokens[name - 1].text == "template" else name


def _ends_piece(token: Token) -> bool:
    if token.kind is Kind.WORD:
        return token.text not in _KEYWORDS
    return token.text in {">", ">>>", "]"}


def _template_start(tokens: list[Token], closing: int) -> int | None:
    """Index of the name whose template argument list ends at ``closing``."""
    depth = 0
    index = closing
    while index >= 0:
        text = tokens[index].text
        if text in {")", "]", "}"}:
            start = matching_backwards(tokens, index)
            if start is None:
                return None
            index = start - 1
            continue
        if text in {";", "{", "("}:
            return None
        if text in {">", ">>>"}:
            depth += len(text)
        elif text == "<":
            depth -= 1
            if depth == 0:
                return index - 1
        index -= 1
    return None


def _configuration_end(tokens: list[Token], opening: int) -> int | None:
    """Index of the ``>>>`` that ends the configuration, outside all brackets."""
    index = opening + 1
    while index < len(tokens) - 1:
        text = tokens[index].text
        if text in {"(", "[", "{"}:
            end = matching(tokens, index)
            if end is None:
                return None
            index = end
        elif text == ";":
            return None
        elif text == ">>>" and tokens[index + 1].text == "(":
            return index
        index += 1
    return None


def _refuse_side_effects(source: str, arguments: list[Token]) -> None:
    for first, second in pairwise(arguments):
        if first.text == second.text and first.text in {"+", "-"} and first.end == second.start:
            raise EmulationError(
                line_of(source, first.start),
                f"side effects in a launch (`{first.text}{second.text}`)",
                "change the variable before the launch, then pass it",
            )


def _flat(tokens: list[Token]) -> str:
    """The tokens on one line, without comments."""
    text = ""
    for token in tokens:
        both_words = (
            bool(text) and (text[-1].isalnum() or text[-1] == "_") and token.kind is Kind.WORD
        )
        text += (" " if both_words else "") + token.text
    return text
