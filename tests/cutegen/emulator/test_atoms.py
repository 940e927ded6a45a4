"""Warp-level atoms on the CPU, with every register placed as the PTX manual says."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import torch
from test_emulated_kernels import (
    ILLEGAL_ADDRESS,
    MISALIGNED,
    RNG,
    Array,
    Emulated,
    build,
    order,
    unwritten,
)

__all__ = ["build", "order"]

Matrix = npt.NDArray[Any]
LANES = np.arange(32)
GROUP, PLACE = LANES // 4, LANES % 4


@pytest.fixture(scope="session")
def atoms(build: Callable[[str], Emulated]) -> Emulated:
    return build("atoms")


@pytest.fixture(scope="session")
def gemm(build: Callable[[str], Emulated]) -> Emulated:
    return build("pipelined_gemm")


class Form(NamedTuple):
    """A matrix instruction: its shape, and the bits of an element of A and B."""

    m: int
    n: int
    k: int
    bits: int = 16


def factor_places(rows: int, k: int, bits: int) -> tuple[Matrix, Matrix]:
    """Row and column of every value of every lane, [32, values]: A, or the transpose of B."""
    per_register = max(32 // bits, 1)
    values = np.arange(rows * k // 32)
    register, within = values // per_register, values % per_register
    halves = rows // 8
    row = GROUP[:, None] + 8 * (register % halves)
    column = register // halves * 4 * per_register + PLACE[:, None] * per_register + within
    return row, column


def sum_places(m: int, n: int) -> tuple[Matrix, Matrix]:
    values = np.arange(m * n // 32)
    return GROUP[:, None] + 8 * (values // 2), PLACE[:, None] * 2 + values % 2


def packed(values: Matrix, bits: int) -> bytes:
    """[32, values] -> registers of 4 bytes, or 8, as the kernels read them."""
    if bits < 8:
        per_byte = 8 // bits
        fields = (values.astype(np.int64) & ((1 << bits) - 1)).reshape(32, -1, per_byte)
        values = (fields << (bits * np.arange(per_byte))).sum(-1).astype(np.uint8)
    word = 8 if values.dtype.itemsize == 8 else 4
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(32, -1, word)
    return raw.transpose(1, 0, 2).tobytes()


def unpacked(raw: bytes, dtype: npt.DTypeLike, count: int) -> Matrix:
    """The inverse of ``packed`` for whole bytes: [32, count]."""
    word = 8 if np.dtype(dtype).itemsize == 8 else 4
    used = np.frombuffer(raw, np.uint8)[: 32 * count * np.dtype(dtype).itemsize]
    return (
        used.reshape(-1, 32, word).transpose(1, 0, 2).copy().view(np.uint8).reshape(32, -1)
    ).view(dtype)


def arguments(*parts: bytes) -> Array:
    return np.frombuffer(b"".join(part.ljust(4096, b"\0") for part in parts), np.float32)


def run(atoms: Emulated, name: str, form: Form, given: tuple[Matrix, Matrix, Matrix]) -> Matrix:
    """D of A [m, k], B [n, k] and C [m, n]."""
    a, b, c = given
    in_a, in_b = (
        factor_places(form.m, form.k, form.bits),
        factor_places(form.n, form.k, form.bits),
    )
    in_c = sum_places(form.m, form.n)
    out = unwritten(2048)
    arguments_ = arguments(
        packed(a[in_a], form.bits), packed(b[in_b], form.bits), packed(c[in_c], 32)
    )
    assert atoms(name, out, arguments_) == 0
    d = np.empty_like(c)
    d[in_c] = unpacked(out.tobytes(), c.dtype, form.m * form.n // 32)
    return d


def normal(dtype: npt.DTypeLike, *shape: int) -> Matrix:
    return RNG.standard_normal(shape).astype(dtype)


def integers(dtype: npt.DTypeLike, bits: int, *shape: int) -> Matrix:
    low, high = (-(1 << bits - 1), 1 << bits - 1) if np.dtype(dtype).kind == "i" else (0, 1 << bits)
    return RNG.integers(low, high, shape).astype(dtype)


F16, F32, F64 = np.float16, np.float32, np.float64
T16, TB16, T32, T64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


@pytest.mark.usefixtures("order")
@pytest.mark.parametrize(
    ("name", "form", "types"),
    [
        ("SM75_16x8x8_F32F16F16F32_TN", Form(16, 8, 8), (T16, T16, T32)),
        ("SM80_16x8x16_F32F16F16F32_TN", Form(16, 8, 16), (T16, T16, T32)),
        ("SM80_16x8x16_F16F16F16F16_TN", Form(16, 8, 16), (T16, T16, T16)),
        ("SM80_16x8x8_F32BF16BF16F32_TN", Form(16, 8, 8), (TB16, TB16, T32)),
        ("SM80_16x8x16_F32BF16BF16F32_TN", Form(16, 8, 16), (TB16, TB16, T32)),
        ("SM80_8x8x4_F64F64F64F64_TN", Form(8, 8, 4, 64), (T64, T64, T64)),
        ("SM90_16x8x16_F64F64F64F64_TN", Form(16, 8, 16, 64), (T64, T64, T64)),
        ("SM89_16x8x32_F32E4M3E5M2F32_TN", Form(16, 8, 32, 8), (E4M3, E5M2, T32)),
        ("SM89_16x8x32_F16E5M2E4M3F16_TN", Form(16, 8, 32, 8), (E5M2, E4M3, T16)),
    ],
)
def test_floating_point_products(
    atoms: Emulated, name: str, form: Form, types: tuple[torch.dtype, ...]
) -> None:
    m, n, k, _ = form
    shapes = ((m, k), (n, k), (m, n))
    tensors = [
        torch.from_numpy(RNG.standard_normal(shape)).to(dtype)
        for shape, dtype in zip(shapes, types, strict=True)
    ]
    a, b, c = (tensor.double().numpy() for tensor in tensors)
    words = {1: torch.uint8, 2: torch.int16, 4: torch.float32, 8: torch.float64}
    raw_a, raw_b = (tensor.view(words[tensor.itemsize]).numpy() for tensor in tensors[:2])
    d = run(atoms, name, form, (raw_a, raw_b, tensors[2].numpy()))
    exact = a @ b.T + c
    rounding = 2.0**-11 * np.abs(exact) if types[2] is T16 else 0
    summing = (2.0**-53 if types[2] is T64 else 2.0**-24) * k * (abs(a) @ abs(b).T + abs(c))
    assert (np.abs(d - exact) <= rounding + summing).all()


def test_half_sums_are_rounded_once(atoms: Emulated) -> None:
    form = Form(16, 8, 16)
    a, b, c = np.ones((16, 16), F16), np.full((8, 16), 2**-11, F16), np.ones((16, 8), F16)
    d = run(atoms, "SM80_16x8x16_F16F16F16F16_TN", form, (a, b, c))
    assert (d == 1 + 2**-7).all()  # each addition alone would round to 1


@pytest.mark.parametrize("k", [4, 8])
def test_tf32_factors_are_truncated(atoms: Emulated, k: int) -> None:
    a, b, c = normal(F32, 16, k), normal(F32, 8, k), np.zeros((16, 8), F32)
    d = run(atoms, f"SM80_16x8x{k}_F32TF32TF32F32_TN", Form(16, 8, k, 32), (a, b, c))
    cut_a, cut_b = ((x.view(np.uint32) & np.uint32(0xFFFFE000)).view(F32) for x in (a, b))
    np.testing.assert_allclose(d, cut_a.astype(F64) @ cut_b.astype(F64).T, rtol=0, atol=1e-5)
    assert np.abs(d - a.astype(F64) @ b.T).max() > 1e-4


@pytest.mark.parametrize(
    ("name", "form", "types"),
    [
        ("SM75_8x8x16_S32S8S8S32_TN", Form(8, 8, 16, 8), (np.int8, np.int8)),
        ("SM80_8x8x16_S32U8S8S32_TN", Form(8, 8, 16, 8), (np.uint8, np.int8)),
        ("SM80_16x8x32_S32S8U8S32_TN", Form(16, 8, 32, 8), (np.int8, np.uint8)),
        ("SM80_8x8x32_S32S4S4S32_TN", Form(8, 8, 32, 4), (np.int8, np.int8)),
        ("SM80_16x8x64_S32S4U4S32_TN", Form(16, 8, 64, 4), (np.int8, np.uint8)),
    ],
)
def test_integer_products(
    atoms: Emulated, name: str, form: Form, types: tuple[npt.DTypeLike, npt.DTypeLike]
) -> None:
    m, n, k, bits = form
    a, b = integers(types[0], bits, m, k), integers(types[1], bits, n, k)
    c = integers(np.int32, 32, m, n)
    d = run(atoms, name, form, (a, b, c))
    np.testing.assert_array_equal(d, (a.astype(np.int64) @ b.T + c).astype(np.int32))


def test_saturating_sums(atoms: Emulated) -> None:
    a, b = np.full((16, 32), 127, np.int8), np.full((8, 32), 127, np.int8)
    c = np.full((16, 8), 2**31 - 5, np.int32)
    b[1::2] = -128
    c[:, 1::2] = -(2**31) + 5
    d = run(atoms, "SM80_16x8x32_S32S8S8S32_TN_SATURATE", Form(16, 8, 32, 8), (a, b, c))
    np.testing.assert_array_equal(d, np.where(np.arange(8) % 2, -(2**31), 2**31 - 1) + 0 * c)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("SM80_16x8x256_S32U1U1S32_TN_XORPOPC", Form(16, 8, 256, 1)),
        ("SM80_8x8x128_S32U1U1S32_TN_ANDPOPC", Form(8, 8, 128, 1)),
    ],
)
def test_products_of_single_bits(atoms: Emulated, name: str, form: Form) -> None:
    m, n, k, _ = form
    a, b, c = integers(np.uint8, 1, m, k), integers(np.uint8, 1, n, k), integers(np.int32, 8, m, n)
    pairs = a[:, None] ^ b[None] if "XOR" in name else a[:, None] & b[None]
    np.testing.assert_array_equal(run(atoms, name, form, (a, b, c)), pairs.sum(-1, np.int32) + c)


def quad_pair_places() -> tuple[Matrix, Matrix, Matrix]:
    """Of sm_70's 8 x 8 x 4: quad-pair, row of A or B, and places of 32-bit sums."""
    i = np.arange(8)
    row = LANES[:, None] % 2 + (i & 2) + 4 * (LANES[:, None] // 16)
    column = (i & 4) + (LANES[:, None] & 2) + (i & 1)
    return LANES % 16 // 4, LANES % 4 + 4 * (LANES // 16), np.stack([row, column])


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("SM70_8x8x4_F16F16F16F16_TN", F16), ("SM70_8x8x4_F32F16F16F32_NT", F32)],
)
def test_quad_pairs_multiply_apart(atoms: Emulated, name: str, dtype: npt.DTypeLike) -> None:
    quad, mine, sums = quad_pair_places()
    a, b = integers(np.int8, 3, 4, 8, 4).astype(F16), integers(np.int8, 3, 4, 8, 4).astype(F16)
    c = integers(np.int8, 3, 4, 8, 8).astype(dtype)
    exact = a.astype(F32) @ b.astype(F32).transpose(0, 2, 1) + c
    if name.endswith("NT"):  # a lane holds one k, four rows: k = lane % 4, rows from 4 (lane / 16)
        rows = 4 * (LANES[:, None] // 16) + np.arange(4)
        parts = [x[quad[:, None], rows, LANES[:, None] % 4] for x in (a, b)]
    else:
        parts = [x[quad, mine] for x in (a, b)]
    at = sums if dtype is F32 else np.broadcast_arrays(mine[:, None], np.arange(8))
    where = (quad[:, None], at[0], at[1])
    out = unwritten(2048)
    given = arguments(packed(parts[0], 16), packed(parts[1], 16), packed(c[where], 16))
    assert atoms(name, out, given) == 0
    np.testing.assert_array_equal(unpacked(out.tobytes(), dtype, 8), exact.astype(dtype)[where])


def test_fma_of_an_atom_called_by_name(atoms: Emulated) -> None:
    form = Form(16, 8, 16)
    a, b, c = normal(F16, 16, 16), normal(F16, 8, 16), normal(F32, 16, 8)
    d = run(atoms, "by_hand", form, (a, b, c))
    np.testing.assert_allclose(d, 2 * (a.astype(F64) @ b.astype(F64).T) + c, atol=1e-5)


def matrices_in_registers(rows: Matrix, count: int, *, transpose: bool) -> Matrix:
    """[32 rows, 8] -> [count, 32 lanes, 2]."""
    matrices = rows.reshape(4, 8, 8)[:count]
    if transpose:
        matrices = matrices.transpose(0, 2, 1)
    return matrices[:, GROUP[:, None], PLACE[:, None] * 2 + np.arange(2)]


@pytest.mark.usefixtures("order")
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transpose", [False, True])
class TestMatrixMoves:
    def test_ldmatrix(self, atoms: Emulated, count: int, transpose: bool) -> None:
        rows, out = integers(np.uint16, 16, 32, 8), unwritten(128)
        name = f"SM75_U16x{2 * count}_LDSM_T" if transpose else f"SM75_U32x{count}_LDSM_N"
        assert atoms(name, out, aligned(rows)) == 0
        found = out.view(np.uint16).reshape(4, 32, 2)[:count]
        np.testing.assert_array_equal(
            found, matrices_in_registers(rows, count, transpose=transpose)
        )

    def test_stmatrix(self, atoms: Emulated, count: int, transpose: bool) -> None:
        rows, out = integers(np.uint16, 16, 32, 8), aligned(np.zeros((32, 8), np.uint16))
        name = f"SM90_U16x{2 * count}_STSM_T" if transpose else f"SM90_U32x{count}_STSM_N"
        registers = matrices_in_registers(rows, count, transpose=transpose)
        assert atoms(name, out, np.ascontiguousarray(registers).view(F32)) == 0
        expected = np.where(np.arange(32)[:, None] < 8 * count, rows, 0)
        np.testing.assert_array_equal(out.view(np.uint16).reshape(32, 8), expected)


def aligned(values: Matrix) -> Array:
    """The same bytes at an address that is a multiple of 128, as device memory has it."""
    memory = np.empty(values.nbytes + 128, np.uint8)
    start = -memory.ctypes.data % 128
    copy = memory[start : start + values.nbytes]
    copy[:] = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
    return copy.view(F32)


def test_movmatrix_transposes(atoms: Emulated) -> None:
    rows, out = integers(np.uint16, 16, 32, 8), unwritten(32)
    plain, turned = (matrices_in_registers(rows, 1, transpose=t) for t in (False, True))
    assert atoms("transpose", out, np.ascontiguousarray(plain).view(F32)) == 0
    np.testing.assert_array_equal(out.view(np.uint16).reshape(1, 32, 2), turned)


class TestAsynchronousCopies:
    @pytest.mark.parametrize("when", ["late", "now"])
    def test_what_is_seen_before_and_behind_a_wait(
        self, atoms: Emulated, monkeypatch: pytest.MonkeyPatch, when: str
    ) -> None:
        monkeypatch.setenv("CUTEGEN_EMU_CPASYNC", when)
        a = aligned(RNG.standard_normal(256).astype(F32))
        out = unwritten(160)
        assert atoms("async_copies", out, a, n=20) == 0
        before, fours, pairs_early, pairs, singles = out.reshape(5, 32)
        expected = np.where(LANES < 20, a.view(F64)[:32], 0).astype(F32)
        np.testing.assert_array_equal(fours, a[:128:4])
        np.testing.assert_array_equal(pairs, expected)
        np.testing.assert_array_equal(singles, a[:32])
        if when == "late":  # poison: the group was not waited for
            assert np.isnan(before).all()
            assert np.isnan(pairs_early).all()
        else:
            np.testing.assert_array_equal(before, fours)
            np.testing.assert_array_equal(pairs_early, expected)

    def test_random_moments_are_the_same_for_a_seed(
        self, atoms: Emulated, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CUTEGEN_EMU_CPASYNC", "random")
        a, outs = aligned(np.ones(256, F32)), []
        for seed in (1, 1, 2):
            monkeypatch.setenv("CUTEGEN_EMU_SEED", str(seed))
            outs.append(unwritten(160))
            assert atoms("async_copies", outs[-1], a, n=20) == 0
        assert 0 < np.isnan(outs[0]).sum() < 64
        np.testing.assert_array_equal(outs[0], outs[1])
        assert not np.array_equal(outs[0], outs[2], equal_nan=True)

    @pytest.mark.usefixtures("order")
    @pytest.mark.parametrize("when", ["late", "now", "random"])
    @pytest.mark.parametrize("counts", [0, 1])
    def test_their_arrival_at_a_barrier(
        self, atoms: Emulated, monkeypatch: pytest.MonkeyPatch, when: str, counts: int
    ) -> None:
        monkeypatch.setenv("CUTEGEN_EMU_CPASYNC", when)
        a, out = aligned(RNG.standard_normal(32).astype(F32)), unwritten(32)
        assert atoms("arrival", out, a, n=counts) == 0
        np.testing.assert_array_equal(out, a)


class TestPipelinedGemm:
    """Through a tiled copy, swizzled shared memory, ldmatrix and a tiled product."""

    def errors(self, gemm: Emulated, name: str) -> Matrix:
        m, n, k = 256, 128, 192
        a, b = RNG.standard_normal((m, k)).astype(F16), RNG.standard_normal((n, k)).astype(F16)
        out = unwritten(m, n)
        assert gemm(name, out, aligned(a), aligned(b), m=m, n=n, k=k) == 0
        return np.abs(out - a.astype(F64) @ b.astype(F64).T)

    @pytest.mark.usefixtures("order")
    @pytest.mark.parametrize("when", ["late", "now", "random"])
    def test_is_right_whenever_copies_are_made(
        self, gemm: Emulated, monkeypatch: pytest.MonkeyPatch, when: str
    ) -> None:
        monkeypatch.setenv("CUTEGEN_EMU_CPASYNC", when)
        assert self.errors(gemm, "right").max() < 1e-4

    @pytest.mark.parametrize("order", ["fifo", "reverse", "random"])
    @pytest.mark.parametrize("name", ["early", "unsynced"])
    def test_a_missing_wait_or_barrier_shows(
        self, gemm: Emulated, monkeypatch: pytest.MonkeyPatch, name: str, order: str
    ) -> None:
        monkeypatch.setenv("CUTEGEN_EMU_ORDER", order)
        assert np.isnan(self.errors(gemm, name)).any()


class Wrong(NamedTuple):
    code: int
    status: str
    said: str


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("misaligned_row", Wrong(MISALIGNED, "MISALIGNED", "multiple of 4 bytes, not of 16")),
        ("misaligned_async", Wrong(MISALIGNED, "MISALIGNED", "multiple of 4 bytes")),
        ("global_row", Wrong(ILLEGAL_ADDRESS, "OUT_OF_BOUNDS", "outside the block's shared")),
        ("uncallable", Wrong(801, "ENVIRONMENT", "go through cute::copy")),
        (
            "SM80_16x8x32_S32S4S4S32_TN",
            Wrong(801, "ENVIRONMENT", "no layout to the registers of SM80_16x8x32_S32S4S4S32_TN"),
        ),
    ],
)
def test_what_no_gpu_or_no_emulator_runs(atoms: Emulated, name: str, wrong: Wrong) -> None:
    outcome = atoms.apart(name)
    assert outcome.code == wrong.code, outcome.stderr
    [(weight, status, _, summary)] = outcome.reports
    assert (weight, status) == ("fault", wrong.status)
    assert wrong.said in summary


def test_an_atom_without_some_of_its_lanes_is_noted(atoms: Emulated) -> None:
    outcome = atoms.apart("SM80_16x8x16_F32F16F16F32_TN", block=16)
    assert outcome.code == 0
    assert [report[:2] for report in outcome.reports] == [["note", "DIVERGENCE"]]
    assert "16 take part" in outcome.reports[0][3]
