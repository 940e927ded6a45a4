"""What a GPU would refuse, hang on or get wrong, and what the emulator says of it."""

import re

import numpy as np
import pytest

INVALID_VALUE, INVALID_CONFIGURATION, INVALID_IMAGE = 1, 9, 200
ILLEGAL_ADDRESS, OUT_OF_RESOURCES, MISALIGNED, LAUNCH_FAILURE = 700, 701, 716, 719


def test_a_missing_barrier_shows_when_threads_run_in_another_order(simt, monkeypatch):
    a = np.arange(256, dtype=np.float32)
    right = np.maximum(a - 1, 0)

    def run(order: str, seed: int) -> np.ndarray:
        monkeypatch.setenv("CUTEGEN_EMU_ORDER", order)
        monkeypatch.setenv("CUTEGEN_EMU_SEED", str(seed))
        out = np.zeros(256, np.float32)
        assert simt("unsynchronized", out, a, block=256) == 0
        return out

    np.testing.assert_array_equal(run("fifo", 0), right)  # luck
    for wrong in (run("reverse", 0), run("random", 1), run("random", 2)):
        assert np.isnan(wrong).any()
        np.testing.assert_array_equal(wrong[~np.isnan(wrong)], right[~np.isnan(wrong)])
    np.testing.assert_array_equal(run("random", 1), run("random", 1))
    assert not np.array_equal(run("random", 1), run("random", 2), equal_nan=True)


def test_a_deadlock_ends_with_who_waits_where(simt):
    outcome = simt.apart("deadlock", block=32)
    assert (outcome.code, outcome.later) == (LAUNCH_FAILURE, LAUNCH_FAILURE)
    source = re.findall(r"line (\d+) in (\w+), first (.*)", outcome.stderr)
    assert [(what, who) for _, what, who in source] == [
        ("__syncthreads", "thread (0,0,0) of block (0,0,0)"),
        ("__shfl_sync", "thread (16,0,0) of block (0,0,0)"),
    ]
    lines = (simt.library.parent / "candidate.cpp").read_text().splitlines()
    assert all(what in lines[int(line) - 1] for line, what, _ in source)


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("overrun", ILLEGAL_ADDRESS, "beyond the end of a shared memory array of 120 bytes"),
        ("misaligned", MISALIGNED, "no multiple of 16"),
        ("too_much_static", INVALID_IMAGE, "more than 48 KiB of static"),
        ("too_wide", OUT_OF_RESOURCES, "__launch_bounds__"),
        ("absent_lane", 0, "reads lane 16, which does not take part"),
    ],
)
def test_faults_of_a_kernel(simt, name, code, said):
    outcome = simt.apart(name, block=32 if name != "absent_lane" else 16)
    assert (outcome.code, outcome.later) == (code, code)
    assert said in outcome.stderr


@pytest.mark.parametrize(
    ("sizes", "code"),
    [
        ({"block": 1024, "n": 48 << 10}, 0),
        ({"block": 1025}, INVALID_CONFIGURATION),
        ({"block": 0}, INVALID_CONFIGURATION),
        ({"grid": 0}, INVALID_CONFIGURATION),
        ({"n": (48 << 10) + 1}, INVALID_VALUE),
        ({"n": (227 << 10) + 1}, INVALID_VALUE),
    ],
)
def test_launches_that_a_driver_refuses(simt, sizes, code):
    outcome = simt.apart("idle", **sizes)
    assert (outcome.code, outcome.later) == (code, 0)
    assert bool(outcome.stderr) == bool(code)


@pytest.mark.parametrize(("nbytes", "code"), [(227 << 10, 0), ((227 << 10) + 1, INVALID_VALUE)])
def test_more_than_48_kib_needs_the_attribute(simt, nbytes, code):
    assert simt.apart("idle_with_permission", n=nbytes).code == code
