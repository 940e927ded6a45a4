"""The committed results of run_cookbook.py speak of the recipes that are here now."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from run_cookbook import ENTRIES, is_judged  # noqa: E402 - its folder is known only now


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    record: dict[str, Any] = json.loads((HERE / "results" / "cookbook.json").read_text("utf-8"))
    return record


@pytest.mark.parametrize("name", ENTRIES)
def test_the_recipe_as_it_is_was_verified_and_timed_on_the_gpu(
    found: dict[str, Any], name: str
) -> None:
    record = found["kernels"][name]
    assert is_judged(name, record)
    assert record["measurement"]["candidate"]["samples_us"]
