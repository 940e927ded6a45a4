"""Would no work at all have passed? Then a pass says little, and the verdict says so."""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from cutegen.verification.comparison import Target, compare
from cutegen.verification.expectation import Expectation


def trivial_answers(expectation: Expectation) -> frozenset[str]:
    """Names of answers without work that this check would let pass.

    They are ``zeros``, ``constant`` (each output's mean everywhere) and ``copy of NAME``.
    """
    passing: frozenset[str] | None = None
    for target in expectation.targets:
        names = frozenset(
            name
            for name, answer in _answers(target, expectation.inputs)
            if compare(expectation.name, answer, target).within_bounds
        )
        passing = names if passing is None else passing & names
    return passing or frozenset()


def _answers(target: Target, inputs: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    tensor, exact = target.tensor, target.exact
    dtype = tensor.dtype.torch
    yield "zeros", torch.zeros(tensor.shape, dtype=dtype, device=exact.device)
    if exact.is_floating_point() and exact.numel() > 1:
        mean = exact.nan_to_num(0.0, 0.0, 0.0).mean()
        yield "constant", mean.to(dtype).expand(tensor.shape).contiguous()
    for name, given in inputs.items():
        if given.shape == exact.shape and given.dtype == dtype:
            yield f"copy of {name}", given
