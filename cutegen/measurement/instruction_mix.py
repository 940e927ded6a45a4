"""What a build's machine code shows: which instructions, how wide the accesses, which pipes."""

from pydantic import JsonValue

from cutegen.toolchain.disassembly import KernelCode, disassemble
from cutegen.toolchain.discovery import ToolNotFoundError
from cutegen.toolchain.protocol import BuildResult

TENSOR = ("HMMA", "HGMMA", "IMMA", "IGMMA", "DMMA", "BMMA", "QGMMA", "UTCHMMA")
_ACCESSES = {
    "global loads": "LDG",
    "global stores": "STG",
    "shared loads": "LDS",
    "shared stores": "STS",
}
_COPIES = ("LDGSTS", "UTMALDG", "UTMASTG", "UBLKCP")
_WIDEST = 128
_COUNTED = {
    "tensor-core products": TENSOR,
    "fused multiply-adds": ("FFMA", "HFMA2", "DFMA", "FFMA2"),
    "special functions": ("MUFU",),
    "asynchronous copies": _COPIES,
    "matrix loads": ("LDSM", "STSM"),
    "spilled registers": ("LDL", "STL"),
    "shuffles": ("SHFL",),
    "atomics": ("ATOM", "ATOMG", "ATOMS", "RED", "REDG"),
    "barriers": ("BAR", "SYNCS"),
}


def machine_code(build: BuildResult) -> tuple[tuple[KernelCode, ...], str]:
    """The code of a build's kernels; or none, and why."""
    if build.library is None or build.toolchain != "nvcc":
        return (), "machine code: nvcc has not built this kernel here"
    try:
        return disassemble(build.library), ""
    except (ToolNotFoundError, RuntimeError) as error:
        return (), f"machine code: {error}"


def instruction_mix(code: KernelCode) -> dict[str, JsonValue]:
    """The code in a few facts; a loop's body counts once, so these are no executed counts."""
    facts: dict[str, JsonValue] = {"instructions": code.total}
    for name, opcode in _ACCESSES.items():
        widths = code.widths(opcode)
        if widths:
            facts[name] = ", ".join(f"{count} of {bits} bits" for bits, count in widths.items())
    for name, opcodes in _COUNTED.items():
        count = code.count(*opcodes)
        if count:
            facts[name] = count
    return facts


def widest_load(code: KernelCode) -> int:
    """Bits per thread of the widest load from global memory, 0 without one.

    Copies that bypass registers (cp.async, TMA) count as the widest there are.
    """
    if code.count(*_COPIES):
        return _WIDEST
    return max(code.widths("LDG"), default=0)
