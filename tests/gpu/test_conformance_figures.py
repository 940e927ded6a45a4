"""The tables of docs/emulator.md; they need no GPU, only results."""

import runpy
from pathlib import Path

FIGURES = runpy.run_path(str(Path(__file__).with_name("conformance_figures.py")))
PASSED = {"status": "PASSED", "error": 0.031, "summary": ""}
FOUND = {
    "facts": {"gpu": "NVIDIA H200", "driver": "580", "cuda": "13.0", "commit": "0123456789abcdef"},
    "cases": {
        "gemm": {
            "technique": "mma",
            "bitwise": False,
            "gpu": PASSED,
            "emulator": PASSED,
            "agree": True,
            "different_elements": 3,
            "elements": 64,
            "apart": 0.05,
        },
        "broken": {"error": "KeyError: which"},
    },
    "mutants": {
        "gemm_without_wait": {
            "of": "gemm",
            "fault": "no wait",
            "emulator": {"status": "RACE"},
            "gpu": {"status": "PASSED", "answer": "right by luck"},
        }
    },
}


def test_counts_cases_and_mutants_are_told() -> None:
    text = FIGURES["tables"](FOUND)
    assert "1 of 2 cases agree" in text
    assert "| gemm | mma | 3 of 64 | 0.031 | 0.031 | yes |" in text
    assert "| broken | | | | KeyError: which | no |" in text
    assert "| gemm | no wait | RACE | right by luck |" in text
    assert "1 right by luck" in text


def test_the_page_has_the_block_that_is_replaced() -> None:
    page = FIGURES["PAGE"].read_text(encoding="utf-8")
    changed = FIGURES["replace_block"](page, "new")
    assert changed.count("\nnew\n") == 1
    assert FIGURES["replace_block"](changed, "new") == changed
