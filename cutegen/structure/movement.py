"""How data moves: copies and their widths, shared memory, its swizzle, its stages, cache hints."""

import re

from tree_sitter import Node

from cutegen.cuda_constants import evaluate
from cutegen.cuda_flow import base_name, callee, mentioned
from cutegen.cuda_loops import loads_before_use
from cutegen.cuda_tree import text, walk
from cutegen.structure.view import View

_BY_NAME = (
    (
        "cp.async",
        re.compile(r"SM80_CP_ASYNC\w*|cp_async_fence|__pipeline_memcpy_async|memcpy_async"),
    ),
    ("tma", re.compile(r"SM\d+_TMA_LOAD(?!_MULTICAST)\w*")),
    ("tma-multicast", re.compile(r"SM\d+_TMA_LOAD_MULTICAST\w*")),
    ("tma-store", re.compile(r"SM\d+_TMA_(STORE|REDUCE)\w*")),
    ("bulk", re.compile(r"SM\d+_BULK_COPY\w*")),
    ("ldmatrix", re.compile(r"SM75_U\d+x\d+_LDSM\w*")),
    ("stmatrix", re.compile(r"SM90_U\d+x\d+_STSM\w*")),
)
_ANY_TMA = re.compile(r"make_tma_\w+")
_BY_PTX = (
    ("cp.async", re.compile(r"cp\.async\.c[ag]\.")),
    ("tma", re.compile(r"cp\.async\.bulk\.tensor[\w.]*\.shared(?!.*multicast)")),
    ("tma-multicast", re.compile(r"cp\.async\.bulk\.tensor[\w.:]*multicast")),
    ("tma-store", re.compile(r"cp\.(async|reduce\.async)\.bulk\.tensor[\w.]*\.global")),
    ("bulk", re.compile(r"cp\.async\.bulk\.(?!tensor|commit|wait)")),
    ("ldmatrix", re.compile(r"ldmatrix\.")),
    ("stmatrix", re.compile(r"stmatrix\.")),
)
_WIDE_TYPES = {
    **dict.fromkeys(("float4", "int4", "uint4", "uint128_t", "double2", "longlong2"), 128),
    **dict.fromkeys(("float2", "int2", "uint2", "ushort4", "short4"), 64),
}
_WIDE_PTX = (
    (128, re.compile(r"\b(ld|st)\.global[\w.:]*\.(v4\.[fbus]32|v2\.[fbus]64)")),
    (64, re.compile(r"\b(ld|st)\.global[\w.:]*\.v2\.[fbus]32")),
)
_STREAMING = re.compile(r"__(ld|st)(cs|cg|lu|cv|wt)$|\w*(EVICT_FIRST|CacheHint)\w*")
_STREAMING_PTX = re.compile(r"\.(cs|cg|lu|wt)\b|no_allocate|evict_first")
_PIPELINES = re.compile(
    r"Pipeline(Tma)?\w*Async\w*|PipelineState|make_pipeline|pipeline_shared_state|"
    r"OrderedSequenceBarrier"
)
_WAITS = re.compile(r"(try_)?wait(_\w+)?|mbarrier_\w+")
_SWIZZLE = re.compile(r"Swizzle|Layout_\w+_SW\d+_\w+")
_SWIZZLE_ATOM = re.compile(r"Layout_\w+_(SW\d+)_\w+")


def copies(view: View) -> str:
    """Kinds of copies, and the widest access that is spelled out; ``scalar`` if there are none."""
    assembly = view.source.assembly
    kinds = {kind for kind, pattern in _BY_NAME if view.any(pattern)}
    if view.any(_ANY_TMA) and not any(kind.startswith("tma") for kind in kinds):
        kinds.add("tma")
    kinds |= {kind for kind, pattern in _BY_PTX if pattern.search(assembly)}
    width = max((_WIDE_TYPES.get(word, 0) for word in view.source.words), default=0)
    width = max(width, *(bits for bits, pattern in _WIDE_PTX if pattern.search(assembly)), 0)
    if "AutoVectorizingCopy" in view.source.words:  # an alias for 128 bits
        width = 128
    for node in walk(view.source.root):
        if node.type in ("template_type", "template_function"):
            width = max(width, _template_width(node, view.source.constants))
    if width >= 64:  # noqa: PLR2004 - bits of the narrowest vector
        kinds.add(f"vectorized-{width}")
    return "+".join(sorted(kinds)) or "scalar"


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


def swizzle(view: View) -> str:
    """``yes`` for CuTe's swizzles, and where an index into shared memory is an exclusive or."""
    written = view.any(_SWIZZLE) or any(_swizzles_by_hand(view, f) for f in view.functions)
    return "yes" if written else "no"


def swizzle_numbers(view: View) -> str:
    """Which swizzles, a parameter: ``3,3,3`` or ``SW128``; empty without one."""
    found = {match[1] for word in view.source.words if (match := _SWIZZLE_ATOM.fullmatch(word))}
    for node in walk(view.source.root):
        if node.type in ("template_type", "template_function"):
            arguments = node.child_by_field_name("arguments")
            if text(node.child_by_field_name("name")) == "Swizzle" and arguments is not None:
                found.add(text(arguments).strip("<>").replace(" ", ""))
    return "; ".join(sorted(found))


