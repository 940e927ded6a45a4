"""``kernel<<<grid, block, smem, stream>>>(arguments)`` as a call that g++ understands."""

from collections.abc import Iterator
from itertools import pairwise

from cutegen.emulator.edit import Edit
from cutegen.emulator.error import EmulationError
from cutegen.emulator.tokens import (
    Kind,
    Token,
    line_of,
    matching,
    matching_backwards,
)

_QUALIFYING = frozenset({"::", ".", "->"})


def launch_edits(source: str, tokens: list[Token]) -> Iterator[Edit]:
    """Edits for every launch of a source.

    The kernel is called in a closure, once per thread, with the arguments as written.

    Raises:
        EmulationError: A launch is malformed, or its arguments have side effects.
    """
    for index, token in enumerate(tokens):
        if token.text == "<<<":
            yield from _one_launch(source, tokens, index)


def _one_launch(source: str, tokens: list[Token], opening: int) -> Iterator[Edit]:
    line = line_of(source, tokens[opening].start)
    first = _kernel_start(tokens, opening)
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
    yield Edit(tokens[closing].start, tokens[closing].end, ").run([&] { " + kernel)
    yield Edit(call.start, call.end, "(")
    yield Edit(tokens[end].start, tokens[end].end, "); })")


def _kernel_start(tokens: list[Token], opening: int) -> int | None:
    """Index of the first token of the expression that names the kernel before ``<<<``."""
    index: int | None = opening - 1
    while index is not None and index >= 0:
        if tokens[index].text in {">", ">>>"}:
            index = _template_start(tokens, index)
            if index is None:
                return None
        elif tokens[index].text in {")", "]"}:
            start = matching_backwards(tokens, index)
            if start is None:
                return None
            before = tokens[start - 1] if start else None
            if tokens[index].text == ")" and not (
                before and before.kind is Kind.WORD and before.text not in {"return", "else", "do"}
            ):
                return start  # a parenthesised expression begins here
            index = start - 1
            continue
        if tokens[index].kind is not Kind.WORD:
            return None
        if index and tokens[index - 1].text == "template":
            index -= 1
        if not index or tokens[index - 1].text not in _QUALIFYING:
            return index
        index -= 1  # the qualifier; what it qualifies comes next
        if (
            not index
            or tokens[index - 1].kind is not Kind.WORD
            and tokens[index - 1].text
            not in {
                ">",
                ")",
                "]",
            }
        ):
            return index if tokens[index].text == "::" else None
        index -= 1
    return None


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
                f"a launch whose arguments use `{first.text}{second.text}`",
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
