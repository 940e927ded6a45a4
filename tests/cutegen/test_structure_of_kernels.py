"""Fingerprints of kernels that were written to be fast: what they are, and what they are not."""

import itertools
from pathlib import Path

import pytest
from variants import VARIANTS

from cutegen.structure import describe_change, fingerprint

ROOT = Path(__file__).resolve().parents[2]
COOKBOOK = ROOT / "prompts" / "cookbook"
FOLDERS = (
    "prompts/cookbook",
    "tests/gpu/kernels",
    "tests/conformance/kernels",
    "tests/graphs/kernels",
    "tests/cutegen/structures",
)
SOURCES = {
    f"{folder}/{file.name}": file.read_text()
    for folder in FOLDERS
    for file in sorted((ROOT / folder).glob("*.cu"))
}
PLAIN = {
    "kernels": "1",
    "mma": "none",
    "mma_types": "none",
    "mma_operands": "none",
    "copies": "scalar",
    "smem": "none",
    "swizzle": "no",
    "staging": "none",
    "roles": "none",
    "grid": "one-tile-per-block",
    "cluster": "no",
    "reduction": "none",
    "tiling": "none",
    "epilogue": "none",
    "phases": "1",
    "kept": "none",
    "loads_in_flight": "none",
    "cache_hints": "none",
}
# By what each recipe differs from the plainest kernel.
RECIPES = {
    "bf16_stream": {"copies": "vectorized-128", "loads_in_flight": "batched"},
    "block_reduction": {"smem": "static", "staging": "single", "reduction": "shuffle+smem"},
    "cluster_reduction": {
        "smem": "static",
        "staging": "single",
        "cluster": "yes",
        "reduction": "shuffle+smem+cluster",
    },
    "cp_async_pipeline": {
        "mma": "mma.sync",
        "mma_types": "F16→F32",
        "mma_operands": "registers",
        "copies": "cp.async+ldmatrix+vectorized-128",
        "smem": "dynamic",
        "swizzle": "yes",
        "staging": "multi-stage",
        "tiling": "smem+register",
        "epilogue": "plain",
        "phases": "none",
    },
    "fp32_register_tile": {
        "mma": "universal-fma",
        "mma_operands": "smem",
        "copies": "cp.async",
        "smem": "static",
        "staging": "multi-stage",
        "tiling": "smem+register",
        "epilogue": "plain",
        "phases": "none",
    },
    "fused_epilogue": {
        "mma": "mma.sync",
        "mma_types": "F16→F32",
        "mma_operands": "registers",
        "copies": "ldmatrix+vectorized-128",
        "smem": "static",
        "swizzle": "yes",
        "staging": "single",
        "tiling": "smem+register",
        "epilogue": "fused+staged",
        "phases": "none",
    },
    "grid_stride_vectors": {
        "copies": "vectorized-128",
        "grid": "grid-stride",
        "loads_in_flight": "batched",
    },
    "layer_norm": {
        "smem": "static",
        "staging": "single",
        "reduction": "shuffle+smem",
        "phases": "2",
    },
    "ldmatrix_mma": {
        "mma": "mma.sync",
        "mma_types": "F16→F32",
        "mma_operands": "registers",
        "copies": "ldmatrix+vectorized-128",
        "smem": "static",
        "swizzle": "yes",
        "staging": "single",
        "tiling": "smem+register",
        "epilogue": "plain",
        "phases": "none",
    },
    "online_softmax": {
        "smem": "static",
        "staging": "single",
        "reduction": "shuffle+smem+online",
        "phases": "2",
        "kept": "smem",
    },
    "smem_transpose": {
        "smem": "static",
        "swizzle": "yes",
        "staging": "single",
        "phases": "2",
        "kept": "smem",
        "loads_in_flight": "batched",
    },
    "split_k": {
        "kernels": "2",
        "mma": "universal-fma",
        "mma_operands": "smem",
        "smem": "static",
        "staging": "single",
        "grid": "split-k",
        "tiling": "smem+register",
        "epilogue": "plain",
        "phases": "none",
    },
    "tf32_three_passes": {
        "mma": "mma.sync",
        "mma_types": "TF32→F32",
        "mma_operands": "registers",
        "copies": "vectorized-128",
        "smem": "static",
        "staging": "single",
        "tiling": "smem+register",
        "epilogue": "plain",
        "phases": "none",
    },
    "tiled_copy_predicated": {"copies": "vectorized-128"},
    "warp_row_sum": {"copies": "vectorized-128", "reduction": "shuffle"},
    "warp_specialised": {
        "mma": "wgmma",
        "mma_types": "F16→F32",
        "mma_operands": "SS",
        "copies": "tma",
        "smem": "dynamic",
        "swizzle": "yes",
        "staging": "multi-stage",
        "roles": "producer-consumer+setmaxnreg",
        "grid": "persistent",
        "tiling": "smem+register",
        "epilogue": "plain",
        "phases": "none",
    },
    "wgmma_tma": {
        "mma": "wgmma",
        "mma_types": "F16→F32",
        "mma_operands": "SS",
        "copies": "tma",
        "smem": "dynamic",
        "swizzle": "yes",
        "staging": "multi-stage",
        "tiling": "smem+register",
        "epilogue": "plain",
        "phases": "none",
    },
}


