"""What a build's machine code says of a design: it completes what a library hides.

The source decides. Machine code answers only where the source is silent because a library's
templates choose (the value is ``hidden``): so the fingerprint of an ordinary kernel is the same
whether or not a build, or a disassembler, is at hand. Where an ordinary source and its machine
code differ, such as a copy of 128 bits that became four of 32, the feature stays what the source
says, and a sentence tells the difference.
"""

from collections.abc import Iterable, Sequence

from cutegen.structure.model import HIDDEN
from cutegen.toolchain.disassembly import KernelCode, disassemble
from cutegen.toolchain.discovery import ToolNotFoundError
from cutegen.toolchain.protocol import BuildResult

_FAMILIES = {
    "wgmma": ("HGMMA", "IGMMA", "QGMMA", "BGMMA"),
    "mma.sync": ("HMMA", "IMMA", "DMMA", "QMMA", "BMMA"),
    "tcgen05": ("UTCHMMA", "UTCIMMA", "UTCQMMA"),
}
# Kinds of copies by their opcodes; a modifier must be among the opcode's own where one is named.
_COPIES = {
    "cp.async": (("LDGSTS",), ""),
    "tma": (("UTMALDG",), ""),
    "tma-multicast": (("UTMALDG",), "MULTICAST"),
    "tma-store": (("UTMASTG", "UTMAREDG"), ""),
    "bulk": (("UBLKCP", "UBLKRED"), ""),
    "ldmatrix": (("LDSM",), ""),
    "stmatrix": (("STSM",), ""),
}
_CLUSTER = ("UCGABAR_ARV", "UCGABAR_WAIT")
_SHARED = ("LDS", "STS", "LDSM", "STSM", "LDGSTS", "UTMALDG", "UBLKCP")
_WIDE = 128  # bits per thread and access


def machine_code(build: BuildResult | None) -> tuple[KernelCode, ...]:
    """The code of what nvcc has built; empty where it has not, or nothing here can read it."""
    if build is None or build.library is None or build.toolchain != "nvcc":
        return ()
    try:
        return disassemble(build.library)
    except (ToolNotFoundError, RuntimeError):
        return ()


def completed(found: dict[str, str], code: Sequence[KernelCode]) -> dict[str, str]:
    """The features, with what the code shows in the place of what is hidden.

    What code does not show stays hidden: swizzles are address arithmetic, and stages are labels.
    """
    seen = _seen(code) if code else {}
    return {
        name: seen.get(name, HIDDEN) if value == HIDDEN else value for name, value in found.items()
    }


def contradictions(found: dict[str, str], code: Sequence[KernelCode]) -> tuple[str, ...]:
    """What the source says and the code does not do, in sentences; empty without code."""
    if not code:
        return ()
    said = []
    for family in found["mma"].split("+"):
        opcodes = _FAMILIES.get(family)
        if opcodes and not _has(code, opcodes):
            said.append(f"the source multiplies by {family}, but no such instruction was compiled")
    kinds = found["copies"].split("+")
    said += [
        f"the source copies by {kind}, but no such instruction was compiled"
        for kind in kinds
        if kind in _COPIES and not _has(code, *_COPIES[kind])
    ]
    widest = max((bits for k in code for op in ("LDG", "STG") for bits in k.widths(op)), default=0)
    if f"vectorized-{_WIDE}" in kinds and 0 < widest < _WIDE and not _has(code, ("LDGSTS",)):
        said.append(
            f"the source asks for accesses of {_WIDE} bits, but the widest compiled has {widest}"
        )
    if found["copies"] == "scalar" and widest >= _WIDE:
        said.append(f"the compiler made accesses of {widest} bits out of scalar ones")
    return tuple(said)


def _seen(code: Sequence[KernelCode]) -> dict[str, str]:
    families = [name for name, opcodes in _FAMILIES.items() if _has(code, opcodes)]
    copies = [kind for kind, asked in _COPIES.items() if _has(code, *asked)]
    if "tma-multicast" in copies and all(
        "MULTICAST" in opcode for opcode in _opcodes(code) if opcode.startswith("UTMALDG")
    ):
        copies.remove("tma")
    if any(_WIDE in kernel.widths("LDG") for kernel in code):
        copies.append(f"vectorized-{_WIDE}")
    shared = _has(code, _SHARED)
    levels = ["smem"] if shared else []
    return {
        "mma": "+".join(sorted(families)) or "fma",
        "copies": "+".join(sorted(copies)) or "scalar",
        "smem": "dynamic" if shared and families else "static" if shared else "none",
        "roles": "producer-consumer+setmaxnreg" if _has(code, ("USETMAXREG",)) else "none",
        "cluster": "yes" if _has(code, _CLUSTER) else "no",
        "tiling": "+".join([*levels, "register"]),
    }


def _opcodes(code: Iterable[KernelCode]) -> Iterable[str]:
    return (opcode for kernel in code for opcode in kernel.opcodes)


def _has(code: Iterable[KernelCode], names: Sequence[str], modifier: str = "") -> bool:
    """Whether one of the opcodes was compiled, with the modifier among its own."""
    return any(
        opcode.split(".")[0] in names and (not modifier or modifier in opcode.split(".")[1:])
        for opcode in _opcodes(code)
    )
