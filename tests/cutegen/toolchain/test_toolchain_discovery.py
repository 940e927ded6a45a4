"""Where tools are found, and what is said when they are not."""

from pathlib import Path

import pytest

from cutegen.toolchain.discovery import ToolNotFoundError, find_cutlass, find_gxx, find_nvcc


def test_cutlass_comes_from_the_wheel_with_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUTEGEN_CUTLASS", raising=False)
    cutlass = find_cutlass()
    assert cutlass.found_by == "nvidia-cutlass wheel"
    assert int(cutlass.version.split(".")[0]) >= 4
    assert all(path.is_dir() for path in cutlass.include_dirs)


def test_a_named_cutlass_goes_before_the_wheel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    header = tmp_path / "include" / "cutlass" / "version.h"
    header.parent.mkdir(parents=True)
    header.write_text("#define CUTLASS_MAJOR 9\n#define CUTLASS_MINOR 8\n#define CUTLASS_PATCH 7\n")
    monkeypatch.setenv("CUTEGEN_CUTLASS", str(tmp_path))
    assert find_cutlass().version == "9.8.7"
    assert find_cutlass().found_by == "CUTEGEN_CUTLASS"


def test_a_wrong_name_is_an_error_not_a_reason_to_look_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUTEGEN_CUTLASS", str(tmp_path))
    with pytest.raises(ToolNotFoundError, match="CUTEGEN_CUTLASS"):
        find_cutlass()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    with pytest.raises(ToolNotFoundError, match="CUDA_HOME"):
        find_nvcc()


def test_a_program_that_does_not_run_is_no_compiler(tmp_path: Path) -> None:
    broken = tmp_path / "nvcc"
    broken.write_text("not a program")
    with pytest.raises(ToolNotFoundError, match="does not run"):
        find_nvcc(broken)


def test_gxx_has_a_version() -> None:
    assert int(find_gxx().version.split(".")[0]) >= 11