def recipe(name: str) -> str:
    return (COOKBOOK / f"{name}.cu").read_text()


def test_there_are_enough_kernels() -> None:
    assert len(SOURCES) >= 30
    assert set(RECIPES) == {file.stem for file in COOKBOOK.glob("*.cu")}


@pytest.mark.parametrize("name", RECIPES)
def test_the_design_of_a_recipe(name: str) -> None:
    assert fingerprint(recipe(name)).features == PLAIN | RECIPES[name]


@pytest.mark.parametrize("name", SOURCES)
def test_formatting_names_and_numbers_are_no_structure(name: str) -> None:
    source = SOURCES[name]
    found = fingerprint(source)
    for kind, rewrite in VARIANTS.items():
        other = rewrite(source)
        assert other != source or kind == "reparameterised"
        assert fingerprint(other).features == found.features, kind


def test_numbers_are_parameters() -> None:
    changed = 0
    for source in SOURCES.values():
        other = VARIANTS["reparameterised"](source)
        changed += fingerprint(other).parameters != fingerprint(source).parameters
    assert changed >= 25


def test_recipes_are_designs_of_their_own() -> None:
    prints = {name: fingerprint(recipe(name)) for name in RECIPES}
    for one, other in itertools.combinations(prints, 2):
        assert not prints[one].same_structure(prints[other]), (one, other)


CHANGES = [
    ("wgmma_tma", "F16F16_SS<", "F16F16_RS<", "operands from RS replaces operands from SS"),
    ("wgmma_tma", "_64x128x16_", "_64x64x16_", "parameters: mma.shape 64x128x16→64x64x16"),
    (
        "wgmma_tma",
        "F32F16F16_",
        "F16F16F16_",
        "F16→F16 products replaces F16→F32 products",
    ),
    (
        "warp_specialised",
        "SM90_TMA_LOAD{}",
        "SM90_TMA_LOAD_MULTICAST{}",
        "TMA multicast replaces TMA",
    ),
    ("warp_specialised", "_SW128_", "_SW64_", "parameters: swizzle.bits SW128→SW64"),
    (
        "ldmatrix_mma",
        "composition(Swizzle<3, 3, 3>{}, ",
        "composition(",
        "drops a swizzle of shared memory; parameters: swizzle.bits (gone)",
    ),
    ("cp_async_pipeline", "kStages = 4", "kStages = 3", "parameters: kStages 4→3"),
    ("cp_async_pipeline", "SM75_U32x4_LDSM_N", "DefaultCopy", "drops ldmatrix"),
    (
        "cp_async_pipeline",
        "half_t(acc(i))",
        "half_t(fmaxf(acc(i), 0.0f))",
        "fused epilogue replaces plain epilogue",
    ),
    (
        "warp_row_sum",
        "if (lane == 0) out[row] = sum",
        "if (lane == 0) atomicAdd(out + row, sum)",
        "adds a reduction by atomics",
    ),
    (
        "grid_stride_vectors",
        "int64_t(gridDim.x) * kThreads",
        "int64_t(n) * kThreads",
        "one-tile-per-block grid replaces grid-stride grid",
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "change"), CHANGES)
def test_a_change_in_the_words_of_the_field(name: str, old: str, new: str, change: str) -> None:
    source = recipe(name)
    assert old in source
    assert describe_change(fingerprint(source), fingerprint(source.replace(old, new))) == change


