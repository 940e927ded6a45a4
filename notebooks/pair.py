"""Writes each ``.ipynb`` from its ``.py``: ``python notebooks/pair.py``.

The ``.py`` is the source. The ``.ipynb`` is kept beside it for those who open it without jupytext,
and without outputs: they hold times and paths of one machine, nobody would notice when they no longer
tell the truth, and every run would change them. CI executes the notebooks instead.
"""

from pathlib import Path

import jupytext
import nbformat

FOLDER = Path(__file__).resolve().parent
NAMES = sorted(file.stem for file in FOLDER.glob("[0-9]_*.py"))


def paired(name: str) -> nbformat.NotebookNode:
    """The notebook that a ``.py`` stands for; the ids of its cells do not change by themselves."""
    notebook = jupytext.read(FOLDER / f"{name}.py")
    notebook.metadata.pop("jupytext", None)
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{index}"
    return notebook


if __name__ == "__main__":
    for chosen in NAMES:
        nbformat.write(paired(chosen), FOLDER / f"{chosen}.ipynb")
