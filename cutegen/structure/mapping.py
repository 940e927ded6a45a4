"""How work is mapped to the machine: blocks to tiles, clusters of blocks, roles of warps."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from cutegen.cuda_flow import callee, mentioned
from cutegen.cuda_loops import LOOPS, strides_by_grid
from cutegen.cuda_tree import text, walk
from cutegen.structure.view import View

_OCCUPANCY_QUERY = re.compile(
    r"multiProcessorCount|cudaDevAttrMultiProcessorCount|cudaOccupancyMaxActive(Blocks|Clusters)\w*|"
    r"KernelHardwareInfo|sm_count"
)
_CLUSTER = re.compile(
    r"cudaLaunchAttributeClusterDimension|cluster_sync|cluster_arrive\w*|cluster_wait|"
    r"Cluster(Launcher|LaunchParams)|launch_kernel_on_cluster|this_cluster|block_rank_in_cluster"
)
_REGISTERS = re.compile(r"warpgroup_reg_(de)?alloc")
_ROLES = re.compile(r"ThreadCategory")
_TAKES = re.compile(r"(consumer|producer)_(try_)?(wait|acquire)|(try_)?wait|wait_barrier")
_GIVES = re.compile(r"consumer_release|producer_commit|producer_get_barrier|arrive\w*")
_ATOMIC = re.compile(r"atomic(Add|Max|Min|CAS|Exch|Or|And)(_\w+)?|atomic_ref|red_async")


def cluster(view: View) -> str:
    """Whether blocks are launched in clusters."""
    return "yes" if view.source.cluster_dims or view.any(_CLUSTER) else "no"


def roles(view: View) -> str:
    """``producer-consumer`` where warps take different branches and wait for each other.

    ``setmaxnreg`` is added where they also move registers from one to the other.
    """
    registers = view.any(_REGISTERS) or "setmaxnreg" in view.source.assembly
    if registers:
        return "producer-consumer+setmaxnreg"
    parted = view.any(_ROLES) or any(_parts(view, function) for function in view.functions)
    return "producer-consumer" if parted else "none"


def _parts(view: View, function: Node) -> bool:
    """Whether both sides of a branch on the thread hand something over by a barrier."""
    threads = view.of_thread(function)
    for node in walk(function):
        if node.type != "if_statement":
            continue
        condition = node.child_by_field_name("condition")
        if condition is None or threads.isdisjoint(mentioned(condition)):
            continue
        sides = _sides(node)
        calls = [
            {callee(c) for c in _inside(side) if c.type == "call_expression"} for side in sides
        ]
        takes = [any(_TAKES.fullmatch(name) for name in names) for names in calls]
        gives = [any(_GIVES.fullmatch(name) for name in names) for names in calls]
        if (takes[0] and gives[1]) or (gives[0] and takes[1]):
            return True
        if all(any("NamedBarrier" in text(n) for n in side) for side in sides):
            return True
    return False


def _sides(branch: Node) -> tuple[list[Node], list[Node]]:
    """What is done on either side; after an early return, what follows is the other side."""
    first = branch.child_by_field_name("consequence")
    second = branch.child_by_field_name("alternative")
    if second is None and first is not None and _returns(first) and branch.parent is not None:
        rest = [n for n in branch.parent.named_children if n.start_byte >= branch.end_byte]
        return [first], rest
    return [first] if first is not None else [], [second] if second is not None else []


def _returns(block: Node) -> bool:
    last = block.named_children[-1] if block.named_children else None
    return block.type == "return_statement" or (
        last is not None and last.type == "return_statement"
    )


def _inside(nodes: list[Node]) -> Iterator[Node]:
    for node in nodes:
        yield from walk(node)


def grid(view: View, *, multiplies: bool, clustered_sum: bool) -> str:
    """How blocks share the work.

    ``split-k`` where a product's loop over K begins or ends at a place that depends on the
    block, and what the blocks leave is added up; ``stream-k`` where such a loop also runs within
    one over the work of a block. A triangular matrix has such a loop too, but nothing is added up.
    """
    atomics = [n for f in view.functions for n in walk(f) if _is_atomic(n)]
    adds_up = bool(len(view.source.kernels) > 1 or atomics or clustered_sum)
    if multiplies and adds_up:
        found = {_split(view, product.function, product.node) for product in view.products}
        for kind in ("stream-k", "split-k"):
            if kind in found:
                return kind
    strided = [function for function in view.functions if strides_by_grid(function)]
    if strided or (multiplies and any(_is_queue(node) for node in atomics)):
        tiles = multiplies and any(p.function in strided for p in view.products)
        queued = any(_is_queue(node) for node in atomics) and multiplies
        return "persistent" if tiles or queued or view.any(_OCCUPANCY_QUERY) else "grid-stride"
    if multiplies and atomics:
        return "split-k"
    return "one-tile-per-block"


def _is_atomic(node: Node) -> bool:
    return node.type == "call_expression" and _ATOMIC.fullmatch(callee(node)) is not None


def _is_queue(call: Node) -> bool:
    """Whether the result of an atomic is used, in a loop: blocks fetch numbers of tiles."""
    used = call.parent is not None and call.parent.type != "expression_statement"
    return used and any(True for _ in _loops_around(call))


def _loops_around(node: Node) -> Iterator[Node]:
    parent = node.parent
    while parent is not None and parent.type != "function_definition":
        if parent.type in LOOPS:
            yield parent
        parent = parent.parent


def _split(view: View, function: Node, product: Node) -> str:
    """``split-k``, ``stream-k`` or nothing, by the loops around one product."""
    names = view.flow(function).derived({"blockIdx"})
    strides = view.flow(function).derived({"gridDim"})
    loops = list(_loops_around(product))
    for position, loop in enumerate(loops):
        over_tiles = _depends(loop, ("update",), strides)
        if not over_tiles and _depends(loop, ("initializer", "condition"), names):
            shared_out = any(
                _depends(outer, ("initializer", "condition", "update"), names | strides)
                for outer in loops[position + 1 :]
            )
            return "stream-k" if shared_out else "split-k"
    return ""


def _depends(loop: Node, parts: tuple[str, ...], names: frozenset[str]) -> bool:
    found = (loop.child_by_field_name(part) for part in parts)
    return any(part is not None and not names.isdisjoint(mentioned(part)) for part in found)
