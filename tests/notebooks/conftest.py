"""Notebooks are executed by a real Jupyter kernel, in a folder of their own."""

import importlib.util
import os
import shutil
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from executed import FOLDER, Executed

_CELL_S = 200  # on two busy cores, with nothing built before


@pytest.fixture(scope="session")
def pair() -> ModuleType:
    """``notebooks/pair.py``, which is no module of a package."""
    pytest.importorskip("jupytext", reason="needs the notebooks extra")
    spec = importlib.util.spec_from_file_location("pair", FOLDER / "pair.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def execute(pair: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a notebook to its end; a cell that raises fails the test."""
    nbclient = pytest.importorskip("nbclient", reason="needs the dev extra")
    manager = pytest.importorskip("jupyter_client.manager")
    pytest.importorskip("ipykernel", reason="needs the dev extra")
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    path = os.pathsep.join(filter(None, (str(FOLDER), os.environ.get("PYTHONPATH"))))
    monkeypatch.setenv("PYTHONPATH", path)  # what lies beside the notebook can be imported
    monkeypatch.setenv("JUPYTER_PATH", f"{sys.prefix}/share/jupyter")

    def run(name: str) -> Executed:
        notebook = pair.paired(name)
        kernel = manager.AsyncKernelManager(
            kernel_name="python3",
            transport="ipc",
            connection_file=str(tmp_path / "k.json"),
            ip=str(tmp_path / "s"),
        )
        client = nbclient.NotebookClient(
            notebook, km=kernel, timeout=_CELL_S, resources={"metadata": {"path": str(tmp_path)}}
        )
        began = time.monotonic()
        client.execute()
        return Executed(notebook, time.monotonic() - began)

    return run
