"""A kernel as a callable on tensors."""

from collections.abc import Callable

import pytest
import torch

from cutegen.execution import load_callable
from cutegen.execution.callable import KernelCallable
from cutegen.kernel import args_header
from cutegen.spec import KernelSpec
from cutegen.toolchain.protocol import BuildRequest, Toolchain

SOURCE = """
#include "cutegen_args.h"
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t rows = a->x_shape[0], columns = a->x_shape[1];
  if (rows > 100) return cudaErrorNotSupported;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      a->out[i * columns + j] = a->x[i * columns + j] * a->weight[j] + a->factor;
  return cudaSuccess;
}
"""


class Scale(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(1.0, 7.0))

    def forward(self, x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * self.weight + factor


@pytest.fixture
def kernel(host_toolchain: Toolchain) -> KernelCallable:
    spec = KernelSpec.from_module(Scale(), [torch.randn(4, 6), 0.5], name="scale")
    built = host_toolchain.build(BuildRequest(source=SOURCE, header=args_header(spec)))
    assert built.library is not None, built.log
    return load_callable(spec, built.library, "emulated")


def test_it_computes_what_the_reference_does(kernel: KernelCallable) -> None:
    module = Scale()
    for rows in (4, 9):
        x = torch.randn(rows, 6)
        out = kernel(x, 2.5)
        assert isinstance(out, torch.Tensor)
        torch.testing.assert_close(out, module(x, 2.5).detach())


def test_state_can_be_given(kernel: KernelCallable) -> None:
    out = kernel(torch.ones(4, 6), 0.0, state={"weight": torch.full((6,), 3.0)})
    assert isinstance(out, torch.Tensor)
    assert torch.equal(out, torch.full((4, 6), 3.0))


@pytest.mark.parametrize(
    ("call", "error", "phrase"),
    [
        (lambda k: k(torch.ones(4, 6)), TypeError, "takes (x, factor)"),
        (lambda k: k(1.0, 2.0), TypeError, "x must be a tensor"),
        (lambda k: k(torch.ones(4, 6).double(), 1.0), ValueError, "float32"),
        (lambda k: k(torch.ones(6, 4).t(), 1.0), ValueError, "contiguous"),
        (lambda k: k(torch.ones(4), 1.0), ValueError, "rank 2"),
        (lambda k: k(torch.ones(101, 6), 1.0), ValueError, "does not support"),
        (lambda k: k(torch.ones(25)[1:].reshape(4, 6), 1.0), ValueError, "aligned"),
    ],
)
def test_misuse_is_explained(
    kernel: KernelCallable,
    call: Callable[[KernelCallable], object],
    error: type[Exception],
    phrase: str,
) -> None:
    with pytest.raises(error) as caught:
        call(kernel)
    assert phrase in str(caught.value)