def test_ptx_says_what_an_atom_says() -> None:
    for factors, operands in (("%4, %5", "SS"), ("{%4, %5, %6, %7}, %8", "RS")):
        found = fingerprint(
            "__global__ void k(float* c, uint64_t a, uint64_t b) {\n"
            'asm volatile("{ wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "\n'
            f'  "{{%0, %1, %2, %3}}, {factors}, p, 1, 1; }}" : "+f"(c[0]) : "l"(a), "l"(b));\n}}'
        )
        assert found.features["mma"] == "wgmma"
        assert found.features["mma_operands"] == operands
        assert found.features["mma_types"] == "F16→F32"
        assert found.parameters["mma.shape"] == "64x8x16"


@pytest.mark.parametrize(
    ("body", "grid"),
    [
        ("for (int k = 0; k < K; ++k) s += a[k] * b[k]; c[blockIdx.x] = s;", "one-tile-per-block"),
        (
            (
                "int const z = blockIdx.z; for (int k = z; k < z + 8; ++k) s += a[k] * b[k];"
                " atomicAdd(c, s);"
            ),
            "split-k",
        ),
        (  # with a triangular matrix the loop over K depends on the block too
            "int const m = blockIdx.x; for (int k = 0; k < m; ++k) s += a[k] * b[k]; c[m] = s;",
            "one-tile-per-block",
        ),
        (
            (
                "for (int t = blockIdx.x; t < n; t += gridDim.x) {"
                " for (int k = 0; k < K; ++k) s += a[k] * b[k]; c[t] = s; }"
            ),
            "persistent",
        ),
        (
            (
                "int unit = blockIdx.x * n; int const end = unit + n; while (unit < end) {"
                " int const first = unit % K; for (int k = first; k < K; ++k) s += a[k] * b[k];"
                " atomicAdd(c + unit / K, s); unit += K - first; }"
            ),
            "stream-k",
        ),
        (
            (
                "for (;;) { int const t = atomicAdd(next, 1); if (t >= n) break;"
                " for (int k = 0; k < K; ++k) s += a[k] * b[k]; c[t] = s; }"
            ),
            "persistent",
        ),
    ],
)
def test_how_blocks_share_a_product(body: str, grid: str) -> None:
    head = "__global__ void k(float* a, float* b, float* c, int* next, int n, int K)"
    assert fingerprint(f"{head} {{ float s = 0; {body} }}").features["grid"] == grid


def test_a_phase_that_flips_is_no_stage() -> None:
    copy = "for (int i = 0; i < 4; ++i) "
    flips = f"wait_barrier(bar, p); p ^= 1; {copy} s[0][i] = a[i];"
    turns = f"wait_barrier(bar, 0); p ^= 1; {copy} s[p][i] = a[i];"
    for body, staging in ((flips, "single"), (turns, "multi-stage")):
        source = f"__global__ void k(float* a) {{ __shared__ float s[2][4]; int p = 0; {body} }}"
        assert fingerprint(source).features["staging"] == staging


def test_sums_of_squares_are_no_products() -> None:
    square = "float d = x[i] - m; s += d * d;"
    product = "float d = x[i]; s += d * y[i];"
    for body, family in ((square, "none"), (product, "fma")):
        head = "__global__ void k(float* x, float* y, float m)"
        source = f"{head} {{ float s = 0; for (int i = 0; i < 8; ++i) {{ {body} }} x[0] = s; }}"
        assert fingerprint(source).features["mma"] == family