def _swizzles_by_hand(view: View, function: Node) -> bool:
    """``tile[row][column ^ row]``, both of them the thread's; partners in a sort are not."""
    shared, threads = view.shared(function), view.of_thread(function)
    if not shared:
        return False
    mixed = {
        name
        for node in walk(function)
        if node.type == "init_declarator"
        and (value := node.child_by_field_name("value")) is not None
        and any(_mixes(inner, threads) for inner in walk(value))
        for name in mentioned(node.child_by_field_name("declarator") or node)
    }
    return any(
        _mixes(inner, threads) or (inner.type == "identifier" and text(inner) in mixed)
        for index in _indices(function, shared)
        for inner in walk(index)
    )


def _mixes(node: Node, threads: frozenset[str]) -> bool:
    if node.type != "binary_expression" or text(node.child_by_field_name("operator")) != "^":
        return False
    sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
    return all(side is not None and not threads.isdisjoint(mentioned(side)) for side in sides)


def _indices(function: Node, names: frozenset[str]) -> list[Node]:
    """The indices of every access to one of the names."""
    found = []
    for node in walk(function):
        field = {"subscript_expression": "indices", "call_expression": "arguments"}.get(node.type)
        if field and base_name(node) in names:
            index = node.child_by_field_name(field)
            if index is not None:
                found.append(index)
    return found


def staging(view: View) -> str:
    """``multi-stage`` where tiles are copied to one part of shared memory while another is read."""
    if view.smem == "none":
        return "none"
    several = (
        view.any(_PIPELINES)
        or any(_waits_for_all_but_some(node) for node in walk(view.source.root))
        or any(_toggles(view, f) or _rotates(view, f) for f in view.functions)
    )
    return "multi-stage" if several else "single"


def _waits_for_all_but_some(node: Node) -> bool:
    """``cp_async_wait<N>`` and its kin, where N is not plainly zero."""
    if node.type == "template_function":
        name = text(node.child_by_field_name("name"))
        return name == "cp_async_wait" and text(node.child_by_field_name("arguments")) != "<0>"
    if node.type == "call_expression" and callee(node) == "__pipeline_wait_prior":
        return text(node.child_by_field_name("arguments")) != "(0)"
    if node.type == "string_content":
        return re.search(r"cp\.async\.wait_group\s+(?!0\b)", text(node)) is not None
    return False


def _toggles(view: View, function: Node) -> bool:
    """``stage ^= 1`` and ``stage ^ 1``; a barrier's phase, which only waits read, is no stage."""
    toggled: set[str] = set()
    for node in walk(function):
        if node.type not in ("binary_expression", "assignment_expression"):
            continue
        left = node.child_by_field_name("left")
        operator = text(node.child_by_field_name("operator"))
        flips = operator in ("^", "^=") and text(node.child_by_field_name("right")) == "1"
        if flips and left is not None:
            toggled.update(mentioned(left))
    toggled -= view.of_thread(function)
    return any(
        node.type == "identifier" and text(node) in toggled and _selects(node)
        for node in walk(function)
    )


def _selects(node: Node) -> bool:
    """Whether a name is part of an index, or is handed to a function that is no wait."""
    child, parent = node, node.parent
    while parent is not None and not parent.type.endswith(("statement", "declaration")):
        if parent.type == "call_expression" and child != parent.child_by_field_name("function"):
            return _WAITS.fullmatch(callee(parent)) is None
        if parent.type == "subscript_argument_list":
            return True
        if parent.type == "init_declarator" and child == parent.child_by_field_name("value"):
            return True
        child, parent = parent, parent.parent
    return False


def _rotates(view: View, function: Node) -> bool:
    """``ring[tile % kStages]``: a count that is no thread's chooses a part of shared memory."""
    shared = view.shared(function) | view.fragments(function)  # wgmma reads through descriptors
    threads = view.of_thread(function)
    if not shared:
        return False
    chosen = {
        name
        for node in walk(function)
        if node.type == "init_declarator" and _is_turn(node.child_by_field_name("value"), threads)
        for name in mentioned(node.child_by_field_name("declarator") or node)
    }
    return any(
        _is_turn(inner, threads) or (inner.type == "identifier" and text(inner) in chosen)
        for index in _indices(function, shared)
        if "/" not in text(index)
        for inner in walk(index)
    )


def _is_turn(node: Node | None, threads: frozenset[str]) -> bool:
    if node is None or node.type != "binary_expression":
        return False
    left = node.child_by_field_name("left")
    if text(node.child_by_field_name("operator")) != "%" or left is None:
        return False
    names = set(mentioned(left))
    return bool(names) and names.isdisjoint(threads | {"blockIdx"})


def loads_in_flight(view: View, multiplies: bool) -> str:
    """``batched`` when loads are gathered in a loop of their own; products tile instead."""
    if multiplies:
        return "none"
    return "batched" if any(loads_before_use(f) for f in view.functions) else "none"


def cache_hints(view: View) -> str:
    """``streaming`` where an access says that nobody will read its cache line again."""
    assembly = view.source.assembly.replace("cp.async.cg", "")
    hinted = view.any(_STREAMING) or _STREAMING_PTX.search(assembly)
    return "streaming" if hinted else "none"
