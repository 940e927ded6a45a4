"""Reports of recorded runs, written once for all tests that read them."""

from pathlib import Path

import pytest
from recorded_folders import measured, taken_over, unfinished

from cutegen.report.writing import write_suite


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs with the report of each, and ``index.html``; tests leave it as it is."""
    runs = tmp_path_factory.mktemp("reports") / "runs"
    measured("matmul", runs / "matmul")
    measured("swish", runs / "swish")
    taken_over(runs / "rms_norm")
    unfinished(runs / "begun")
    write_suite([runs])
    return runs
