"""Makes the cases of a spec: the timed one, and the checks scaled down from it."""

from collections.abc import Sequence

from torch import nn

from cutegen.arguments import supported_dtype
from cutegen.check_shapes import Shapes, ShapeSearch, Work
from cutegen.exported import Extent, Trace
from cutegen.meta_run import MetaRun, meta_run
from cutegen.spec import Case, ScalarArg, TensorArg
from cutegen.spec_error import SpecError

CheckShapes = Sequence[Sequence[Sequence[int]]]
"""Per check, one shape for each tensor input of ``forward``, in order."""


class Cases:
    """Makes cases: runs the module on shapes, and names its outputs."""

    def __init__(
        self,
        module: nn.Module,
        arguments: Sequence[TensorArg | ScalarArg],
        state: tuple[TensorArg, ...],
    ) -> None:
        """Keep the built reference and its arguments at the timed case."""
        self._module = module
        self._arguments = arguments
        self._state = state
        self._inputs = [argument for argument in arguments if isinstance(argument, TensorArg)]
        self._ranks: list[int] = []

    def timed(self) -> Case:
        """The case as the inputs are given."""
        shapes = tuple(tensor.shape for tensor in self._inputs)
        try:
            run = self._run(shapes)
        except SpecError:
            raise
        except Exception as error:
            raise SpecError(
                f"forward raises {type(error).__name__} on its own inputs: {error}"
            ) from error
        self._ranks = [len(shape) for shape, _ in run.outputs]
        return self._case("timed", shapes, run)

    def given(self, check_shapes: CheckShapes) -> tuple[Case, ...]:
        """Cases at shapes that the user chose."""
        cases = []
        for index, given in enumerate(check_shapes):
            shapes = tuple(tuple(shape) for shape in given)
            ranks = [len(tensor.shape) for tensor in self._inputs]
            if [len(shape) for shape in shapes] != ranks:
                raise SpecError(
                    f"check_shapes[{index}] is {shapes}; it needs one shape per tensor input, "
                    f"of ranks {ranks}"
                )
            try:
                cases.append(self._case(f"given{index}", shapes, self._run(shapes)))
            except SpecError:
                raise
            except Exception as error:
                raise SpecError(f"forward raises at check_shapes[{index}]: {error}") from error
        return tuple(cases)

    def derived(self, traced: Trace | None) -> tuple[Case, ...]:
        """Cases scaled down by the symbols of the trace, or by equal extents without one."""
        extents = traced.extents if traced else self._equal_extents()
        timed = {
            extent: actual
            for shape, tensor in zip(extents, self._inputs, strict=True)
            for extent, actual in zip(shape, tensor.shape, strict=True)
            if isinstance(extent, str)
        }
        search = ShapeSearch(extents, timed, traced.ranges if traced else {}, self._probe)
        return tuple(
            self._case(name, shapes, self._run(shapes)) for name, shapes in search.choose().items()
        )

    def _equal_extents(self) -> tuple[tuple[Extent, ...], ...]:
        """Without a trace: extents found in the state are fixed, equal ones move together."""
        fixed = {1} | {extent for tensor in self._state for extent in tensor.shape}
        return tuple(
            tuple(extent if extent in fixed else f"s{extent}" for extent in tensor.shape)
            for tensor in self._inputs
        )

    def work(self, shapes: Shapes) -> Work | None:
        """How much the reference does at some shapes; None where it raises or returns nothing."""
        run = self._tried(shapes)
        return Work(run.elements, run.multiplies) if run is not None else None

    def _probe(self, shapes: Shapes) -> Work | None:
        run = self._tried(shapes)
        if run is None or [len(shape) for shape, _ in run.outputs] != self._ranks:
            return None
        return Work(run.elements, run.multiplies)

    def _tried(self, shapes: Shapes) -> MetaRun | None:
        try:
            run = self._run(shapes)
        except Exception:  # noqa: BLE001 - whatever it raises, it does not run at these shapes
            return None
        return None if any(0 in shape for shape, _ in run.outputs) else run

    def _run(self, shapes: Shapes) -> MetaRun:
        waiting = iter(shapes)
        return meta_run(
            self._module,
            [
                argument.value
                if isinstance(argument, ScalarArg)
                else (next(waiting), argument.dtype.torch)
                for argument in self._arguments
            ],
        )

    def _case(self, name: str, shapes: Shapes, run: MetaRun) -> Case:
        inputs = [
            tensor.model_copy(update={"shape": shape})
            for tensor, shape in zip(self._inputs, shapes, strict=True)
        ]
        single = len(run.outputs) == 1
        outputs = [
            TensorArg(
                name="out" if single else f"out{index}",
                role="output",
                dtype=supported_dtype(dtype, f"output {index}"),
                shape=shape,
            )
            for index, (shape, dtype) in enumerate(run.outputs)
        ]
        return Case(name=name, tensors=(*inputs, *self._state, *outputs))
