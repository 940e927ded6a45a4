"""The committed answers of a GPU are those to the present cases and mutants."""

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.cases import CASES
from conformance.mutants import MUTANTS
from conformance.units import source_hash

RESULTS = Path(__file__).resolve().parents[1] / "gpu" / "results" / "conformance.json"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "emulator.md"

AWAITED = frozenset({"tma_tfloat32"})
"""Cases that no GPU has been asked yet; once there is an answer it counts like the others."""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    if not RESULTS.exists():
        pytest.skip("no GPU has answered yet: run tests/gpu/run_conformance.py on one")
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return results


def test_every_case_agreed_with_the_gpu(found: dict[str, Any]) -> None:
    wrong = {
        case.name: found["cases"].get(case.name, "missing")
        for case in CASES
        if case.name not in AWAITED - found["cases"].keys()
        if not (record := found["cases"].get(case.name))
        or record["hash"] != source_hash(case.block)
        or not record["agree"]
    }
    assert not wrong


def test_the_page_says_which_cases_no_gpu_was_asked(found: dict[str, Any]) -> None:
    """After a run of a case: python tests/gpu/conformance_figures.py --write."""
    page = PAGE.read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.endswith("| not asked yet |")]
    assert {row.split("|")[1].strip() for row in rows} == AWAITED - found["cases"].keys()


def test_the_gpus_answer_to_every_mutant_is_there(found: dict[str, Any]) -> None:
    wrong = {
        mutant.name: found["mutants"].get(mutant.name, "missing")
        for mutant in MUTANTS
        if not (record := found["mutants"].get(mutant.name))
        or record["hash"] != source_hash(mutant.block)
        or not record["gpu"]["answer"]
    }
    assert not wrong
