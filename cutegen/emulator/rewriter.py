"""CUDA C++ into C++ for g++: launches, shared memory, and words that mean something else there.

Everything is edited in place and on its own line, so a diagnostic's line is the candidate's.
"""

import re
from collections.abc import Iterator

from cutegen.emulator.callers import caller_edits
from cutegen.emulator.declarations import shared_edits
from cutegen.emulator.edit import Edit, apply
from cutegen.emulator.error import EmulationError
from cutegen.emulator.kernels import Kernel, find_kernels
from cutegen.emulator.launches import launch_edits
from cutegen.emulator.mentions import mention_edits
from cutegen.emulator.products import product_edits
from cutegen.emulator.refusals import refuse_unsupported
from cutegen.emulator.scopes import inside_functions
from cutegen.emulator.tokens import Kind, Token, line_of, tokenize

# Words of the candidate only. CUTLASS must go on believing that it is compiled for a host, as its
# branches for a device hold PTX.
_WORDS = {
    "__CUDA_ARCH__": "CUTEGEN_EMU_CUDA_ARCH",
    "__CUDACC__": "CUTEGEN_EMU_CUDACC",
    "__noinline__": "__attribute__((noinline))",
}
_ENABLED = re.compile(
    r"__CUDA_ARCH_FEAT_SM90_ALL|CUTLASS_ARCH_MMA_SM(?:[78]\d|90A?)_ENABLED"
    r"|CUTE_ARCH_\w+_SM(?:[78]\d|90A?)_ENABLED"
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
        *product_edits(source, tokens),
        *shared_edits(source, tokens, inside_functions(tokens)),
        *launch_edits(source, tokens, kernels),
        *mention_edits(source, tokens, kernels),
        *caller_edits(source, tokens),
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
    for token in tokens:
        if token.kind is not Kind.WORD:
            continue
        if token.text in _WORDS:
            yield Edit(token.start, token.end, _WORDS[token.text])
        elif _ENABLED.fullmatch(token.text):
            yield Edit(token.start, token.end, "CUTEGEN_EMU_CUDACC")


def _bound_edits(tokens: list[Token], kernels: list[Kernel]) -> Iterator[Edit]:
    """The first statement of a kernel with launch bounds checks the block against them."""
    for kernel in kernels:
        if kernel.bounds and kernel.opening is not None:
            bounds = " ".join(kernel.bounds.split())
            end = tokens[kernel.opening].end
            yield Edit(end, end, f" ::cutegen_emu::check_launch_bounds({bounds});")
