"""How long the sums in a reference are: rounding errors grow with the root of that."""

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor

from cutegen.dispatch_mode import Watch

_PRODUCTS = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "addmm": 1, "baddbmm": 1, "addmv": 1}
_TRANSPOSED = 6  # the position of this argument in aten::convolution
_RUNNING = ("softmax", "cumsum", "cumprod", "logcumsumexp")
_SHRINKING = ("sum", "mean", "var", "std", "prod", "norm", "pool", "loss")


class SummedTerms(Watch):
    """While active, counts the terms of the sums that ATen operations take.

    ``longest`` is the longest single sum. ``total`` adds the lengths of all operations up:
    their errors are independent, so that variances add, and the root of the total is how the
    error of a chain of sums grows.
    """

    def __init__(self) -> None:
        """Nothing seen yet: a length of one."""
        super().__init__()  # type: ignore[no-untyped-call] # PyTorch's own
        self.longest = 1
        self._sum = 0

    @property
    def total(self) -> int:
        """Terms of all sums, at least one."""
        return max(self._sum, 1)

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the operation returns
        """Run the operation and note how many terms it summed."""
        result = func(*args, **(kwargs or {}))
        terms = _terms(operation_name(func), args, result)
        self.longest = max(self.longest, terms)
        self._sum += terms if terms > 1 else 0
        return result


def operation_name(func: Callable[..., Any]) -> str:
    """An ATen operation's name without its overload: ``mm``, ``_softmax``."""
    return str(getattr(func, "overloadpacket", func)).rpartition(".")[2]


def _terms(name: str, args: tuple[Any, ...], result: object) -> int:
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    if not tensors:
        return 1
    terms = 1
    if name in _PRODUCTS and len(tensors) > _PRODUCTS[name]:
        terms = int(tensors[_PRODUCTS[name]].shape[-1])
    elif name == "convolution":
        transposed = bool(args[_TRANSPOSED])
        terms = tensors[1].numel() // tensors[1].shape[int(transposed)]
    elif "scaled_dot_product" in name:
        terms = max(max(tensor.shape[-2:]) for tensor in tensors[:3])
    elif any(word in name for word in _RUNNING):
        terms = max(tensors[0].shape, default=1)
    elif any(word in name for word in _SHRINKING):
        results = result if isinstance(result, tuple) else (result,)
        sizes = [part.numel() for part in results if isinstance(part, Tensor) and part.numel()]
        terms = tensors[0].numel() // min(sizes, default=1)
    return terms
