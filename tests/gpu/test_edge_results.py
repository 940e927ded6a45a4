"""The committed log of the edge shows what its issue asks for; it needs no GPU."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from run_edge import is_whole

EDGE = json.loads((Path(__file__).parent / "results/edge.json").read_text(encoding="utf-8"))


def test_a_run_shows_the_edge_held_opened_closed_and_opened_again() -> None:
    whole = [run for run in EDGE["runs"].values() if is_whole(run["story"])]
    assert whole
    for run in whole:
        told = [event for event in run["events"] if event["event"].startswith("predicate")]
        assert told
        assert all(event["why"] for event in told)
