"""Kernels compiled by g++ and run as fibers, against NumPy."""

import numpy as np
import pytest

RNG = np.random.default_rng(3)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def unwritten(*shape: int) -> np.ndarray:
    return np.full(shape, np.nan, np.float32)


@pytest.mark.usefixtures("order")
class TestSimt:
    @pytest.mark.parametrize("n", [4096, 4099, 3])
    def test_vector_accesses_and_constant_memory(self, simt, n):
        a, out = normal(n), unwritten(n)
        assert simt("vector_scale", out, a, n=n) == 0
        factors = np.array([2, 2, 3, 3], np.float32)[np.arange(n) % 4]
        np.testing.assert_array_equal(out, a * factors)

    def test_block_reduction_with_shuffles(self, simt):
        a, out = normal(5, 1000), unwritten(5)
        assert simt("row_sums", out, a, n=1000, grid=5, block=256) == 0
        np.testing.assert_allclose(out, a.sum(1), rtol=1e-4, atol=1e-4)

    def test_transpose_through_dynamic_shared_memory(self, simt):
        a, out = normal(70, 45), unwritten(45, 70)
        assert simt("transpose", out, a, m=70, n=45) == 0
        np.testing.assert_array_equal(out, a.T)

    def test_histogram_with_atomics(self, simt):
        a, out = RNG.random(10000, np.float32), np.zeros(17, np.float32)
        assert simt("histogram", out, a, n=10000, grid=7, block=96) == 0
        np.testing.assert_array_equal(out[:16], np.histogram(a, 16, (0, 1))[0])
        assert out[16] == 10000

    def test_votes_and_shuffles(self, simt):
        a, out = normal(32), unwritten(136)
        assert simt("votes", out, a) == 0
        lanes = np.arange(32)
        assert out[:8].tolist() == [(a > 0).sum(), 0, 1, 7, 0, 1, -9, 4]
        np.testing.assert_array_equal(out[8:40], np.where(lanes % 8 < 2, lanes, lanes - 2))
        np.testing.assert_array_equal(out[40:72], np.where(lanes % 16 > 12, lanes, lanes + 3))
        assert (out[72:104] == 3).all()
        np.testing.assert_array_equal(out[104:], np.where(lanes % 2, 16, lanes ^ 2))

    def test_softmax(self, simt):
        a, out = normal(6, 333), unwritten(6, 333)
        assert simt("softmax", out, a, n=333, grid=6) == 0
        exact = np.exp(a - a.max(1, keepdims=True).astype(np.float64))
        np.testing.assert_allclose(out, exact / exact.sum(1, keepdims=True), rtol=1e-5)

    def test_threads_may_wait_for_each_other_on_an_atomic(self, simt):
        a, out = normal(64), unwritten(64)
        assert simt("handshake", out, a, block=64) == 0
        np.testing.assert_array_equal(out, a)


def test_intrinsics_and_printf(simt):
    x = np.float32(0.75)
    a, out = np.array([x]), unwritten(24)
    assert simt("intrinsics", out, a) == 0
    # fmt: off
    exact = [
        x**-0.5, 1 / x, x, 0.7111556337, np.tanh(x), np.log1p(x), x * x + 1,
        11, 4, 1, 0x77441100, 3, 2, 2, x, 2, 0, x, 2.5, 1, 40, 0, 1, 0.7733726476,
    ]
    # fmt: on
    np.testing.assert_allclose(out, exact, rtol=3e-7)
    assert simt.apart("intrinsics").printed == ["kernel says 42 hello"]


@pytest.mark.usefixtures("order")
class TestCute:
    @pytest.mark.parametrize("n", [8192, 5001])
    def test_tiled_copies_with_a_predicated_tail(self, cute_simt, n):
        a, out = normal(n), unwritten(n)
        assert cute_simt("swish", out, a, n=n) == 0
        np.testing.assert_allclose(out, a / (1 + np.exp(-a.astype(np.float64))), rtol=1e-6)

    def test_gemm_on_swizzled_shared_memory(self, cute_simt):
        a, b, out = normal(128, 48), normal(48, 192), unwritten(128, 192)
        assert cute_simt("gemm", out, a, b, m=128, n=192, k=48) == 0
        out[0, 0] -= 1000  # which one thread of the grid adds
        np.testing.assert_allclose(out, a.astype(np.float64) @ b, rtol=1e-3, atol=1e-4)

    def test_conversion_to_half(self, cute_simt):
        a, out = np.linspace(-1e5, 1e5, 999, dtype=np.float32), np.zeros(999, np.float16)
        assert cute_simt("to_half", out, a, n=999) == 0
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(out, a.astype(np.float16))
