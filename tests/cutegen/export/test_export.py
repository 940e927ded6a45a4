"""An exported kernel works where CuTeGen is not, as PyTorch's own operators do."""

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from cutegen.export import Form, Shipment, export
from cutegen.kernel import args_header
from cutegen.spec import KernelSpec
from cutegen.toolchain.protocol import BuildRequest, Toolchain

SOURCE = """
#include "cutegen_args.h"
extern "C" size_t cutegen_workspace_bytes(CutegenArgs const* a) { return a->x_shape[0] * 4; }
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  int64_t rows = a->x_shape[0], columns = a->x_shape[1];
  if (rows > 100) return cudaErrorNotSupported;
  float* sums = static_cast<float*>(a->workspace);
  for (int64_t i = 0; i < rows; ++i) {
    sums[i] = 0;
    for (int64_t j = 0; j < columns; ++j) {
      float scaled = a->x[i * columns + j] * a->inner_weight[j] + float(a->shift);
      a->out0[i * columns + j] = scaled;
      sums[i] += scaled;
    }
    a->out1[i] = sums[i];
  }
  return cudaSuccess;
}
"""

REFERENCE = """
import torch
from torch import nn

class Scale(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(size))

class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.inner = Scale(size)

    def forward(self, x, shift):
        scaled = x * self.inner.weight + shift
        return scaled, scaled.sum(1)

def get_inputs():
    return [torch.rand(4, 6), 0.5]

def get_init_inputs():
    return [6]
"""


@pytest.fixture
def shipment(tmp_path: Path, host_toolchain: Toolchain) -> Shipment:
    file = tmp_path / "1_Scale.py"
    file.write_text(REFERENCE)
    spec = KernelSpec.from_kernelbench(file)
    built = host_toolchain.build(BuildRequest(source=SOURCE, header=args_header(spec)))
    assert built.library is not None, built.log
    return Shipment(
        spec=spec,
        source=SOURCE,
        candidate=f"test{abs(hash(str(tmp_path)))}",
        arch="sm_90a",
        libraries={"cpu": built.library},
    )


@pytest.fixture
def package(
    shipment: Shipment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModuleType]:
    folder = export(shipment, tmp_path / "shipped", Form.TORCH)
    monkeypatch.syspath_prepend(str(folder.parent))
    yield importlib.import_module(folder.name)
    for name in [name for name in sys.modules if name.split(".")[0] == folder.name]:
        del sys.modules[name]


def test_it_is_an_operator_that_pytorch_accepts(package: ModuleType) -> None:
    x = torch.randn(5, 6)
    weight = package.kernel.reference.inner.weight
    scaled, sums = package.kernel(x, 0.25)
    torch.testing.assert_close(scaled, x * weight + 0.25)
    torch.testing.assert_close(sums, scaled.sum(1))
    torch.library.opcheck(package.kernel.op, (x, 0.25, weight))


def test_its_module_keeps_the_parameters_and_compiles(package: ModuleType) -> None:
    layer = package.kernel.module()
    weight = torch.arange(6.0)
    layer.load_state_dict({"inner.weight": weight})

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scaled, sums = self.layer((x + 1).t().contiguous().t(), 2.0)
            return torch.relu(scaled) + sums[:, None]

    net = torch.compile(Net(), fullgraph=True, dynamic=True, backend="aot_eager")
    with torch.no_grad():
        for rows in (3, 8):
            x = torch.randn(rows, 6)
            scaled = (x + 1) * weight + 2
            torch.testing.assert_close(net(x), torch.relu(scaled) + scaled.sum(1)[:, None])


@pytest.mark.parametrize(
    ("make", "phrase"),
    [
        (lambda: torch.ones(101, 6), "does not support the shapes x [101, 6]"),
        (lambda: torch.ones(2, 6).double(), "float32"),
    ],
)
def test_what_it_was_not_made_for_raises_or_falls_back(
    package: ModuleType, make: Callable[[], torch.Tensor], phrase: str
) -> None:
    x = make()
    with pytest.raises(package.CutegenUnsupportedError) as caught:
        package.kernel(x, 0.0)
    assert phrase in str(caught.value)
    package.kernel.on_unsupported = "fallback"
    with pytest.warns(UserWarning, match="falls back to PyTorch"):
        scaled, _ = package.kernel(x, 0.0)
    torch.testing.assert_close(scaled, x * package.kernel.reference.inner.weight)


def test_a_misaligned_view_is_copied_not_refused(package: ModuleType) -> None:
    x = torch.randn(31)[1:].reshape(5, 6)
    scaled, _ = package.kernel(x, 0.0)
    torch.testing.assert_close(scaled, x * package.kernel.reference.inner.weight)


def test_training_through_it_is_refused(package: ModuleType) -> None:
    scaled, _ = package.kernel(torch.randn(5, 6, requires_grad=True), 0.0)
    with pytest.raises(RuntimeError, match="no gradient flows through it"):
        scaled.sum().backward()


def test_the_package_needs_no_cutegen(package: ModuleType) -> None:
    folder = Path(str(package.__file__)).parent
    script = (
        "import sys; sys.modules['cutegen'] = None; import torch, "
        f"{folder.name} as p; print(p.kernel(torch.ones(2, 6), 1.0)[1].shape)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder.parent,
        env={"PYTHONPATH": str(folder.parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.strip() == "torch.Size([2])"


def test_a_function_travels_without_its_module(
    tmp_path: Path, host_toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = KernelSpec.from_callable(lambda x: x * 2, [torch.rand(4)], name="twice")
    source = """
#include "cutegen_args.h"
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  for (int64_t i = 0; i < a->x_shape[0]; ++i) a->out[i] = 2 * a->x[i];
  return cudaSuccess;
}
"""
    built = host_toolchain.build(BuildRequest(source=source, header=args_header(spec)))
    assert built.library is not None, built.log
    shipment = Shipment(spec, source, "twice", "sm_90a", libraries={"cpu": built.library})
    folder = export(shipment, tmp_path / "twice", Form.TORCH)
    monkeypatch.syspath_prepend(str(folder.parent))
    package = importlib.import_module(folder.name)
    assert torch.equal(package.kernel(torch.ones(7)), torch.full((7,), 2.0))
    with pytest.raises(ValueError, match="KernelBench format"):
        export(shipment, tmp_path / "other", Form.KERNELBENCH)


def test_model_new_is_one_file(shipment: Shipment, tmp_path: Path) -> None:
    file = export(shipment, tmp_path / "bench", Form.KERNELBENCH)
    context: dict[str, Any] = {"__name__": "model_new"}
    exec(compile(file.read_text(), str(file), "exec"), context)
    context["CUTEGEN_LIBRARIES"] = lambda _: shipment.libraries["cpu"]
    torch.manual_seed(3)
    reference = context["Model"](6)
    torch.manual_seed(3)
    model = context["ModelNew"](6)
    x = torch.randn(7, 6)
    for ours, theirs in zip(model(x, 0.5), reference(x, 0.5), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_source_is_shipped_with_its_header(shipment: Shipment, tmp_path: Path) -> None:
    file = export(shipment, tmp_path / "bare", Form.SOURCE)
    assert file.read_text() == SOURCE
    assert "struct CutegenArgs" in (file.parent / "cutegen_args.h").read_text()
    with pytest.raises(FileExistsError, match="name a new folder"):
        export(shipment, tmp_path / "bare", Form.SOURCE)
