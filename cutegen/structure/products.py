"""How a kernel multiplies: the instruction's family, its types, where its operands come from."""

import re
from collections.abc import Iterable

from cutegen.cuda_flow import mentioned
from cutegen.cuda_tree import text, walk
from cutegen.structure.view import FRAGMENTS, View

_TYPE = r"TF32|BF16|F64|F32|F16|E4M3|E5M2|S32|S8|U8|S4|U4|U1"
_ATOM = re.compile(
    rf"(?:SM\d+_|G?MMA_)(?:SPARSE_)?(?P<tile>\d+x\d+x\d+)_(?P<types>(?:{_TYPE})*)"
    r"_?(?P<operands>SS|RS)?(?:_?T[NT])?\w*"
)
_PTX = re.compile(
    r"(?P<family>wgmma\.mma_async|mma\.sync)[\w.:\s]*?\.m(?P<m>\d+)n(?P<n>\d+)k(?P<k>\d+)"
    r"(?P<types>[\w.:\s]*)"
)
_SELECTOR = re.compile(r"(ss|rs)_op_selector(_sparse)?")
_TENSOR_MEMORY = re.compile(r"SM1\d\d_MMA_\w+|SM1\d\d::\w*UMMA\w*")
PLAIN = ("none", "fma", "universal-fma")
"""Families of products without tensor cores."""


class Multiply:
    """The rules about products."""

    def __init__(self, view: View) -> None:
        """Read the atoms, intrinsics and inline PTX of a source."""
        self._view = view
        self._atoms = [
            match for word in sorted(view.source.words) if (match := _ATOM.fullmatch(word))
        ]
        self._ptx = list(_PTX.finditer(view.source.assembly))
        self._selected = {
            match[1].upper() for word in view.source.words if (match := _SELECTOR.fullmatch(word))
        }

    @property
    def family(self) -> str:
        """``wgmma``, ``mma.sync``, ``tcgen05``, ``wmma``, or one of ``PLAIN``."""
        found = {"wgmma" if atom["operands"] else "mma.sync" for atom in self._atoms}
        found |= {match["family"].removesuffix(".mma_async") for match in self._ptx}
        if self._selected:
            found.add("wgmma")
        if self._view.any(_TENSOR_MEMORY) or "tcgen05.mma" in self._view.source.assembly:
            found.add("tcgen05")
        if {"wmma", "mma_sync"} <= self._view.source.words:
            found.add("wmma")
        if found:
            return "+".join(sorted(found))
        if "UniversalFMA" in self._view.source.words:
            return "universal-fma"
        return "fma" if self._view.products else "none"

    @property
    def types(self) -> str:
        """What a tensor core multiplies and in what it adds, such as ``F16→F32``."""
        kinds = {_types(re.findall(_TYPE, atom["types"])) for atom in self._atoms}
        kinds |= {_types(re.findall(_TYPE, match["types"].upper())) for match in self._ptx}
        return "+".join(sorted(kinds - {""})) or "none"

    @property
    def operands(self) -> str:
        """Where the factors are when they are multiplied.

        ``SS`` and ``RS`` are wgmma's: both in shared memory, or the first one in registers.
        Others are ``registers``, ``smem`` or ``global``.
        """
        if self.family == "none":
            return "none"
        if self.family in PLAIN:
            return _joined(self._places())
        found = {atom["operands"] or "registers" for atom in self._atoms} | self._selected
        found |= set(_ptx_operands(self._view))
        return _joined(found) if found else "registers"

    @property
    def tiling(self) -> str:
        """On which levels of memory tiles of a product are held."""
        if self.family == "none":
            return "none"
        levels = [] if self._view.smem == "none" else ["smem"]
        by_element = ("subscript_expression", "call_expression")
        targets = (product.node.child_by_field_name("left") for product in self._view.products)
        if (
            self.family not in PLAIN
            or self._view.any(FRAGMENTS)
            or any(target is not None and target.type in by_element for target in targets)
        ):
            levels.append("register")
        return "+".join(levels) or "none"

    @property
    def tiles(self) -> str:
        """The shapes of the atoms, which are parameters: ``64x128x16``; empty without atoms."""
        found = {atom["tile"] for atom in self._atoms}
        found |= {f"{match['m']}x{match['n']}x{match['k']}" for match in self._ptx}
        return ", ".join(sorted(found))

    def _places(self) -> set[str]:
        found = set()
        for product in self._view.products:
            registers = self._view.fragments(product.function)
            shared = self._view.shared(product.function)
            for factor in product.factors:
                names = set(mentioned(factor))
                if names & registers:
                    found.add("registers")
                else:
                    found.add("smem" if names & shared else "global")
        return found


def _types(names: list[str]) -> str:
    """``D A B [C]``, as atoms and PTX order them, in words."""
    if len(names) < 3:  # noqa: PLR2004 - an accumulator and two factors
        return ""
    total, left, right = names[:3]
    return f"{left}→{total}" if left == right else f"{left}*{right}→{total}"


def _joined(kinds: Iterable[str]) -> str:
    return "+".join(sorted(kinds)) or "none"


def _ptx_operands(view: View) -> Iterable[str]:
    """``RS`` where wgmma's first factor is a list of registers rather than a descriptor."""
    for node in walk(view.source.root):
        if node.type == "gnu_asm_expression":
            written = " ".join(text(n) for n in walk(node) if n.type == "string_content")
            for match in _PTX.finditer(written):
                if match["family"] == "mma.sync":
                    yield "registers"
                    continue
                lists = written[match.end() :].split(";")[0].count("{")
                yield "RS" if lists > 1 else "SS"
