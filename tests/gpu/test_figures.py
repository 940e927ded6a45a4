"""The table of figures; it needs no GPU, only results."""

import runpy
from pathlib import Path
from typing import Any

import pytest

FIGURES = runpy.run_path(str(Path(__file__).with_name("figures.py")))
CEILINGS = {
    "part": "ceilings",
    "ceilings": {
        "device": "NVIDIA H200",
        "copy_bytes_per_s": 4.27e12,
        "library_flops_per_s": {"fp32": 51e12, "tf32": 359e12},
    },
}


def swish(**measurement: Any) -> dict[str, Any]:
    measured = {
        "state": "MEASURED",
        "candidate": {"samples_us": [3100.0] * 50},
        "baselines": {
            "eager": {"samples_us": [7462.0] * 50},
            "compile": {"samples_us": [3024.0] * 50},
        },
        "roofline": {
            "bound": "memory",
            "bytes_moved": 2 * 6442450944,
            "flops": 0,
            "fraction": 0.97,
        },
    }
    return {
        "part": "swish",
        "task": "25_Swish",
        "spec": {"math_mode": "fp32"},
        "tensors": [
            {"shape": [4096, 393216], "role": "input"},
            {"shape": [4096, 393216], "role": "output"},
        ],
        "run": {"status": "SUCCEEDED", "reason": ""},
        "verdict": {"status": "PASSED"},
        "measurement": measured | measurement,
    }


def test_a_row_holds_times_speedup_rate_and_verdict() -> None:
    table = FIGURES["summary"]([CEILINGS, swish()])
    assert (
        "| 25_Swish (fp32) | 4096x393216 | 7.462 ms | 3.024 ms | 3.100 ms | 3.100 ms-3.100 ms | "
        "2.41x | 4.16 TB/s | 97% (memory) | PASSED |"
    ) in table
    assert "copy 4.27 TB/s" in table


def test_products_are_told_in_the_order_of_their_numbers() -> None:
    machine = {"gpu": "NVIDIA H200", "cuda": "13.0", "commit": "0123456789abcdef"}
    measured = {"verdict": {"status": "PASSED"}, "measurement": swish()["measurement"]}
    wrong = {
        "verdict": {"status": "WRONG_VALUES", "evidence": {"summary": "element 7 is wrong"}},
        "measurement": None,
    }
    designs = {"bf16_4096/2": measured, "14/6": wrong, "1/6": measured}
    table = FIGURES["summary"]([{"part": "products", "machine": machine, "designs": designs}])
    names = [line.split(" | ")[0] for line in table.splitlines() if " | " in line]
    assert names[-3:] == [
        "| 1 Square matrix multiplication",
        "| 14 Matmul for upper triangular matrices",
        "| bf16_4096",
    ]
    assert "7.462 ms | 3.100 ms | 2.41x | 97% (memory) | PASSED |" in table
    assert "| element 7 is wrong | | | WRONG_VALUES |" in table


def test_a_refused_time_is_told_and_no_speedup_claimed() -> None:
    row = FIGURES["row"](swish(state="REFUSED", reason="too fast to be true"))
    assert "too fast to be true" in row
    assert "2.41x" not in row


def test_a_part_that_failed_has_no_row() -> None:
    table = FIGURES["summary"]([{"part": "matmul", "done": False, "error": "boom"}])
    assert table.strip().splitlines() == list(FIGURES["HEADER"])


def test_only_the_block_between_the_markers_changes() -> None:
    begin, end = FIGURES["BEGIN"], FIGURES["END"]
    assert (
        FIGURES["replace_block"](f"before\n{begin}\nold\n{end}\nafter\n", "new")
        == f"before\n{begin}\nnew\n{end}\nafter\n"
    )
    with pytest.raises(ValueError, match="needs these two lines"):
        FIGURES["replace_block"]("no markers", "new")


def test_the_clocks_own_test_is_told() -> None:
    trial = {"name": "empty", "measured_us": 2.2, "low_us": 0.1, "high_us": 10.0}
    pair = {"low": 0.9981, "high": 1.0023, "mean": 1.0001, "mean_error": 0.0004}
    summary = {
        "median_us": 48.5,
        "runs": 20,
        "same_worker": pair | {"taken_for_faster": 0},
        "two_workers": pair | {"taken_for_faster": 1},
    }
    table = FIGURES["summary"](
        [
            {
                "part": "timing",
                "self_test": {"state": "passed", "reason": "", "trials": [trial]},
                "repeats": {"swish": {"summary": summary}},
                "precision": {
                    "one pass": {
                        "verdict": {"status": "PRECISION_DOWNGRADE"},
                        "expected": "PRECISION_DOWNGRADE",
                    }
                },
            }
        ]
    )
    assert "self-test of the clock: passed" in table
    ratio = "1.0001 ± 0.0004"
    row = f"| swish | 48.5 µs | 20 | {ratio} | {ratio} | 0.9981 to 1.0023 | 1 |"
    assert row in table
    assert "| one pass | PRECISION_DOWNGRADE | PRECISION_DOWNGRADE |" in table


def test_the_side_by_side_tells_both_times_or_why_there_is_none() -> None:
    ours = {"seconds": 12.0, "status": "PASSED", "stages": {"build": 6.5}}
    kernels = {
        "CuTe": {"ours": ours, "peer": {"seconds": 96.0, "correct": True}},
        "plain CUDA": {"ours": ours, "peer": {"error": "no ninja"}},
    }
    table = FIGURES["summary"]([{"part": "side_by_side", "kernels": kernels}])
    assert "| CuTe | 12.0 s (PASSED) | 6.5 s | 96.0 s (correct) | 8.0x |" in table
    assert "no ninja" in table
