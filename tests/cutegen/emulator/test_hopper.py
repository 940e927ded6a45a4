"""Barriers, TMA, clusters and wgmma on the CPU: against NumPy, and faults with their lines."""

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from test_emulated_kernels import (
    Array,
    Emulated,
    build,
    line_of_candidate,
    normal,
    order,
)

__all__ = ["build", "order"]


@pytest.fixture(scope="session")
def copies(build: Callable[[str], Emulated]) -> Emulated:
    return build("hopper_copies")


@pytest.fixture(scope="session")
def products(build: Callable[[str], Emulated]) -> Emulated:
    return build("hopper_wgmma")


@pytest.fixture(scope="session")
def pipelined(build: Callable[[str], Emulated]) -> Emulated:
    return build("hopper_gemm")


def aligned(values: Array) -> Array:
    """A copy whose address is a multiple of 128 bytes, as device memory has it."""
    memory = np.empty(values.size + 32, np.float32)
    start = -memory.ctypes.data // 4 % 32
    copy = memory[start : start + values.size].reshape(values.shape)
    copy[...] = values
    return copy


def filled(value: float, *shape: int) -> Array:
    return aligned(np.full(shape, value, np.float32))


@pytest.mark.usefixtures("order")
class TestCopies:
    def test_warps_hand_buffers_over(self, copies: Emulated) -> None:
        a, out = normal(320), filled(np.nan, 320)
        assert copies("handed_over", out, a, n=320) == 0
        np.testing.assert_array_equal(out, 2 * a[np.arange(320) ^ 1])

    @pytest.mark.parametrize("swizzle", ["plain", "32", "64", "128"])
    def test_a_tile_is_loaded_with_zeros_beyond_the_matrix(
        self, copies: Emulated, swizzle: str
    ) -> None:
        a, out = aligned(normal(40, 68)), filled(np.nan, 64, 96)
        assert copies(f"load_{swizzle}", out, a, m=40, n=68, block=64) == 0
        np.testing.assert_array_equal(out, np.pad(a, ((0, 24), (0, 28))))

    @pytest.mark.parametrize(("name", "before"), [("store", np.nan), ("add", 5)])
    def test_a_tile_is_stored_within_the_matrix(
        self, copies: Emulated, name: str, before: float
    ) -> None:
        out = filled(before, 41, 68)  # the last row is not the matrix's
        assert copies(name, out, m=40, n=68, block=64) == 0
        stored = np.arange(40)[:, None] * 1000 + np.arange(68)
        np.testing.assert_array_equal(out[:40], stored + (0 if name == "store" else before))
        np.testing.assert_array_equal(out[40], np.full(68, before, np.float32))

    def test_a_load_for_both_blocks_of_a_cluster(self, copies: Emulated) -> None:
        a, out = aligned(normal(32, 32)), filled(np.nan, 2, 32, 32)
        assert copies("multicast", out, a, m=32, n=32, block=64) == 0
        np.testing.assert_array_equal(out, np.stack([a, a]))

    @pytest.mark.parametrize(("name", "grid"), [("cluster_sum", 8), ("sum_with_attributes", 4)])
    def test_a_sum_over_the_shared_memory_of_a_cluster(
        self, copies: Emulated, name: str, grid: int
    ) -> None:
        a, out = normal(1000), filled(np.nan, grid // 4)
        assert copies(name, out, a, n=1000, grid=grid, block=64) == 0
        np.testing.assert_allclose(out.sum(), a.sum(dtype=np.float64), atol=1e-4)

    def test_words_are_passed_to_the_other_block(self, copies: Emulated) -> None:
        out = filled(np.nan, 2)
        assert copies("pass_on", out) == 0
        assert out.tolist() == [101, 100]

    def test_bulk_copies_of_bytes(self, copies: Emulated) -> None:
        a, out = aligned(normal(1024)), filled(np.nan, 1024)
        assert copies("bulk", out, a, n=1024, block=128) == 0
        np.testing.assert_array_equal(out, a + 1)

    def test_named_barriers_and_the_elected_lane(self, copies: Emulated) -> None:
        out = filled(np.nan, 128)
        assert copies("meetings", out) == 0
        expected = [*range(63, -1, -1), 1, *[0] * 31, *range(64, 96)]
        assert out.tolist() == expected


@pytest.mark.parametrize(
    ("name", "status", "mark", "words"),
    [
        ("nobody_arrives", "DEADLOCK", "// WAITS", "lacks 1 of 33 arrivals"),
        ("too_few_meet", "DEADLOCK", "// MEETS", "has 32 of 64 threads"),
        ("not_initialised", "UNINITIALIZED", "// ARRIVES", "nobody has initialised"),
        ("misaligned", "MISALIGNED", "// ORDERS", "multiple of 4 bytes, not of 16"),
    ],
)
def test_what_goes_wrong_is_named_with_its_line(
    copies: Emulated, name: str, status: str, mark: str, words: str
) -> None:
    outcome = copies.apart(name)
    assert outcome.later != 0
    ((_, found, _, *text),) = outcome.reports
    assert found == status
    assert words in "\n".join(text)
    line = int("".join(text).split("line ")[1].split(":")[0].split(" ")[0])
    assert mark in line_of_candidate(copies, line)


@pytest.mark.parametrize("name", ["load_unwaited", "store_unwaited"])
def test_a_missing_wait_shows_as_copies_come_late(
    copies: Emulated, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("CUTEGEN_EMU_ORDER", "fifo")
    a, out = aligned(normal(32, 32)), filled(np.nan, 32, 32)
    assert copies(name, out, a, m=32, n=32, block=32) == 0
    right = a if name == "load_unwaited" else np.arange(32)[:, None] * 1000 + np.arange(32)
    assert not np.array_equal(out, right)


def small_integers(*shape: int) -> Array:
    """Values that every type has, and whose products add up without rounding."""
    return np.random.default_rng(1).integers(-4, 5, shape).astype(np.float32)


class TestProducts:
    @pytest.mark.parametrize(
        ("name", "k"),
        [
            *((f"kk_{swizzle}", 64) for swizzle in ("plain", "32", "64", "128")),
            *((f"mm_{swizzle}", 64) for swizzle in ("plain", "64", "128")),
            ("km_64_32", 64),
            ("registers", 64),
            ("negated_half", 64),
            ("bf16", 64),
            ("tf32", 32),
            ("s8", 128),
            ("float8", 128),
        ],
    )
    def test_types_majors_and_swizzles(self, products: Emulated, name: str, k: int) -> None:
        a, b, out = small_integers(128, k), small_integers(64, k), filled(np.nan, 128, 64)
        assert products(name, out, a, b) == 0
        np.testing.assert_array_equal(out, 3 - a @ b.T if name == "negated_half" else a @ b.T)

    def test_operands_are_rounded_as_their_type_and_sums_as_floats(
        self, products: Emulated
    ) -> None:
        a, b, out = normal(128, 64), normal(64, 64), filled(np.nan, 128, 64)
        assert products("kk_128", out, a, b) == 0
        exact = a.astype(np.float16).astype(np.float64) @ b.astype(np.float16).astype(np.float64).T
        np.testing.assert_allclose(out, exact, atol=2e-6 * np.abs(exact).max())

    def test_accumulators_are_poison_until_they_are_waited_for(self, products: Emulated) -> None:
        a, b, out = small_integers(128, 64), small_integers(64, 64), filled(0, 128, 64)
        assert products("unwaited", out, a, b) == 0
        assert np.isnan(out).all()


def halves(rng: np.random.Generator, *shape: int) -> npt.NDArray[np.float16]:
    values = aligned(np.empty((shape[0], shape[1] // 2), np.float32)).view(np.float16)
    values[...] = rng.standard_normal(shape)
    return values


@pytest.mark.usefixtures("order")
class TestPipelinedGemm:
    @pytest.mark.parametrize(("m", "n", "k"), [(256, 64, 64), (256, 128, 512), (512, 72, 200)])
    def test_clusters_tma_and_wgmma_together(
        self, pipelined: Emulated, m: int, n: int, k: int
    ) -> None:
        rng = np.random.default_rng(k)
        a, b, out = halves(rng, m, k), halves(rng, n, k), filled(np.nan, m, n)
        assert pipelined("pair", out, a, b, m=m, n=n, k=k) == 0
        exact = a.astype(np.float64) @ b.astype(np.float64).T
        np.testing.assert_allclose(out, exact, atol=2e-6 * np.abs(exact).max())

    @pytest.mark.parametrize(
        ("name", "words", "marks"),
        [
            ("no_release", "lacks 4 of 4 arrivals", ["// ACQUIRES", "// WAITS"]),
            ("too_few_bytes", "lacks 0 of 1 arrivals and 16 bytes", ["// WAITS"]),
        ],
    )
    def test_a_pipeline_that_starves_says_who_waits_where(
        self, pipelined: Emulated, name: str, words: str, marks: list[str]
    ) -> None:
        outcome = pipelined.apart(name, room=1 << 18, m=256, n=64, k=512)
        assert outcome.later != 0
        ((_, status, _, summary, *waiting),) = outcome.reports
        assert status == "DEADLOCK"
        assert "768 threads wait" in summary
        assert words in "\n".join(waiting)
        lines = [int(text.split(" at line ")[1].split(" ")[0]) for text in waiting]
        found = "\n".join(line_of_candidate(pipelined, line) for line in lines)
        assert all(mark in found for mark in marks)


def test_a_buffer_that_is_released_early_is_overwritten(
    pipelined: Emulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUTEGEN_EMU_ORDER", "fifo")
    rng = np.random.default_rng(1)
    a, b, out = halves(rng, 256, 512), halves(rng, 64, 512), filled(np.nan, 256, 64)
    assert pipelined("early_release", out, a, b, m=256, n=64, k=512) == 0
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.abs(out - exact).max() > 1


@pytest.mark.parametrize(
    ("unit", "name", "lines"),
    [
        ("hopper_copies", "load_unwaited", ["// READS", "// LOADS"]),
        ("hopper_copies", "store_unwaited", ["// OVERWRITES", "// FORGETS"]),
        ("hopper_gemm", "early_release", ["// MULTIPLIES", "// FILLS"]),
        ("hopper_gemm", "no_wait", ["// MULTIPLIES", "// FILLS"]),
    ],
)
def test_a_watched_launch_names_the_race_with_what_is_asynchronous(
    build: Callable[[str], Emulated],
    monkeypatch: pytest.MonkeyPatch,
    unit: str,
    name: str,
    lines: list[str],
) -> None:
    monkeypatch.setenv("CUTEGEN_EMU_WATCH", "1")
    emulated = build(unit)
    outcome = emulated.apart(name, room=1 << 18, m=256, n=64, k=512)
    (text,) = (summary for _, status, _, summary, *_ in outcome.reports if status == "RACE")
    named = [line_of_candidate(emulated, int(n)) for n in re.findall(r"line (\d+)", text)]
    assert all(any(mark in line for line in named) for mark in lines), (text, named)


def test_a_watched_launch_finds_nothing_in_a_right_pipeline(
    pipelined: Emulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUTEGEN_EMU_WATCH", "1")
    rng = np.random.default_rng(2)
    a, b, out = halves(rng, 256, 320), halves(rng, 64, 320), filled(np.nan, 256, 64)
    assert pipelined("pair", out, a, b, m=256, n=64, k=320) == 0
    assert np.isfinite(out).all()
