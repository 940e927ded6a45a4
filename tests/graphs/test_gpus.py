"""Members of a suite are spread over the GPUs, and lock the one they see by a lasting name."""

import pytest

from cutegen.graphs.gpus import Gpus
from cutegen.measurement.devices import lasting_name, visible_names


def test_the_least_busy_gpu_is_lent() -> None:
    gpus = Gpus(["0", "3"])
    with gpus.environment() as first, gpus.environment() as second:
        assert first == {"CUDA_VISIBLE_DEVICES": "0"}
        assert second == {"CUDA_VISIBLE_DEVICES": "3"}
        with gpus.environment() as third:
            assert third == first
    with gpus.environment() as again:
        assert again == first


@pytest.mark.parametrize("names", [[], ["0"]])
def test_one_gpu_is_no_choice(names: list[str]) -> None:
    with Gpus(names).environment() as seen:
        assert seen == {}


def test_a_gpu_has_one_name_whoever_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert visible_names(2) == ("0", "1")
    assert lasting_name(1) == "1"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1, GPU-5e2f")
    assert [lasting_name(0), lasting_name(1)] == ["1", "GPU-5e2f"]
