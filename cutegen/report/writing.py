"""Reports as files: of one run, or of many with a table that leads to each."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from cutegen.report.dossier import Dossier, read_run
from cutegen.report.page import report_html
from cutegen.report.suite import row_of, row_without_run, suite_html
from cutegen.result import LOG_FILE
from cutegen.store import write_atomically
from cutegen.suite import SUITE_FILE, SuiteMember, SuiteResult

REPORT_FILE = "report.html"
TABLE_FILE = "index.html"


def is_run(folder: Path) -> bool:
    """Whether a folder is a run's."""
    return (folder / LOG_FILE).exists()


def write_report(folder: Path, out: Path | None = None) -> Path:
    """Write the report of a run; returns where it lies.

    Args:
        folder: The run's.
        out: The file; ``report.html`` in the run's folder by default.

    Raises:
        FileNotFoundError: ``folder`` is no run folder.
        ValueError: What is in it was not written by this version.
    """
    return _write(read_run(folder), (out or folder / REPORT_FILE).resolve())


def write_suite(folders: Sequence[Path], out: Path | None = None) -> Path:
    """Write a table of runs, and beside each run its report; returns where the table lies.

    Args:
        folders: Run folders, and folders that hold some, such as a suite's.
        out: The table's file; ``index.html`` in the (first) folder that holds the runs.

    Raises:
        FileNotFoundError: There is no run in them.
        ValueError: What is in one was not written by this version.
    """
    runs = list(dict.fromkeys(run.resolve() for folder in folders for run in _runs_of(folder)))
    lost = [member for folder in folders for member in _without_run(folder)]
    if not runs and not lost:
        raise FileNotFoundError(
            f"no run in {', '.join(map(str, folders))}: `cutegen runs list` shows where they are"
        )
    home = folders[0].parent if is_run(folders[0]) else folders[0]
    file = (out or home / TABLE_FILE).resolve()
    rows = []
    for run in runs:
        dossier = read_run(run)
        report = _write(dossier, run / REPORT_FILE, table=file)
        rows.append(row_of(dossier, _address(report, file)))
    rows += map(row_without_run, lost)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, suite_html(home.resolve().name, rows))
    return file


def _write(dossier: Dossier, file: Path, table: Path | None = None) -> Path:
    page = report_html(dossier, back=_address(table, file) if table else "")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, page)
    return file


def _address(target: Path, page: Path) -> str:
    """How a page refers to a file, wherever both are moved together."""
    return quote(Path(os.path.relpath(target, page.parent)).as_posix())


def _runs_of(folder: Path) -> list[Path]:
    return [folder] if is_run(folder) else sorted(filter(is_run, folder.iterdir()))


def _without_run(folder: Path) -> list[SuiteMember]:
    """Specs of a suite that never came to have a run."""
    if not (folder / SUITE_FILE).exists():
        return []
    return [m for m in SuiteResult.load(folder).members if not is_run(folder / m.run_id)]
