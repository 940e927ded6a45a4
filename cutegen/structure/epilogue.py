"""What happens to the sums of a product before they are stored."""

import re

from tree_sitter import Node

from cutegen.cuda_flow import EXTENTS, Flow, arguments_of, base_name, callee
from cutegen.cuda_tree import text, walk
from cutegen.structure.view import View

_MATH = re.compile(
    r"_*(exp|exp2|log|tanh|sqrt|rsqrt|erf|erfc|pow|fma|max|min|fmax|fmin|fabs|abs|sin|cos)"
    r"(\d+|1p|m1)?f?(_r[nudz])?"
)
_ARITHMETIC = frozenset("+-*/<>")
_EPILOGUE_ATOMS = re.compile(r"SM\d+_TMA_STORE\w*|SM90_U\d+x\d+_STSM\w*")
_SHUFFLE = re.compile(r"__shfl_\w+|__reduce_\w+_sync")


def epilogue(view: View) -> str:
    """``none`` without a product; else ``plain`` or ``fused``; ``staged`` if by shared memory.

    Fused is what computes with the sums: a bias, a scale, an activation. Converting their type,
    adding partial sums in registers, and atomic additions are no epilogue.
    """
    if not view.products:
        return "none"
    sums: dict[int, set[str]] = {}
    for product in view.products:
        sums.setdefault(product.function.id, set()).update(product.targets - {""})
    functions = {product.function.id: product.function for product in view.products}
    multiplying = {product.node.id for product in view.products}
    fused = staged = False
    for function in functions.values():
        flow = view.flow(function)
        names = _values_of(view, function, sums[function.id])
        fused = fused or _is_fused(view, function, names, multiplying)
        staged = staged or _is_staged(view, function, flow.derived(names))
    staged = staged or view.any(_EPILOGUE_ATOMS)
    return ("fused" if fused else "plain") + ("+staged" if staged else "")


def _values_of(view: View, function: Node, targets: set[str]) -> frozenset[str]:
    """The accumulators, the registers they are added to, and scalars read from them."""
    names = set(targets)
    registers = view.fragments(function)
    for node in walk(function):
        if node.type == "assignment_expression" and _promotes(node, names, registers):
            names.add(base_name(node.child_by_field_name("left")))
    flow: Flow = view.flow(function)
    plain = {
        name
        for name in flow.derived(names)
        if name not in view.shared(function) or name in registers
    }
    return frozenset(plain | names)


def _promotes(node: Node, sums: set[str], registers: frozenset[str]) -> bool:
    """Whether partial sums are added to longer-lived ones, as ``sums(i) += tile(i)``."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    return (
        text(node.child_by_field_name("operator")) == "+="
        and base_name(left) in registers
        and right is not None
        and right.type in ("call_expression", "subscript_expression", "identifier")
        and base_name(right) in sums
    )


def _is_fused(view: View, function: Node, names: frozenset[str], multiplying: set[int]) -> bool:
    for node in walk(function):
        if node.type != "identifier" or text(node) not in names:
            continue
        if _computes(view, node, names, multiplying):
            return True
    return False


def _computes(view: View, node: Node, names: frozenset[str], multiplying: set[int]) -> bool:
    """Climb from a sum to its statement: is anything computed with it on the way?"""
    child, parent = node, node.parent
    while parent is not None and not parent.type.endswith("statement"):
        verdict = "ends" if parent.id in multiplying else _one_step(view, child, parent, names)
        if verdict != "goes on":
            return verdict == "computes"
        child, parent = parent, parent.parent
    return False


def _one_step(view: View, child: Node, parent: Node, names: frozenset[str]) -> str:
    """``computes``, ``ends`` or ``goes on``: what an expression does with a part of it."""
    verdict = "goes on"
    if parent.type == "binary_expression":
        if text(parent.child_by_field_name("operator")) in _ARITHMETIC:
            verdict = "computes"
    elif parent.type == "assignment_expression":
        if _updates(parent, child, names):
            verdict = "computes"
    elif parent.type == "call_expression":
        if child == parent.child_by_field_name("arguments"):
            verdict = _kind_of_call(view, parent)
    elif parent.type == "lambda_expression" or (
        parent.type == "subscript_expression" and child != parent.child_by_field_name("argument")
    ):
        verdict = "ends"
    return verdict


def _updates(assignment: Node, child: Node, names: frozenset[str]) -> bool:
    """``sum += bias`` and its kin, but not the adding up of partial sums."""
    operator = text(assignment.child_by_field_name("operator"))
    if operator not in ("+=", "-=", "*=", "/=") or child != assignment.child_by_field_name("left"):
        return False
    right = assignment.child_by_field_name("right")
    return right is None or base_name(right) not in names


def _kind_of_call(view: View, call: Node) -> str:
    """Conversions go on; copies, tensor algebra, atomics and shuffles end it."""
    name = callee(call)
    if EXTENTS.fullmatch(name):
        return "ends"
    if _MATH.fullmatch(name):
        return "computes"
    function = view.by_name.get(name) or view.by_name.get("operator()")
    if function is not None and (name in view.by_name or _is_functor(call)):
        words = {text(node) for node in walk(function) if not node.child_count}
        if any(_SHUFFLE.fullmatch(word) for word in words):
            return "ends"
        return "computes" if _has_arithmetic(function) else "goes on"
    return "goes on" if len(arguments_of(call)) == 1 else "ends"


def _is_functor(call: Node) -> bool:
    """Whether an object is called with several arguments or a scalar; tensors take indices."""
    function = call.child_by_field_name("function")
    return function is not None and function.type in ("identifier", "compound_literal_expression")


def _has_arithmetic(function: Node) -> bool:
    body = function.child_by_field_name("body")
    if body is None:
        return False
    return any(
        (
            node.type == "binary_expression"
            and text(node.child_by_field_name("operator")) in _ARITHMETIC
        )
        or node.type == "conditional_expression"
        or (node.type == "call_expression" and _MATH.fullmatch(callee(node)) is not None)
        for node in walk(body)
    )


def _is_staged(view: View, function: Node, sums: frozenset[str]) -> bool:
    """Whether sums are written to shared memory, element by element or by a copy."""
    shared = view.shared(function) - sums
    for node in walk(function):
        if node.type == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            into = left is not None and left.type != "identifier" and base_name(left) in shared
            if into and right is not None and _mentions(right, sums):
                return True
        elif node.type == "call_expression" and callee(node) in ("copy", "copy_if", "copy_aligned"):
            arguments = arguments_of(node)
            if (
                len(arguments) > 1
                and base_name(arguments[-1]) in shared
                and base_name(arguments[-2]) in sums
            ):
                return True
    return False


def _mentions(node: Node, names: frozenset[str]) -> bool:
    return any(child.type == "identifier" and text(child) in names for child in walk(node))
