"""The machine code of a built candidate, as counts of its instructions, through cuobjdump."""

import re
import subprocess
from collections import Counter
from functools import lru_cache
from pathlib import Path

from cutegen.frozen import Frozen
from cutegen.toolchain.discovery import find_cuobjdump
from cutegen.toolchain.ptxas import demangled

_TIMEOUT_S = 60.0
_FUNCTION = re.compile(r"^\s*Function : (?P<name>\S+)")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(?P<opcode>[A-Z][\w.]*)")
_NO_WORK = ("NOP", "BRA")  # what pads the end of a kernel
_BITS = re.compile(r"\.(64|128)\b")


class KernelCode(Frozen):
    """One kernel's instructions: how often each opcode, with its modifiers, stands in it.

    Counts are of the code, not of what is executed: a loop's body counts once.
    """

    kernel: str
    opcodes: dict[str, int]

    def count(self, *names: str) -> int:
        """How many instructions have one of these base names, such as ``LDG``."""
        return sum(n for opcode, n in self.opcodes.items() if opcode.split(".")[0] in names)

    @property
    def total(self) -> int:
        """All instructions that do something."""
        return sum(n for opcode, n in self.opcodes.items() if opcode not in _NO_WORK)

    def widths(self, name: str) -> dict[int, int]:
        """Bits per thread of each access by ``LDG``, ``STG``, ``LDS`` or ``STS``, and how many."""
        found: Counter[int] = Counter()
        for opcode, n in self.opcodes.items():
            if opcode.split(".")[0] == name:
                wide = _BITS.search(opcode)
                narrow = 16 if "U16" in opcode else 8 if "U8" in opcode or "S8" in opcode else 32
                found[int(wide[1]) if wide else narrow] += n
        return dict(sorted(found.items()))


def parse_disassembly(text: str) -> tuple[KernelCode, ...]:
    """Read ``cuobjdump -sass``; kernels are named as ``ptxas.demangled`` names them."""
    kernels: list[tuple[str, Counter[str]]] = []
    for line in text.splitlines():
        if function := _FUNCTION.match(line):
            kernels.append((function["name"], Counter()))
        elif kernels and (instruction := _INSTRUCTION.match(line)):
            kernels[-1][1][instruction["opcode"]] += 1
    names = demangled([name for name, _ in kernels])
    return tuple(
        KernelCode(kernel=name, opcodes=dict(counts))
        for name, (_, counts) in zip(names, kernels, strict=True)
    )


@lru_cache(maxsize=256)
def disassemble(library: Path) -> tuple[KernelCode, ...]:
    """The machine code of a built candidate; kept, since a build never changes.

    Raises:
        ToolNotFoundError: There is no cuobjdump here.
        RuntimeError: It cannot read the library.
    """
    tool = find_cuobjdump()
    try:
        done = subprocess.run(
            [tool.path, "-sass", library],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            start_new_session=True,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise RuntimeError(f"cuobjdump cannot read {library}: {error}") from error
    return parse_disassembly(done.stdout)
