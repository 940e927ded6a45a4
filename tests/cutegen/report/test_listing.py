"""The list of runs, on a narrow terminal."""

from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

from rich.console import Console

from cutegen.report.listing import RunEntry, RunState, show_runs


def test_a_run_id_is_never_cut_for_it_is_what_the_next_command_takes() -> None:
    run_id = "20261203-065310-1-Square-matrix-multiplication-4a1f"
    entry = RunEntry(
        run_id=run_id,
        folder=Path("runs") / run_id,
        state=RunState.SUCCEEDED,
        spec_name="1_Square_matrix_multiplication_",
        executor="emulated",
        model="playbook",
        begun=datetime(2026, 12, 3, tzinfo=UTC),
        nbytes=1,
    )
    page = StringIO()
    show_runs(Console(file=page, width=80), Path("runs"), [entry])
    assert run_id in page.getvalue()
