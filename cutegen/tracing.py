"""Traces a reference to ATen operations with symbolic extents, touching no data.

Everything runs under ``FakeTensorMode``: a tensor of gigabytes costs nothing.
"""

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from pydantic import JsonValue
from torch import Tensor, nn
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim, ExportedProgram, export
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.nn.attention import SDPBackend, sdpa_kernel

from cutegen.exported import Trace, TraceInput, read_program
from cutegen.reference import FunctionModule
from cutegen.spec import TracedOp
from cutegen.spec_error import SpecError


def trace(
    module: nn.Module, arguments: Sequence[TraceInput], state_names: Mapping[str, str]
) -> Trace | None:
    """Trace a module, or None if it cannot be traced.

    Args:
        module: The reference.
        arguments: Those of ``forward`` in order; tensors may be fake and are only looked at
            for their shape and dtype.
        state_names: Contract names of parameters and buffers by their names in the module.

    Raises:
        SpecError: The module computes with a tensor that the contract cannot hand over.
    """
    for dynamic in (True, False):
        try:
            program = _export(module, [argument.value for argument in arguments], dynamic)
            found = read_program(program, arguments, state_names)
        except SpecError:
            raise
        except Exception:  # noqa: BLE001, S112 - export fails in countless ways; all mean "no"
            continue
        return found._replace(ops=_name_scalars(module, arguments, found.ops, state_names))
    return None


def _export(module: nn.Module, values: Sequence[Tensor | float], dynamic: bool) -> ExportedProgram:
    with (
        _quiet(),
        torch.no_grad(),
        sdpa_kernel(SDPBackend.MATH),  # the fused ones do not look whether shapes agree
        FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True),
    ):
        args = tuple(
            torch.empty(value.shape, dtype=value.dtype) if isinstance(value, Tensor) else value
            for value in values
        )
        shapes = tuple(
            [Dim.AUTO if extent > 1 else Dim.STATIC for extent in value.shape]
            if isinstance(value, Tensor)
            else None
            for value in args
        )
        variadic = isinstance(module, FunctionModule)
        program: ExportedProgram = export(
            module,
            args,
            strict=False,
            dynamic_shapes=((shapes,) if variadic else shapes) if dynamic else None,
        )
        if any(_is_in_place(node) for node in program.graph.nodes):
            # Functional form, with the operations kept whole; it costs more than the export.
            program = program.run_decompositions({})
        return program


def _is_in_place(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and node.target._schema.is_mutable  # noqa: SLF001 - no public way


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Export reports what it cannot trace at length; here that is no news."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def _name_scalars(
    module: nn.Module,
    arguments: Sequence[TraceInput],
    ops: tuple[TracedOp, ...],
    state_names: Mapping[str, str],
) -> tuple[TracedOp, ...]:
    """Replace the value of each scalar argument by a reference to it.

    Export bakes scalars in. Tracing once more with one scalar nudged shows which constants
    follow it; a constant that is computed from a scalar in Python stays a constant.
    """
    for index, argument in enumerate(arguments):
        if isinstance(argument.value, Tensor | bool):
            continue
        step = 1 if isinstance(argument.value, int) else 0.001953125
        nudged = list(arguments)
        nudged[index] = argument._replace(value=argument.value + step)
        try:
            program = _export(module, [each.value for each in nudged], dynamic=True)
            others = read_program(program, nudged, state_names).ops
        except Exception:  # noqa: BLE001, S112 - the nudged value is invalid: it stays baked in
            continue
        if [op.op for op in others] != [op.op for op in ops]:
            continue
        pair = _Pair(argument.name, argument.value, argument.value + step)
        ops = tuple(
            op.model_copy(
                update={
                    "args": tuple(map(pair.merge, op.args, other.args)),
                    "kwargs": {
                        key: pair.merge(value, other.kwargs.get(key))
                        for key, value in op.kwargs.items()
                    },
                }
            )
            for op, other in zip(ops, others, strict=True)
        )
    return ops


class _Pair(NamedTuple):
    """A scalar with its two values."""

    name: str
    value: float
    nudged: float

    def merge(self, left: JsonValue, right: JsonValue) -> JsonValue:
        """``left``, with a reference wherever both sides show the scalar's values."""
        if isinstance(left, list) and isinstance(right, list):
            return list(map(self.merge, left, right)) if len(left) == len(right) else left
        if left == self.value and right == self.nudged:
            return {"ref": self.name}
        return left
