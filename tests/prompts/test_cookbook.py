"""The cookbook: every recipe is verified, and the right ones are shown."""

import re
import shutil

import pytest
import torch
from cookbook_specs import COOKBOOK, ENTRIES
from torch.nn import functional

from cutegen.execution import resolve_executor
from cutegen.execution.protocol import EvaluationJob
from cutegen.prompts.recipes import BUDGET, MOST, choose, cookbook
from cutegen.spec import KernelClass, KernelSpec
from cutegen.structure import fingerprint


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
@pytest.mark.parametrize("name", ENTRIES)
def test_a_recipe_is_right(name: str) -> None:
    source = (COOKBOOK / f"{name}.cu").read_text()
    spec = ENTRIES[name].spec(name, small=True)
    verdict = resolve_executor("emulated").evaluate(EvaluationJob(spec=spec, source=source))
    assert verdict.passed, verdict.evidence


def test_every_recipe_has_a_spec_and_says_what_it_is() -> None:
    recipes = cookbook()
    assert [recipe.name for recipe in recipes] == sorted(ENTRIES)
    assert len(recipes) >= 16
    for recipe in recipes:
        assert set(recipe.classes) <= {kind.value for kind in KernelClass}
        assert recipe.idea.endswith("."), recipe.name
        assert len(recipe.intents) >= 4
        assert recipe.source.startswith("#include")
        assert max(map(len, recipe.source.split("\n"))) <= 110, recipe.name
        assert "kThreads" in recipe.source
        assert re.search(r"//", recipe.source), "a recipe without a comment teaches nothing"


def names(spec: KernelSpec, arch: str = "sm_90a", source: str | None = None) -> list[str]:
    design = None if source is None else fingerprint(source)
    chosen = choose(spec, arch, design)
    assert len(chosen) <= MOST
    assert sum(len(recipe.source) for recipe in chosen) <= BUDGET
    return [recipe.name for recipe in chosen]


def recipe(name: str) -> str:
    return (COOKBOOK / f"{name}.cu").read_text()


def spec_of(
    function: object,
    *shapes: tuple[int, ...],
    dtype: torch.dtype = torch.float32,
    math_mode: str = "fp32",
) -> KernelSpec:
    assert callable(function)
    inputs = [torch.randn(shape, dtype=dtype) for shape in shapes]
    return KernelSpec.from_callable(function, inputs, name="asked", math_mode=math_mode)


def test_an_activation_gets_streams_and_no_halves() -> None:
    chosen = names(spec_of(torch.tanh, (256, 256)))
    assert set(chosen) <= {"tiled_copy_predicated", "grid_stride_vectors", "smem_transpose"}
    assert len(chosen) >= 2


def test_the_operation_decides_first() -> None:
    assert names(spec_of(lambda x: torch.softmax(x, 1), (64, 256)))[0] == "online_softmax"
    normed = spec_of(lambda x: functional.layer_norm(x, (256,)), (64, 256))
    assert names(normed)[0] == "layer_norm"


def test_a_product_is_shown_its_next_step() -> None:
    half = spec_of(torch.matmul, (256, 256), (256, 256), dtype=torch.float16, math_mode="fp16")
    chosen = names(half, source=recipe("ldmatrix_mma"))
    assert "ldmatrix_mma" not in chosen
    assert "cp_async_pipeline" in chosen
    late = names(half, source=recipe("wgmma_tma"))
    assert "warp_specialised" in late
    full = spec_of(torch.matmul, (256, 256), (256, 256))
    assert names(full)[0] in {"fp32_register_tile", "split_k"}
    assert "tf32_three_passes" in names(full, source=recipe("fp32_register_tile"))
    for name in names(full):
        assert "half_t" not in recipe(name)


@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_100a"])
def test_instructions_that_are_not_there_are_not_shown(arch: str) -> None:
    half = spec_of(torch.matmul, (256, 256), (256, 256), dtype=torch.float16, math_mode="fp16")
    for source in (None, recipe("cp_async_pipeline"), recipe("ldmatrix_mma")):
        assert not {"wgmma_tma", "warp_specialised"} & set(names(half, arch, source))
