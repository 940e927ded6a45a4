"""Every notebook runs on the emulator, shows what it says, and agrees with its pair."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest
from executed import FOLDER, NAMES

from cutegen.history import Decision, Step, StepKind


@pytest.mark.parametrize("name", NAMES)
def test_the_pair_agrees_and_has_no_outputs(pair: ModuleType, name: str) -> None:
    kept = json.loads((FOLDER / f"{name}.ipynb").read_text())
    written = json.loads(nbformat.writes(pair.paired(name)))
    assert kept == written, "run: python notebooks/pair.py"


def test_the_tour(execute: Any) -> None:
    tour = execute("1_tour")
    assert tour.complaints == ""
    live, result, verdict = tour.outputs("text/html")
    assert "verified" in live
    assert "3 steps" in live
    assert "SUCCEEDED" in result
    assert "unmeasured" in result
    assert "PASSED" in verdict
    assert "x must be torch.float32, not torch.float16" in tour.printed
    difference = tour.printed.split("largest difference from PyTorch: ")[1].split()[0]
    assert float(difference) < 1e-6


def test_the_anatomy(execute: Any) -> None:
    anatomy = execute("2_anatomy")
    assert anatomy.complaints == ""
    texts, pages = anatomy.outputs("text/plain"), anatomy.outputs("text/html")
    assert any("the profile edge opens" in text for text in texts)
    assert any("grid: one-tile-per-block → grid-stride" in text for text in texts)
    assert any(text.startswith("the same structure") for text in texts)
    assert any(text.startswith("WRONG_VALUES") for text in texts)
    assert any("this very source was tried in step 1" in text for text in texts)
    assert any("-  if (i < n) gO(i) = swish(gX(i));" in text for text in texts)
    assert any("<svg" in page and "edge opened before step 5" in page for page in pages)
    assert "after step 3: closed" in anatomy.printed
    assert "after step 4: open" in anatomy.printed
    assert "| 1 | structural | a grid-stride loop |" in anatomy.printed


def test_by_hand(execute: Any) -> None:
    by_hand = execute("4_by_hand")
    assert by_hand.complaints == ""
    assert "Your reply could not be used" in by_hand.printed
    assert "SUCCEEDED the same kernel: True" in by_hand.printed
    assert any("WAITING" in page and "resume_run" in page for page in by_hand.outputs("text/html"))


def test_the_ablation(execute: Any, tmp_path: Path) -> None:
    steps = [
        Step(
            index=i,
            kind=StepKind.STRUCTURAL,
            agent="structural_optimizer",
            intent="wider",
            decision=Decision.ACCEPTED,
            time_us=time_us,
        ).model_dump(mode="json", exclude={"fingerprint"})
        for i, time_us in enumerate((20.0, 10.0))
    ]
    runs = [
        {
            "spec": "swish",
            "mode": mode,
            "time_us": time_us,
            "speedup": 2.0,
            "proposals": 2,
            "proposals_to_best": 1,
            "builds": 2,
            "wall_s": 5.0,
            "steps": steps,
            "edge": [[True, "out of ideas"]],
        }
        for mode, time_us in (("delayed", 10.0), ("immediate", 12.5), ("never", 10.0))
    ]
    figures = {"device": {"gpu": "A GPU"}, "driver": "1", "commit": "abc", "steps": 2, "runs": runs}
    (tmp_path / "ablation.json").write_text(json.dumps(figures))

    ablation = execute("3_ablation")

    assert ablation.complaints == ""
    delayed, immediate = (text for text in ablation.outputs("text/plain") if "SUCCEEDED" in text)
    assert delayed.count("structural optimizer") > immediate.count("structural optimizer")
    assert "profile tuner" in immediate
    assert "1.25x the time of the fastest" in ablation.printed
    assert any("| swish | 10.0 µs | 12.5 µs |" in text for text in ablation.outputs("text/markdown"))
