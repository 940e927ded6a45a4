import re
from pathlib import Path

import pytest
import torch

from cutegen.measurement.baselines import Baseline, BaselineError
from cutegen.measurement.environment import git_commit, record
from cutegen.measurement.timing import METHOD
from cutegen.toolchain.cache import default_cache_dir


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU, so the baseline starts")
def test_without_a_gpu_the_baseline_says_so() -> None:
    with pytest.raises(BaselineError, match="baseline did not start"), Baseline():
        pass


def test_the_record_names_method_and_commit() -> None:
    environment = record({"gpu": "NVIDIA H200"})
    assert environment["method"] == METHOD
    assert environment["gpu"] == "NVIDIA H200"
    assert re.fullmatch(r"([0-9a-f]{40}\+?)?", str(environment["commit"]))
    assert environment["commit"] == git_commit()


def test_the_cache_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUTEGEN_CACHE", str(tmp_path))
    assert default_cache_dir() == tmp_path
