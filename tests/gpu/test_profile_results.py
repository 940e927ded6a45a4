"""What an H200 counted of the planted kernels, as ``run_profiles.py`` wrote it down."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cutegen.measurement.profile import Profile

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from profile_plants import PLANTS  # noqa: E402 - its folder is known only now

RESULTS = HERE / "results" / "profiles.json"
pytestmark = pytest.mark.skipif(not RESULTS.is_file(), reason="no results are committed yet")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return record


@pytest.mark.parametrize("name", PLANTS)
def test_the_planted_bottleneck_was_named(found: dict[str, Any], name: str) -> None:
    record = found["kernels"][name]
    told, static = (Profile.model_validate(record[kind]) for kind in ("ncu", "static"))
    expected = [kind.value for kind in PLANTS[name].expected]
    assert record["as_expected"]
    assert (told.source, static.source) == ("ncu", "static")
    assert told.bottleneck in expected
    assert static.bottleneck in (*expected, "unknown")
