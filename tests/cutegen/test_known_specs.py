"""A spec that was derived before is read from the cache, where its text decides it."""

import subprocess
import sys
from pathlib import Path

import pytest

from cutegen.spec import KernelSpec
from cutegen.spec_error import SpecError

REFERENCE = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return x * 2.0

def get_inputs():
    return [torch.rand(64, 64)]
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUTEGEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "specs"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "double.py"
    path.write_text(REFERENCE)
    return path


def test_the_second_time_nothing_is_traced(cache: Path, file: Path) -> None:
    first = KernelSpec.from_kernelbench(file)
    assert len(list(cache.iterdir())) == 1
    program = (
        "import sys; from cutegen.spec import KernelSpec; "
        f"spec = KernelSpec.from_kernelbench({str(file)!r}); "
        "print(spec.id, 'torch._dynamo' in sys.modules)"
    )
    again = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert again.stdout.split() == [first.id, "False"]


def test_options_and_text_make_another_spec(cache: Path, file: Path) -> None:
    KernelSpec.from_kernelbench(file)
    assert KernelSpec.from_kernelbench(file, math_mode="tf32").math_mode == "tf32"
    assert KernelSpec.from_kernelbench(file, name="twice").name == "twice"
    file.write_text(REFERENCE.replace("64, 64", "128, 32"))
    assert KernelSpec.from_kernelbench(file).timed.of("input")[0].shape == (128, 32)
    assert len(list(cache.iterdir())) == 4


def test_a_damaged_entry_is_derived_anew(cache: Path, file: Path) -> None:
    first = KernelSpec.from_kernelbench(file)
    (entry,) = cache.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(whole[: len(whole) // 2])
    assert KernelSpec.from_kernelbench(file).id == first.id
    assert entry.read_bytes() == whole


@pytest.mark.parametrize(
    "line", ["import json", "from pathlib import Path", "__import__('os')", "open('/dev/null')"]
)
def test_what_the_text_does_not_decide_is_not_kept(cache: Path, file: Path, line: str) -> None:
    file.write_text(f"{line}\n{REFERENCE}")
    KernelSpec.from_kernelbench(file)
    assert not cache.exists()


def test_a_refusal_is_not_kept(cache: Path, file: Path) -> None:
    file.write_text(REFERENCE.replace("x * 2.0", "x * 0.0"))
    for _ in range(2):
        with pytest.raises(SpecError, match="does not depend"):
            KernelSpec.from_kernelbench(file)
    assert not cache.exists()
