"""``__shared__`` declarations as references to storage of the block.

A declarator means the same in a ``typedef``, so the type need not be understood:
``__shared__ T x[4], y;`` becomes ``typedef T x_type[4], y_type; x_type& x = ...; ...``.
"""

from collections.abc import Iterator, Sequence

from cutegen.emulator.edit import Edit
from cutegen.emulator.error import EmulationError
from cutegen.emulator.tokens import Kind, Token, line_of, matching

_STATEMENT_ENDS = frozenset({";", "{", "}", ":"})
_ALIGNMENTS = frozenset({"alignas", "__align__", "__attribute__"})
_REMOVED = frozenset({"extern", "static", "__shared__"})
_OPEN = frozenset({"(", "[", "{"})
_CLOSE = frozenset({")", "]", "}"})
_SUFFIX = "_cutegen_shared"


def shared_edits(source: str, tokens: list[Token], inside: Sequence[bool]) -> Iterator[Edit]:
    """Edits for every ``__shared__`` declaration; ``inside`` is from ``inside_functions``.

    Raises:
        EmulationError: A declaration has an initializer, or declares nothing.
    """
    for index, token in enumerate(tokens):
        if token.kind is Kind.WORD and token.text == "__shared__":
            yield from _one_declaration(source, tokens, index, function_scope=inside[index])


def _one_declaration(
    source: str, tokens: list[Token], index: int, *, function_scope: bool
) -> Iterator[Edit]:
    line = line_of(source, tokens[index].start)
    first, last = _statement(tokens, index)
    if last is None:
        raise EmulationError(line, "a __shared__ declaration without its `;`", "end it with `;`")
    if any(token.text == "#" for token in tokens[first:last]):
        raise EmulationError(
            line, "a __shared__ declaration in a macro", "write the declaration out in the kernel"
        )
    kept, alignment = _without_specifiers(source, tokens, first, last)
    names = list(_declared_names([tokens[i] for i in kept], line))
    dynamic = any(tokens[i].text == "extern" for i in range(first, last))
    kept_set = set(kept)
    for position in range(first, last):
        if position not in kept_set:
            yield Edit(tokens[position].start, tokens[position].end, "")
    # The first token may itself be removed; an edit at its start keeps its place before it.
    yield Edit(tokens[first].start, tokens[first].start, "typedef ")
    for name in names:
        yield Edit(name.end, name.end, _SUFFIX)
    yield Edit(
        tokens[last].end,
        tokens[last].end,
        "".join(
            _reference(name.text, alignment, dynamic=dynamic, function_scope=function_scope)
            for name in names
        ),
    )


def _reference(name: str, alignment: str, *, dynamic: bool, function_scope: bool) -> str:
    kind = f"{name}{_SUFFIX}"
    if function_scope:
        call = (
            f"::cutegen_emu::dynamic_shared<{kind}>()"
            if dynamic
            else f"::cutegen_emu::shared<{kind}>([] {{}}{', ' + alignment if alignment else ''})"
        )
        return f" {kind}& {name} = {call};"
    call = (
        f"::cutegen_emu::dynamic_shared_global<{kind}>()"
        if dynamic
        else f"::cutegen_emu::shared_global<{kind}>({alignment})"
    )
    return f" static thread_local {kind}& {name} = {call};"


def _statement(tokens: list[Token], index: int) -> tuple[int, int | None]:
    """First token of the statement around ``index``, and its semicolon."""
    first = index
    while first and not _ends_statement(tokens[first - 1]):
        first -= 1
    position = index
    while position < len(tokens):
        if tokens[position].text == ";":
            return first, position
        if tokens[position].text in _OPEN:
            end = matching(tokens, position)
            if end is None:
                return first, None
            position = end
        position += 1
    return first, None


def _ends_statement(token: Token) -> bool:
    return token.text in _STATEMENT_ENDS or token.kind is Kind.DIRECTIVE


def _without_specifiers(
    source: str, tokens: list[Token], first: int, last: int
) -> tuple[list[int], str]:
    """Indices of the tokens of type and declarators, and the text of the alignment."""
    kept: list[int] = []
    alignment = ""
    index = first
    while index < last:
        text = tokens[index].text
        if text in _ALIGNMENTS and tokens[index + 1].text == "(":
            end = matching(tokens, index + 1) or index + 1
            inner = source[tokens[index + 1].end : tokens[end].start]
            if text != "__attribute__":
                alignment = _alignment_value(inner)
            elif "aligned" in inner:
                alignment = inner.split("aligned", 1)[1].strip("()_ \t") or "16"
            index = end
        elif text not in _REMOVED:
            kept.append(index)
        index += 1
    return kept, alignment


def _alignment_value(inner: str) -> str:
    """``alignas`` takes a type as well as a number."""
    return inner if inner.strip()[:1].isdigit() else f"::cutegen_emu::alignment<{inner}>()"


def _declared_names(declaration: list[Token], line: int) -> Iterator[Token]:
    """The declared identifiers: the last word of each declarator outside all brackets."""
    name: Token | None = None
    for token in _outside_brackets(declaration):
        if token.text == "=":
            raise EmulationError(
                line,
                "an initialized __shared__ variable",
                "declare it without a value and let threads assign it, then __syncthreads()",
            )
        if token.text == "," and name:
            yield name
            name = None
        elif token.kind is Kind.WORD:
            name = token
    if name is None:
        raise EmulationError(line, "a __shared__ declaration without a name", "name the variable")
    yield name


def _outside_brackets(tokens: list[Token]) -> Iterator[Token]:
    """The tokens outside of every bracket and template argument list."""
    depth = angles = 0
    previous: Token | None = None
    for token in tokens:
        if token.text in _OPEN:
            depth += 1
        elif token.text in _CLOSE:
            depth -= 1
        elif not depth and token.text == "<" and previous and previous.kind is Kind.WORD:
            angles += 1
        elif not depth and angles and token.text in {">", ">>>"}:
            angles -= len(token.text)
        elif not depth and not angles:
            yield token
        previous = token
