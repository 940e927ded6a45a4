"""Matrix products of the playbook against PyTorch, at extents that fill no tile."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from cutegen.agents.models.playbook.matmul_plan import MatmulPlan
from cutegen.spec import KernelSpec
from cutegen.verification.verdict import Verdict

Judge = Callable[[KernelSpec, str], Verdict]


def rand(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.rand(*shape).to(dtype)


def transposed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.transpose(-2, -1) @ b.transpose(-2, -1)


HALVES = [rand(40, 72, dtype=torch.float16), rand(136, 40, dtype=torch.float16)]
TILED = {"tiled": True}
REGISTERS = {"tiled": True, "registers": True, "block_m": 64, "block_n": 64}
HOPPER = {"tiled": True, "wgmma": True, "block_m": 64, "block_n": 64, "stages": 2}
TENSOR = {"tiled": True, "tensor": True, "block_m": 64, "block_n": 64, "block_k": 32}


@pytest.mark.parametrize(
    ("function", "inputs", "math_mode", "decisions"),
    [
        (torch.matmul, [rand(67, 37), rand(37, 41)], "fp32", {}),
        (torch.matmul, [rand(3, 21, 37), rand(37, 41)], "fp32", {"tile": 8}),
        (transposed, [rand(3, 19, 35), rand(3, 23, 19)], "fp32", TILED),
        # fewer accesses of eight halves per tile than threads, along either mode
        (transposed, HALVES, "fp16", REGISTERS | {"block_k": 8}),
        # rows and columns of eight halves; every extent ends within a tile
        (
            torch.matmul,
            [rand(72, 104, dtype=torch.float16), rand(104, 136, dtype=torch.float16)],
            "fp16",
            TENSOR,
        ),
        # odd extents: no asynchronous copies
        (
            transposed,
            [rand(2, 43, 69, dtype=torch.bfloat16), rand(2, 77, 43, dtype=torch.bfloat16)],
            "bf16",
            TENSOR | {"block_k": 64, "stages": 2},
        ),
        # three passes: a product of several dimensions, two slices of K, chains that end early
        (
            lambda a, b: torch.einsum("bij,jk->bik", a, b),
            [rand(2, 9, 600), rand(600, 40)],
            "fp32",
            HOPPER | {"chain": 2, "split": True},
        ),
        # the whole ladder, and tiles that hold nothing but zeros
        (
            lambda a, b: torch.triu(a.T @ b),
            [rand(40, 150), rand(40, 72)],
            "fp32",
            HOPPER | {"halves": True, "cluster": 2, "resident": 2},
        ),
        # split where they are multiplied: both contiguous along M and N, repacked, in slices of K
        (
            transposed,
            [rand(1100, 69), rand(77, 1100)],
            "fp32",
            HOPPER | {"halves": True, "fused": True, "block_m": 128, "cluster": 2, "split": True},
        ),
        # both factors contiguous along M and N, in lines that TMA cannot address as they are
        (
            transposed,
            [rand(43, 69, dtype=torch.bfloat16), rand(77, 43, dtype=torch.bfloat16)],
            "bf16",
            HOPPER | {"cluster": 2},
        ),
        (
            lambda a, b: torch.tril(a @ b, 1),
            [rand(2, 21, 37), rand(2, 37, 41)],
            "fp32",
            TILED,
        ),
    ],
    ids=[
        "naive",
        "leading dimensions",
        "batched transposes tiled",
        "half register tiles",
        "tensor cores",
        "batched odd tensor cores",
        "three passes in slices",
        "triangle by halves in clusters",
        "split where they are multiplied",
        "wgmma of 16-bit transposes",
        "batched triangles",
    ],
)
def test_products(
    judge: Judge,
    function: Callable[..., Any],
    inputs: list[torch.Tensor],
    math_mode: str,
    decisions: dict[str, bool | int],
) -> None:
    spec = KernelSpec.from_callable(function, inputs, name="product", math_mode=math_mode)
    plan = MatmulPlan(spec)
    verdict = judge(spec, plan.render(plan.first.model_copy(update=decisions)))
    assert verdict.passed, verdict.evidence.summary


def test_linear_with_bias_and_relu_in_the_epilogue_of_prefetched_tiles(judge: Judge) -> None:
    module = torch.nn.Sequential(torch.nn.Linear(40, 136), torch.nn.ReLU())
    spec = KernelSpec.from_module(module, [rand(72, 40)], name="linear")
    plan = MatmulPlan(spec)
    design = plan.first.model_copy(update=REGISTERS | {"block_k": 8, "prefetch": True})
    verdict = judge(spec, plan.render(design))
    assert verdict.passed, verdict.evidence.summary


def test_shared_memory_of_a_design() -> None:
    plan = MatmulPlan(KernelSpec.from_callable(torch.matmul, [rand(8, 8), rand(8, 8)], name="p"))
    deep = plan.first.model_copy(update={"tiled": True, "registers": True, "block_k": 32})
    twice = deep.model_copy(update={"prefetch": True})
    assert (plan.shared_bytes(deep), plan.fits(deep)) == ((132 + 132) * 32 * 4, True)
    assert (plan.shared_bytes(twice), plan.fits(twice)) == (2 * (132 + 132) * 32 * 4, False)
