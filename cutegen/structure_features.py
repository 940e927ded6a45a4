"""Which design a CUDA source follows, one rule per feature.

Rules read the names that CUDA, CuTe and PTX give to things, and the shape of loops and
assignments. They never read a name that the author chose, nor a number, except where the
number is the design: the width of one access.
"""

import re

from tree_sitter import Node

from cutegen.cuda_constants import evaluate
from cutegen.cuda_loops import accumulations, loads_before_use, strides_by_grid
from cutegen.cuda_syntax import CudaSource
from cutegen.cuda_tree import text, walk

_TENSOR_CORE = re.compile(r"SM\d+[a-z]?_\d+x\d+x\d+_\w+|SM\d+_MMA_\w+|SM100_\w*MMA\w*")
_ASYNC_COPIES = (
    (
        "cp.async",
        re.compile(r"SM80_CP_ASYNC\w*|cp_async_fence|__pipeline_memcpy_async|memcpy_async"),
    ),
    ("tma", re.compile(r"SM\d+_TMA\w*|make_tma_\w+|SM\d+_BULK_COPY\w*")),
    ("ldmatrix", re.compile(r"SM75_U\d+x\d+_LDSM\w*")),
)
_WIDE_TYPES = {
    **dict.fromkeys(("float4", "int4", "uint4", "uint128_t", "double2", "longlong2"), 128),
    **dict.fromkeys(("float2", "int2", "uint2", "ushort4", "short4"), 64),
}
_STREAMING = re.compile(r"__(ld|st)(cs|cg|lu|cv|wt)$|\w*(EVICT_FIRST|CacheHint)\w*")
_STREAMING_PTX = re.compile(r"\.(cs|cg|lu|wt)\b|no_allocate|evict_first")
_SHUFFLE = re.compile(r"__shfl_(down|up|xor)_sync|__shfl_sync|__reduce_\w+_sync")
_ATOMIC = re.compile(r"atomic(Add|Max|Min|CAS|Exch|Or|And)(_\w+)?|atomic_ref|red_async")
_PIPELINES = re.compile(r"Pipeline(Tma)?Async\w*|ClusterTransactionBarrier|cp_async_wait")
_OCCUPANCY_QUERY = re.compile(
    r"multiProcessorCount|cudaDevAttrMultiProcessorCount|cudaOccupancyMaxActive(Blocks|Clusters)\w*|"
    r"KernelHardwareInfo|sm_count"
)
_CLUSTER = re.compile(
    r"__cluster_dims__|cudaLaunchAttributeClusterDimension|cluster_sync|ClusterLauncher"
)
_FRAGMENTS = re.compile(
    r"make_fragment_like|make_fragment_[ABC]|partition_fragment_[ABC]|make_rmem_tensor|make_tensor_like"
)


def features(source: CudaSource) -> dict[str, str]:
    """All features of a source; the keys are always the same."""
    mma = _mma(source)
    smem = _smem(source)
    return {
        "kernels": str(len(source.kernels)),
        "mma": mma,
        "copies": _copies(source),
        "smem": smem,
        "swizzle": "yes" if _any(source, re.compile(r"Swizzle|Layout_\w+_SW\d+_\w+")) else "no",
        "staging": _staging(source, smem),
        "grid": _grid(source, mma),
        "reduction": _reduction(source, mma, smem),
        "tiling": _tiling(source, mma, smem),
        "loads_in_flight": _loads_in_flight(source, mma),
        "cache_hints": _cache_hints(source),
        "cluster": "yes" if _any(source, _CLUSTER) else "no",
    }


def _any(source: CudaSource, pattern: re.Pattern[str]) -> bool:
    return any(pattern.fullmatch(word) for word in source.words)


def _mma(source: CudaSource) -> str:
    atoms = sorted(word for word in source.words if _TENSOR_CORE.fullmatch(word))
    if atoms:
        return "+".join(atoms)
    if "mma.sync" in source.assembly or "wgmma" in source.assembly:
        return "ptx"
    if {"wmma", "mma_sync"} <= source.words:
        return "wmma"
    if "UniversalFMA" in source.words:
        return "universal-fma"
    multiplies = "gemm" in source.words or any(True for _ in accumulations(source))
    return "fma" if multiplies else "none"


