"""Where tools are found, and what is said when they are not."""

import shutil
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


def test_the_wheels_are_searched_last_and_bring_their_library_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = tmp_path / "nvidia" / "cu99"  # sorts before any that is installed
    (root / "lib").mkdir(parents=True)
    tool(root / "bin" / "nvcc", "Cuda compilation tools, release 99.1, V99.1.23")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    nvcc = find_nvcc()
    assert (nvcc.version, nvcc.found_by) == ("99.1.23", "wheels")
    assert nvcc.library_dirs == (root / "lib",)

    tool(tmp_path / "home" / "bin" / "nvcc", "V12.3.4")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert find_nvcc().found_by == "CUDA_HOME"
    assert find_nvcc(root / "bin" / "nvcc").found_by == "argument"


def test_an_absent_nvcc_is_told_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    try:
        found = find_nvcc()
    except ToolNotFoundError as error:
        assert "pip install 'cutegen[cuda]'" in str(error)  # noqa: PT017 - wheels may be here
    else:
        assert found.found_by == "wheels"


def test_clang_and_an_old_gxx_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolNotFoundError, match="not the tool it should be"):
        find_gxx(tool(tmp_path / "clang" / "g++", "Apple clang version 15.0.0"))
    with pytest.raises(ToolNotFoundError, match="11 or newer"):
        find_gxx(tool(tmp_path / "old" / "g++", "g++ (GCC) 9.4.0"))


def test_cxx_chooses_the_gxx_when_it_is_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chosen = tool(tmp_path / "g++-13", "g++-13 (GCC) 13.2.0")
    monkeypatch.setenv("CXX", str(chosen))
    assert (find_gxx().version, find_gxx().found_by) == ("13.2.0", "CXX")
    monkeypatch.setenv("CXX", "clang++")
    assert find_gxx().path == Path(shutil.which("g++") or "")


def tool(path: Path, version: str) -> Path:
    """A real executable that knows its version and nothing else."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{version}'\n")
    path.chmod(0o755)
    return path


def test_gxx_has_a_version() -> None:
    assert int(find_gxx().version.split(".")[0]) >= 11
