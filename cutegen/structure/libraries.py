"""Sources that leave their design to a library: what their tags tell, and what stays hidden."""

import re

from cutegen.structure.model import HIDDEN
from cutegen.structure.view import View

_PRODUCTS = re.compile(
    r"Collective(Builder|Mma|Epilogue)|GemmUniversal(Adapter)?|GemmConfiguration|"
    r"DefaultGemm\w*|DefaultMma\w*|ImplicitGemmConvolution|GemmSplitKParallel"
)
_PRIMITIVES = re.compile(r"(Block|Device|Warp)(Reduce|Scan|Load|Store|Exchange|RadixSort)")
_SCHEDULES = (
    ("roles", "producer-consumer+setmaxnreg", re.compile(r"Kernel\w*WarpSpecialized\w*")),
    ("copies", "tma", re.compile(r"Kernel(Ptr)?(Array)?Tma\w*")),
    ("copies", "cp.async", re.compile(r"KernelCpAsync\w*|KernelMultistage")),
    ("staging", "multi-stage", re.compile(r"Kernel(Tma|CpAsync|Multistage)\w*|StageCountAuto\w*")),
    ("grid", "stream-k", re.compile(r"StreamKScheduler|\w+StreamK")),
    ("grid", "persistent", re.compile(r"PersistentScheduler|\w+(Cooperative|Pingpong)")),
    ("grid", "split-k", re.compile(r"GemmSplitKParallel|SplitKSerial")),
    ("epilogue", "fused", re.compile(r"LinearCombination\w+|LinCombEltAct|LinCombPerRowBias\w*")),
)
_ABOUT_PRODUCTS = (
    "mma",
    "mma_types",
    "mma_operands",
    "copies",
    "smem",
    "swizzle",
    "staging",
    "roles",
    "cluster",
    "tiling",
    "epilogue",
)
_SILENT = ("none", "no", "scalar", "0")


def hidden(view: View, found: dict[str, str]) -> dict[str, str]:
    """Features that a library's templates decide; the source's own ones are never changed.

    A schedule that the source names says what it is. The rest is ``hidden``, which is neither
    equal nor unequal to anything: it may be completed from machine code.
    """
    changes: dict[str, str] = {}
    if view.any(_PRODUCTS):
        silent = [name for name in _ABOUT_PRODUCTS if found[name] in _SILENT]
        changes = dict.fromkeys(silent, HIDDEN)
        for name, value, pattern in _SCHEDULES:
            undecided = found[name] in (*_SILENT, "one-tile-per-block")
            if undecided and changes.get(name, HIDDEN) == HIDDEN and view.any(pattern):
                changes[name] = value
    elif view.any(_PRIMITIVES) and found["smem"] == "none":
        changes["smem"] = HIDDEN
    return changes