def _copies(source: CudaSource) -> str:
    kinds = [kind for kind, pattern in _ASYNC_COPIES if _any(source, pattern)]
    if "cp.async.bulk" in source.assembly:
        kinds.append("tma")
    elif "cp.async" in source.assembly:
        kinds.append("cp.async")
    width = max((_WIDE_TYPES.get(word, 0) for word in source.words), default=0)
    if "AutoVectorizingCopy" in source.words:  # an alias for 128 bits
        width = 128
    for node in walk(source.root):
        if node.type in ("template_type", "template_function"):
            width = max(width, _template_width(node, source.constants))
    if width >= 64:  # noqa: PLR2004 - bits of the narrowest vector
        kinds.append(f"vectorized-{width}")
    return "+".join(sorted(set(kinds))) or "scalar"


def _template_width(node: Node, constants: dict[str, int]) -> int:
    """Bits per access of ``UniversalCopy<uint_bit_t<N>>`` and its kin, 0 for others."""
    name = text(node.child_by_field_name("name"))
    arguments = node.child_by_field_name("arguments")
    if arguments is None or not arguments.named_children:
        return 0
    if name in ("AutoVectorizingCopyWithAssumedAlignment", "uint_bit_t", "uint_byte_t"):
        number = evaluate(arguments.named_children[0], constants)
        if number is None:  # a template parameter; several elements are a vector of unknown width
            number = 128 if "*" in text(arguments) else 0
        return min(128, number * 8 if name == "uint_byte_t" else number)
    if name == "UniversalCopy" and text(arguments.named_children[0]) == "uint64_t":
        return 64
    if name in ("AlignedArray", "aligned_array"):  # a vector by construction, of unknown width
        return 128
    return 0


def _smem(source: CudaSource) -> str:
    kind = "none"
    for node in walk(source.root):
        if node.type in ("declaration", "field_declaration"):
            words = {text(child) for child in node.children}
            if "__shared__" in words:
                if "extern" in words:
                    return "dynamic"
                kind = "static"
    return kind


def _staging(source: CudaSource, smem: str) -> str:
    if smem == "none":
        return "none"
    waits = [
        node
        for node in walk(source.root)
        if node.type == "template_function"
        and text(node.child_by_field_name("name")).endswith("cp_async_wait")
        and text(node.child_by_field_name("arguments")) != "<0>"
    ]
    pipelined = any(_PIPELINES.fullmatch(word) for word in source.words if word != "cp_async_wait")
    toggles = any(
        node.type in ("binary_expression", "assignment_expression")
        and text(node.child_by_field_name("operator")) in ("^", "^=")
        and text(node.child_by_field_name("right")) == "1"
        for function in source.device_functions
        for node in walk(function)
    )
    return "multi-stage" if waits or pipelined or toggles else "single"


def _grid(source: CudaSource, mma: str) -> str:
    if any(strides_by_grid(kernel) for kernel in source.device_functions):
        return "persistent" if _any(source, _OCCUPANCY_QUERY) else "grid-stride"
    if mma != "none" and _any(source, _ATOMIC):
        return "split-k"
    return "one-tile-per-block"


def _reduction(source: CudaSource, mma: str, smem: str) -> str:
    kinds = []
    if _any(source, _SHUFFLE):
        kinds.append("shuffle")
    if smem != "none" and mma == "none":
        kinds.append("smem")
    if _any(source, _ATOMIC):
        kinds.append("atomic")
    return "+".join(kinds) or "none"


def _tiling(source: CudaSource, mma: str, smem: str) -> str:
    if mma == "none":
        return "none"
    levels = [] if smem == "none" else ["smem"]
    by_element = ("subscript_expression", "call_expression")
    if (
        mma not in ("fma", "universal-fma")
        or _any(source, _FRAGMENTS)
        or any(target.type in by_element for target in accumulations(source))
    ):
        levels.append("register")
    return "+".join(levels) or "none"


def _loads_in_flight(source: CudaSource, mma: str) -> str:
    """``batched`` when loads are gathered in a loop of their own; products tile instead."""
    if mma != "none":
        return "none"
    batched = any(loads_before_use(function) for function in source.device_functions)
    return "batched" if batched else "none"


def _cache_hints(source: CudaSource) -> str:
    hinted = _any(source, _STREAMING) or _STREAMING_PTX.search(
        source.assembly.replace("cp.async.cg", "")
    )
    return "streaming" if hinted else "none"
