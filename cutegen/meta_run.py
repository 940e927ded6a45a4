"""Runs a reference on shapes alone: what it returns, and how much work it would be."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from cutegen.reference import as_outputs, module_state


class MetaRun(NamedTuple):
    """Outputs as (shape, dtype), and the work of one run.

    ``elements`` is the element count of the largest tensor; ``multiplies`` counts the
    multiply-adds of contractions and convolutions.
    """

    outputs: tuple[tuple[tuple[int, ...], torch.dtype], ...]
    elements: int
    multiplies: int


class _LargestTensor(TorchDispatchMode):
    """Watches the results of operations."""

    def __init__(self, elements: int) -> None:
        super().__init__()
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
    module: nn.Module, arguments: Iterable[tuple[tuple[int, ...], torch.dtype] | float]
) -> MetaRun:
    """Run a module under ``FakeTensorMode``.

    Args:
        module: The reference; its state is looked at, and left alone.
        arguments: Those of ``forward``: shape and dtype of each tensor, or a scalar.

    Raises:
        SpecError: It returns something else than tensors.
        Exception: Whatever the module raises at these shapes, or where it needs data.
    """
    with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
        args = tuple(
            torch.empty(argument[0], dtype=argument[1]) if isinstance(argument, tuple) else argument
            for argument in arguments
        )
        state: dict[str, Tensor] = {
            key: mode.from_tensor(value) for key, value in module_state(module).items()
        }
        largest = max((arg.numel() for arg in args if isinstance(arg, Tensor)), default=0)
        with FlopCounterMode(display=False) as flops, _LargestTensor(largest) as watch:
            outputs = as_outputs(torch.func.functional_call(module, state, args, tie_weights=False))
    return MetaRun(
        outputs=tuple((tuple(output.shape), output.dtype) for output in outputs),
        elements=watch.elements,
        multiplies=flops.get_total_flops() // 2,
    )
