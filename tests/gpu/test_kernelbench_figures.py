"""The table and the plot of the KernelBench tasks; it needs no GPU, only results."""

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
FIGURES = runpy.run_path(str(HERE / "kernelbench_figures.py"))
TASKS = runpy.run_path(str(HERE / "kernelbench_tasks.py"))


def record(task: str, eager: float, **changes: Any) -> dict[str, Any]:
    return {
        "task": task,
        "spec": {"math_mode": "fp32"},
        "tensors": [
            {"shape": [4096, 393216], "role": "input"},
            {"shape": [4096, 393216], "role": "output"},
        ],
        "run": {"status": "SUCCEEDED", "reason": "", "steps": [{}, {}, {}]},
        "verdict": {"status": "PASSED"},
        "environment": {
            "gpu": "NVIDIA H200",
            "driver": "580",
            "cuda": "13.0",
            "torch": "2.11.0",
            "commit": "0123456789abcdef",
            "method": "cold",
        },
        "measurement": {
            "state": "MEASURED",
            "candidate": {"samples_us": [3000.0] * 50},
            "baselines": {
                "eager": {"samples_us": [eager] * 50},
                "compile": {"samples_us": [4500.0] * 50},
            },
            "roofline": {"bound": "memory", "fraction": 0.97},
        },
    } | changes


def test_rows_means_and_what_it_was_measured_with() -> None:
    table = FIGURES["summary"]([record("24_LogSoftmax", 6000.0), record("23_Softmax", 12000.0)])
    first = (
        "| 23 Softmax | 4096x393216 | 12.000 | 4.500 | 3.000 | 4.00x | 1.50x | 97% (memory) | 3 |"
    )
    assert table.index(first) < table.index("| 24 LogSoftmax")
    assert "2 of 2 timed, over eager mean 3.00x, geometric 2.83x" in table
    assert "over torch.compile geometric 1.50x" in table
    assert "NVIDIA H200, driver 580, CUDA 13.0, PyTorch 2.11.0, commit 0123456789" in table


def test_a_task_without_a_time_says_why_and_counts_as_not_timed() -> None:
    refused = record(
        "23_Softmax", 1.0, measurement={"state": "REFUSED", "reason": "too fast to be true"}
    )
    table = FIGURES["summary"]([refused, record("24_LogSoftmax", 6000.0)])
    assert "too fast to be true" in table
    assert "1 of 2 timed" in table


def test_the_plot_is_the_same_each_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    records = [record("23_Softmax", 12000.0), record("1_Square", 3000.0)]
    first, second = tmp_path / "first.svg", tmp_path / "second.svg"
    FIGURES["draw"](records, first)
    FIGURES["draw"](records, second)
    assert first.read_bytes() == second.read_bytes()
    assert "23 Softmax" in first.read_text()


def test_a_block_is_replaced_and_missing_markers_are_told() -> None:
    begin, end = FIGURES["BEGIN"], FIGURES["END"]
    readme = f"before\n{begin}\nold\n{end}\nafter\n"
    assert FIGURES["replace_block"](readme, "new") == f"before\n{begin}\nnew\n{end}\nafter\n"
    with pytest.raises(ValueError, match="once each"):
        FIGURES["replace_block"]("nothing here", "new")


def test_tasks_are_named_by_numbers_and_ranges() -> None:
    files = TASKS["task_files"]("23-25,19")
    assert [path.stem for path in files.values()] == [
        "23_Softmax",
        "24_LogSoftmax",
        "25_Swish",
        "19_ReLU",
    ]
    with pytest.raises(ValueError, match=r"no file in .* for: 99"):
        TASKS["task_files"]("19,99")
