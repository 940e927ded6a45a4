from pathlib import Path

import pytest

from cutegen.spec import KernelSpec
from cutegen.verification import edge_shapes
from cutegen.verification.plan import plan_checks

SWISH = Path(__file__).parents[2] / "kernelbench/level1/25_Swish.py"


def test_edges_are_found_once_for_the_same_tiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = KernelSpec.from_kernelbench(SWISH)
    monkeypatch.setenv("CUTEGEN_CACHE", str(tmp_path))
    first = plan_checks(spec, "constexpr int kTile = 96;")
    other = plan_checks(spec, "constexpr int kTile = 160;")
    assert first.edges
    assert first.edges != other.edges

    def unasked(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(edge_shapes, "edge_cases", unasked)
    assert plan_checks(spec, "constexpr int kTile = 96;") == first
    for kept in (tmp_path / "edges").iterdir():
        kept.write_text("[{]", encoding="utf-8")
    with pytest.raises(AssertionError):
        plan_checks(spec, "constexpr int kTile = 96;")
