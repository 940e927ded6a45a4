"""CUDA C++ into C++ for g++: launches, shared memory, and words that mean something else there.

Everything is edited in place and on its own line, so a diagnostic's line is the candidate's.
"""

from collections.abc import Iterator

from cutegen.emulator.declarations import shared_edits
from cutegen.emulator.edit import Edit, apply
from cutegen.emulator.error import EmulationError
from cutegen.emulator.kernels import Kernel, find_kernels
from cutegen.emulator.launches import launch_edits
from cutegen.emulator.refusals import refuse_unsupported
from cutegen.emulator.scopes import inside_functions
from cutegen.emulator.tokens import Kind, Token, line_of, tokenize

# Words of the candidate only. CUTLASS must go on believing that it is compiled for a host,
# where these functions answer as if there were one thread.
_WORDS = {
    "__CUDA_ARCH__": "CUTEGEN_EMU_CUDA_ARCH",
    "__CUDACC__": "CUTEGEN_EMU_CUDACC",
    "__noinline__": "__attribute__((noinline))",
}
_DEVICE_FUNCTIONS = frozenset(
    {
        "thread0",
        "block0",
        "canonical_lane_idx",
        "canonical_warp_idx",
        "canonical_warp_idx_sync",
        "canonical_warp_group_idx",
    }
)


def rewrite(source: str) -> str:
    """Rewrite one candidate, lines kept.

    Raises:
        EmulationError: The source uses something that the emulator does not have.
    """
    tokens = tokenize(source)
    refuse_unsupported(source, tokens)
    kernels = list(find_kernels(source, tokens))
    _refuse_nested_launches(source, tokens, kernels)
    edits = [
        *_word_edits(tokens),
        *_bound_edits(tokens, kernels),
        *shared_edits(source, tokens, inside_functions(tokens)),
        *launch_edits(source, tokens),
    ]
    return apply(source, edits)


def _refuse_nested_launches(source: str, tokens: list[Token], kernels: list[Kernel]) -> None:
    for kernel in kernels:
        if kernel.opening is None:
            continue
        for token in tokens[kernel.opening : kernel.closing]:
            if token.text == "<<<":
                raise EmulationError(
                    line_of(source, token.start),
                    f"launches from a kernel (`{kernel.name}`)",
                    "launch every kernel from cutegen_launch",
                )


def _word_edits(tokens: list[Token]) -> Iterator[Edit]:
    for index, token in enumerate(tokens):
        if token.kind is not Kind.WORD:
            continue
        if token.text in _WORDS:
            yield Edit(token.start, token.end, _WORDS[token.text])
        elif token.text in _DEVICE_FUNCTIONS and _is_called(tokens, index):
            start = _qualified_start(tokens, index)
            yield Edit(start, token.end, f"::cutegen_emu::{token.text}")


def _is_called(tokens: list[Token], index: int) -> bool:
    return index + 1 < len(tokens) and tokens[index + 1].text == "("


def _qualified_start(tokens: list[Token], index: int) -> int:
    while index and tokens[index - 1].text == "::":
        index -= 1
        if index and tokens[index - 1].text in {"cute", "cutlass"}:
            index -= 1
    return tokens[index].start


def _bound_edits(tokens: list[Token], kernels: list[Kernel]) -> Iterator[Edit]:
    """The first statement of a kernel with launch bounds checks the block against them."""
    for kernel in kernels:
        if kernel.bounds and kernel.opening is not None:
            bounds = " ".join(kernel.bounds.split())
            end = tokens[kernel.opening].end
            yield Edit(end, end, f" ::cutegen_emu::check_launch_bounds({bounds});")
