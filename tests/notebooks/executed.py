"""A notebook that was run, and where the notebooks lie."""

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "notebooks"
NAMES = sorted(file.stem for file in FOLDER.glob("[0-9]_*.py"))


class Executed:
    """A notebook with its outputs."""

    def __init__(self, notebook: Any, seconds: float) -> None:
        self.seconds = seconds
        self.cells = [cell for cell in notebook.cells if cell.cell_type == "code"]

    def outputs(self, mime: str) -> list[str]:
        """Everything displayed in one MIME type, as it stood at the end."""
        shown = (output for cell in self.cells for output in cell.outputs if "data" in output)
        return [output["data"][mime] for output in shown if mime in output["data"]]

    @property
    def printed(self) -> str:
        streams = (out for cell in self.cells for out in cell.outputs if "text" in out)
        return "".join(out["text"] for out in streams if out["name"] == "stdout")

    @property
    def complaints(self) -> str:
        streams = (out for cell in self.cells for out in cell.outputs if "text" in out)
        return "".join(out["text"] for out in streams if out["name"] == "stderr")
