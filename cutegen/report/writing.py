"""Reports as files: of one run, or of many with a table that leads to each."""

import os
from pathlib import Path

from cutegen.report.dossier import read_run
from cutegen.report.page import report_html
from cutegen.store import write_atomically

REPORT_FILE = "report.html"


def write_report(folder: Path, out: Path | None = None, *, table: Path | None = None) -> Path:
    """Write the report of a run; returns where it lies.

    Args:
        folder: The run's.
        out: The file; ``report.html`` in the run's folder by default.
        table: The page of all runs that the report should lead back to.

    Raises:
        FileNotFoundError: ``folder`` is no run folder.
        ValueError: What is in it was not written by this version.
    """
    file = (out or folder / REPORT_FILE).resolve()
    back = os.path.relpath(table.resolve(), file.parent) if table else ""
    page = report_html(read_run(folder), back=Path(back).as_posix() if back else "")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, page)
    return file
