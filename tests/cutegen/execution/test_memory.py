"""Arenas: layout, guard bands, poison."""

import torch

from cutegen.execution.memory import GUARD_BYTES, HostArena, Layout, prepare, trespasses, view
from cutegen.spec import Case, DType, TensorArg
from cutegen.verification.poison import raw

CASE = Case(
    name="case",
    tensors=(
        TensorArg(name="x", role="input", dtype=DType.FLOAT32, shape=(3, 7)),
        TensorArg(name="flags", role="input", dtype=DType.BOOL, shape=(5,)),
        TensorArg(name="out", role="output", dtype=DType.FLOAT16, shape=(3,)),
        TensorArg(name="count", role="output", dtype=DType.INT64, shape=()),
    ),
)
INPUTS = {"x": torch.randn(3, 7), "flags": torch.tensor([True, False, True, True, False])}


def prepared() -> tuple[HostArena, Layout]:
    layout = Layout(CASE)
    arena = HostArena(layout.nbytes)
    prepare(arena.memory, layout, INPUTS)
    return arena, layout


def test_tensors_are_aligned_and_kept_apart() -> None:
    layout = Layout(CASE)
    assert all(offset % 256 == 0 for offset in layout.offsets.values())
    gaps = list(layout.gaps())
    assert len(gaps) == len(CASE.tensors) + 1
    assert all(end - start >= GUARD_BYTES for start, end in gaps)


def test_inputs_are_written_and_outputs_poisoned() -> None:
    arena, layout = prepared()
    x, flags, out, count = (view(arena.memory, layout, tensor) for tensor in CASE.tensors)
    assert torch.equal(x, INPUTS["x"])
    assert torch.equal(flags, INPUTS["flags"])
    assert bool(torch.isnan(out).all())
    assert count.shape == ()
    assert not trespasses(arena.memory, layout)


def test_guard_bands_read_as_nan() -> None:
    arena, layout = prepared()
    end = layout.offsets["x"] + CASE.tensors[0].nbytes
    beyond = arena.memory[end : end + 64]
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        shifted = beyond[: 64 // dtype.itemsize * dtype.itemsize].clone().view(dtype)
        assert bool(torch.isnan(shifted).all()), dtype


def test_a_trespass_names_the_nearest_tensor() -> None:
    arena, layout = prepared()
    end = layout.offsets["out"] + 6
    arena.memory[end + 4 : end + 8] = 0
    (found,) = trespasses(arena.memory, layout)
    assert (found.tensor, found.side, found.distance) == ("out", "past the end", 4)
    arena, layout = prepared()
    arena.memory[layout.offsets["count"] - 8 : layout.offsets["count"]] = 0
    (found,) = trespasses(arena.memory, layout)
    assert (found.tensor, found.side, found.distance) == ("count", "before the start", 0)


def test_a_copy_from_one_guard_band_to_another_is_seen() -> None:
    arena, layout = prepared()
    source = layout.offsets["x"] + CASE.tensors[0].nbytes
    target = layout.offsets["out"] + CASE.tensors[2].nbytes
    arena.memory[target : target + 2] = arena.memory[source : source + 2]
    assert trespasses(arena.memory, layout)
    assert raw(arena.memory).numel() == layout.nbytes
