"""The tables of docs/emulator.md, and what a run keeps of another; no GPU is needed."""

import runpy
from pathlib import Path

FIGURES = runpy.run_path(str(Path(__file__).with_name("conformance_figures.py")))
RUN = runpy.run_path(str(Path(__file__).with_name("run_conformance.py")))
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


def test_a_case_that_was_never_asked_and_one_asked_later_are_told() -> None:
    late = FOUND["cases"]["gemm"] | {"facts": {"commit": "fedcba9876543210"}}
    found = FOUND | {"cases": {"gemm": late}}
    text = FIGURES["tables"](found, {"rounding": "TMA"})
    assert "1 of 1 cases agree" in text
    assert "gemm was asked at commit fedcba9876." in text
    assert "| rounding | TMA | | | | not asked yet |" in text


def test_asking_for_one_case_leaves_every_other_record_as_it_is() -> None:
    agreed, other = {"hash": "1", "agree": True}, {"hash": "1", "agree": False}
    kept = {"asked": other, "agreed": agreed, "apart": other, "changed": agreed}
    hashes = {"asked": "1", "agreed": "1", "apart": "1", "changed": "2"}
    remaining = RUN["remaining"]
    assert remaining(kept, hashes, ["asked"]).keys() == {"agreed", "apart", "changed"}
    assert remaining(kept, hashes, []).keys() == {"agreed"}
