"""Runs a reference to see its outputs' shapes, and how much work it is.

That takes no data, unless the reference branches on values.
"""

import contextlib
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from cutegen.dispatch_mode import Watch
from cutegen.reference import as_outputs, module_state
from cutegen.spec_error import SpecError


class MetaRun(NamedTuple):
    """Outputs as (shape, dtype), and the work of one run.

    ``elements`` is the element count of the largest tensor; ``multiplies`` counts the
    multiply-adds of contractions and convolutions.
    """

    outputs: tuple[tuple[tuple[int, ...], torch.dtype], ...]
    elements: int
    multiplies: int


class _LargestTensor(Watch):
    """Watches the results of operations."""

    def __init__(self, elements: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # PyTorch's own
        self.elements = elements

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - PyTorch's own protocol
        types: Any,  # noqa: ANN401 - the same
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - the same
        result = func(*args, **(kwargs or {}))
        for value in result if isinstance(result, tuple | list) else (result,):
            if isinstance(value, Tensor):
                self.elements = max(self.elements, value.numel())
        return result


def meta_run(
    module: nn.Module,
    arguments: Sequence[tuple[tuple[int, ...], torch.dtype] | float],
) -> MetaRun:
    """Run a module on shapes alone, or, where it asks for values, on small random data.

    Args:
        module: The reference; its state is looked at, and left alone.
        arguments: Those of ``forward``: shape and dtype of each tensor, or a scalar.

    Raises:
        SpecError: It returns something else than tensors.
        Exception: Whatever the module raises at these shapes.
    """
    try:
        with _unlogged(), FakeTensorMode(allow_non_fake_inputs=True) as mode:
            state: dict[str, Tensor] = {
                key: mode.from_tensor(value) for key, value in module_state(module).items()
            }
            return _watched_run(module, state, [_empty(argument) for argument in arguments])
    except SpecError:
        raise
    except Exception:
        nbytes = sum(
            math.prod(argument[0]) * argument[1].itemsize
            for argument in arguments
            if isinstance(argument, tuple)
        )
        if nbytes > _LARGEST_REAL_RUN:
            raise
    state = {key: value.detach().clone() for key, value in module_state(module).items()}
    return _watched_run(module, state, [_random(argument) for argument in arguments])


_LARGEST_REAL_RUN = 2**30  # bytes of inputs
_FAKE_LOG = logging.getLogger("torch._subclasses.fake_tensor")


@contextlib.contextmanager
def _unlogged() -> Iterator[None]:
    """PyTorch logs a traceback where shapes do not fit; here that is an answer, and no news."""
    before = _FAKE_LOG.disabled
    _FAKE_LOG.disabled = True
    try:
        yield
    finally:
        _FAKE_LOG.disabled = before


def _watched_run(
    module: nn.Module, state: dict[str, Tensor], args: Sequence[Tensor | float]
) -> MetaRun:
    largest = max((arg.numel() for arg in args if isinstance(arg, Tensor)), default=0)
    with (
        torch.no_grad(),
        sdpa_kernel(SDPBackend.MATH),  # the fused ones do not look whether shapes agree
        FlopCounterMode(display=False) as flops,
        _LargestTensor(largest) as watch,
    ):
        outputs = as_outputs(
            torch.func.functional_call(module, state, tuple(args), tie_weights=False)
        )
    return MetaRun(
        outputs=tuple((tuple(output.shape), output.dtype) for output in outputs),
        elements=watch.elements,
        multiplies=flops.get_total_flops() // 2,
    )


def _empty(argument: tuple[tuple[int, ...], torch.dtype] | float) -> Tensor | float:
    if not isinstance(argument, tuple):
        return argument
    shape, dtype = argument
    return torch.empty(shape, dtype=dtype)


def _random(argument: tuple[tuple[int, ...], torch.dtype] | float) -> Tensor | float:
    """Data from [0, 1), or {0, 1} where it may be indices."""
    if not isinstance(argument, tuple):
        return argument
    shape, dtype = argument
    if dtype.is_floating_point:
        return torch.rand(shape).to(dtype)
    return torch.randint(0, 2, shape).to(dtype)
