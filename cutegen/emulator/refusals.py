"""What the emulator refuses rather than runs wrongly.

CUTLASS compiles most device-only code on the host too, as nothing at all or as a failing
assertion; so a silent wrong answer is the alternative to each entry here.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from cutegen.emulator.error import EmulationError
from cutegen.emulator.tokens import Kind, Token, line_of

_ON_A_GPU = "judge this candidate with `--executor cuda`"
_SIMT = f"use the atoms of SM80 (or of SM90: TMA, wgmma), or {_ON_A_GPU}"
_SHIMS = Path(__file__).parent / "include"

_WORDS: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern), what, advice)
    for pattern, what, advice in (
        (
            r"SM1\d\d(_\w+)?|SM90_\w*(SPARSE|IM2COL)\w*",
            "architecture-specific atoms",
            _SIMT,
        ),
        (
            r"__pipeline_\w+|cp_async_bulk_\w+",
            "asynchronous copies by CUDA's own functions",
            f"use cute's SM80_CP_ASYNC_* atoms, cp_async_fence and cp_async_wait, or {_ON_A_GPU}",
        ),
        (r"wmma|nvcuda", "the WMMA interface", _SIMT),
        (
            r"__mbarrier_\w+",
            "CUDA's own barriers",
            f"use cutlass::arch::ClusterBarrier, or {_ON_A_GPU}",
        ),
        (
            r"cooperative_groups|cudaLaunchCooperativeKernel",
            "cooperative groups",
            f"use __syncthreads(), __syncwarp() and __shfl_*_sync, or {_ON_A_GPU}",
        ),
        (
            r"cu(Init|(Launch|Module|Library|Kernel|Mem|Ctx|Stream|Event|Func|Link|Graph)[A-Z]\w*)",
            "calls of the CUDA driver",
            f"use the runtime's functions (cudaMemsetAsync, <<<...>>>), or {_ON_A_GPU}",
        ),
        (
            r"cudaTextureObject_t|cudaCreate(Texture|Surface)Object|cudaSurfaceObject_t|tex[123]D\w*|surf[123]D\w*",
            "textures and surfaces",
            f"read global memory through plain pointers, or {_ON_A_GPU}",
        ),
        (
            r"__(f(add|sub|mul|div|maf|rcp|sqrt)|d(add|sub|mul|div|rcp|sqrt)|fma)_r[zud]",
            "arithmetic with directed rounding",
            f"round to nearest (_rn), or {_ON_A_GPU}",
        ),
        (r"cudaGraph\w*", "CUDA graphs", f"launch on a->stream, or {_ON_A_GPU}"),
    )
)

# Headers of the toolkit, as far as the emulator has no file of that name, and those of CUTLASS
# that hold PTX or whole kernels.
_TOOLKIT = re.compile(
    r"(cuda|cccl|cub|thrust|cooperative_groups|curand|cublas|cudnn|cufft|cusolver|cusparse|nv"
    r"|mma\.h|crt|device_|math_functions|sm_\d+_|texture_|surface_|torch|ATen|c10)"
)
_DEVICE_ONLY = re.compile(
    r"cutlass/(arch(?!/(barrier|config|reg_reconfig)\.h)|conv|device_kernel|epilogue|gemm"
    r"|pipeline(?!/(sm90_)?pipeline\.hpp)|reduction|transform)\b"
)
_INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)')


def refuse_unsupported(source: str, tokens: Sequence[Token]) -> None:
    """Look through a whole source.

    Raises:
        EmulationError: It uses something outside the emulator's set.
    """
    for index, token in enumerate(tokens):
        line = line_of(source, token.start)
        if token.kind is Kind.DIRECTIVE:
            _check_include(token.text, line)
        elif token.kind is Kind.WORD:
            if token.text in {"asm", "__asm__", "__asm"}:
                _check_asm(tokens, index, line)
            for pattern, what, advice in _WORDS:
                if pattern.fullmatch(token.text):
                    raise EmulationError(line, f"{what} (`{token.text}`)", advice)


def _check_include(directive: str, line: int) -> None:
    match = _INCLUDE.match(directive)
    if not match:
        return
    header = match.group(1)
    missing = _TOOLKIT.match(header) and not (_SHIMS / header).is_file()
    if missing or _DEVICE_ONLY.match(header):
        raise EmulationError(
            line, f"what <{header}> declares", f"write the kernel with CuTe alone, or {_ON_A_GPU}"
        )


def _check_asm(tokens: Sequence[Token], index: int, line: int) -> None:
    """Inline PTX is refused; an empty template is a compiler barrier, which g++ knows as well."""
    template = next((token for token in tokens[index : index + 5] if token.kind is Kind.TEXT), None)
    if template is None or template.text != '""':
        raise EmulationError(
            line,
            "inline PTX",
            f"use a CUDA intrinsic (for instance __ldcs, __stcs, __fmaf_rn), or {_ON_A_GPU}",
        )
