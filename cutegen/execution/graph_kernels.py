"""Which kernels a captured graph holds, through the CUDA driver.

Like the worker, this imports the standard library only. The driver is asked, not the runtime:
a candidate has a runtime of its own, whose functions ours does not know.
"""

import ctypes
from typing import Any

from cutegen.execution.cudart import CudaError

_KERNEL_NODE = 0  # CU_GRAPH_NODE_TYPE_KERNEL
_NODE_TYPES = {1: "memcpy", 2: "memset", 3: "host", 4: "graph", 5: "empty"}


class _KernelNodeParams(ctypes.Structure):
    """``CUDA_KERNEL_NODE_PARAMS_v2``."""

    _fields_ = [
        ("function", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("parameters", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    ]


def graph_kernels(graph: int) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The kernel nodes of a graph in the driver's order, and how many others of each kind.

    A kernel has a mangled ``name``, ``grid``, ``block`` and ``shared`` bytes.

    Raises:
        CudaError: The driver refuses to tell.
    """
    driver = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_size_t()
    _check(driver.cuGraphGetNodes(ctypes.c_void_p(graph), None, ctypes.byref(count)), "Nodes")
    nodes = (ctypes.c_void_p * max(count.value, 1))()
    _check(driver.cuGraphGetNodes(ctypes.c_void_p(graph), nodes, ctypes.byref(count)), "Nodes")
    kernels: list[dict[str, Any]] = []
    others: dict[str, int] = {}
    for node in nodes[: count.value]:
        kind = ctypes.c_int()
        _check(driver.cuGraphNodeGetType(ctypes.c_void_p(node), ctypes.byref(kind)), "NodeType")
        if kind.value == _KERNEL_NODE:
            kernels.append(_kernel(driver, node))
        else:
            name = _NODE_TYPES.get(kind.value, f"type {kind.value}")
            others[name] = others.get(name, 0) + 1
    return kernels, others


def _kernel(driver: ctypes.CDLL, node: int | None) -> dict[str, Any]:
    params = _KernelNodeParams()
    _check(
        driver.cuGraphKernelNodeGetParams_v2(ctypes.c_void_p(node), ctypes.byref(params)),
        "KernelNodeParams",
    )
    name = ctypes.c_char_p()
    if params.function:
        driver.cuFuncGetName(ctypes.byref(name), ctypes.c_void_p(params.function))
    elif params.kernel:
        driver.cuKernelGetName(ctypes.byref(name), ctypes.c_void_p(params.kernel))
    return {
        "name": (name.value or b"").decode(errors="replace"),
        "grid": list(params.grid),
        "block": list(params.block),
        "shared": params.shared,
    }


def _check(code: int, call: str) -> None:
    if code:
        raise CudaError(code, f"CUresult {code}", "the driver refused", f"cuGraph…{call}")
