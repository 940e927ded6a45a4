from pathlib import Path

import pytest

from cutegen.cuda_syntax import CudaSource
from cutegen.structure import Fingerprint, describe_change, fingerprint
from cutegen.structure.features import features

SOURCES = Path(__file__).parent / "structures"
ELEMENTWISE = ("plain", "vectorized", "persistent", "batched", "streaming")
MATMUL = ("naive", "smem", "register", "tensor_core")


def read(name: str) -> str:
    return (SOURCES / f"{name}.cu").read_text()


def of(name: str) -> Fingerprint:
    return fingerprint(read(name))


def changed(old: Fingerprint, new: Fingerprint) -> dict[str, tuple[str, str]]:
    return {
        name: (old.features[name], new.features[name])
        for name in new.features
        if old.features[name] != new.features[name]
    }


def test_comments_formatting_names_and_numbers_change_no_feature() -> None:
    one, other = of("swish_plain"), of("swish_plain_renamed")
    assert one.same_structure(other)
    assert one.parameters != other.parameters


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("swish_plain", "swish_vectorized", {"copies": ("scalar", "vectorized-128")}),
        ("swish_vectorized", "swish_persistent", {"grid": ("one-tile-per-block", "persistent")}),
        ("swish_persistent", "swish_batched", {"loads_in_flight": ("none", "batched")}),
        ("swish_batched", "swish_streaming", {"cache_hints": ("none", "streaming")}),
        (
            "matmul_naive",
            "matmul_smem",
            {
                "smem": ("none", "static"),
                "staging": ("none", "single"),
                "mma_operands": ("global", "smem"),
                "tiling": ("none", "smem"),
            },
        ),
        (
            "matmul_smem",
            "matmul_register",
            {
                "copies": ("scalar", "vectorized-128"),
                "mma_operands": ("smem", "registers"),
                "tiling": ("smem", "smem+register"),
            },
        ),
    ],
)
def test_a_structural_move_changes_what_it_names(
    old: str, new: str, expected: dict[str, tuple[str, str]]
) -> None:
    assert changed(of(old), of(new)) == expected


def test_tensor_cores_pipelines_and_swizzles_are_seen() -> None:
    assert of("matmul_tensor_core").features == {
        "kernels": "1",
        "mma": "mma.sync",
        "mma_types": "F16→F32",
        "mma_operands": "registers",
        "copies": "cp.async+vectorized-128",
        "smem": "dynamic",
        "swizzle": "yes",
        "staging": "multi-stage",
        "roles": "none",
        "grid": "one-tile-per-block",
        "cluster": "no",
        "reduction": "none",
        "tiling": "smem+register",
        "epilogue": "plain",
        "phases": "none",
        "kept": "none",
        "loads_in_flight": "none",
        "cache_hints": "none",
    }


def test_a_reduction_is_no_product() -> None:
    found = of("row_sum").features
    assert (found["mma"], found["reduction"]) == ("none", "shuffle+smem")


@pytest.mark.parametrize(
    "name", [*(f"swish_{n}" for n in ELEMENTWISE), *(f"matmul_{n}" for n in MATMUL)]
)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kThreads = 256", "kThreads = 1024"),
        ("kLoads = 4", "kLoads = 8"),
        ("kBlocksPerSm = 4", "kBlocksPerSm = 2"),
        ("kTile = 32", "kTile = 16"),
        ("BM = _128", "BM = _64"),
        ("__launch_bounds__(256, 2)", "__launch_bounds__(256, 1)"),
    ],
)
def test_a_parameter_move_changes_no_feature(name: str, old: str, new: str) -> None:
    source = read(name)
    assert fingerprint(source).same_structure(fingerprint(source.replace(old, new)))


def test_parameters_and_launches_are_evaluated() -> None:
    found = of("matmul_register").parameters
    assert (found["BM"], found["BK"], found["launch0.threads"]) == (128, 8, 256)
    assert of("matmul_smem").parameters["launch0.threads"] == 32 * 32
    assert of("matmul_naive").parameters["launch0.threads"] == 16 * 16
    computed = fingerprint(
        "#define T 128\nconstexpr int kVec = 4;\ntemplate <int kRows = T / kVec> struct S {};\n"
        "enum { kBytes = kVec * sizeof(float) };\nconstexpr int bad = 1 / 0, big = 1 << 4000000;\n"
    ).parameters
    assert computed["kRows"] == 32
    assert computed["kBytes"] == 16
    assert "bad" not in computed
    chosen = fingerprint(
        "int f() { int const threads = 64; int const tile = 4 * threads; k<<<1, tile>>>(); }"
    ).parameters
    assert chosen == {"threads": 64, "launch0.threads": 256, "launch0.dynamic_smem_bytes": 0}


def test_broken_source_still_has_every_feature() -> None:
    whole = of("swish_streaming").features
    for source in ("", "not C++ at all }{", read("swish_streaming")[:900], "__global__ void k("):
        assert fingerprint(source).features.keys() == whole.keys()
    endless = f"constexpr int n = {'+'.join(['1'] * 5000)};"
    assert fingerprint(endless).features.keys() == whole.keys()
    broken = read("swish_streaming").replace("float4 r[kLoads];", "float4 r[kLoads;")
    assert fingerprint(broken).features["copies"] == "vectorized-128"


def test_describe_change_names_features_then_parameters() -> None:
    old, new = of("swish_plain"), of("swish_vectorized")
    assert describe_change(old, new) == "adds 128-bit accesses; parameters: kVec = 4 (new)"
    tuned = fingerprint(read("swish_plain").replace("256", "512"))
    assert describe_change(old, tuned) == "parameters: kThreads 256→512, launch0.threads 256→512"
    assert describe_change(old, old) == "no change of structure or parameters"


@pytest.mark.parametrize(
    ("snippet", "feature", "value"),
    [
        ("using C = UniversalCopy<uint64_t>;", "copies", "vectorized-64"),
        ("using C = AutoVectorizingCopyWithAssumedAlignment<128>;", "copies", "vectorized-128"),
        ("using C = AutoVectorizingCopyWithAssumedAlignment<32>;", "copies", "scalar"),
        ("constexpr int kBits = 64; using T = uint_bit_t<kBits>;", "copies", "vectorized-64"),
        ("using C = SM90_TMA_LOAD;", "copies", "tma"),
        (
            '__device__ void f() { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"); }',
            "copies",
            "cp.async",
        ),
        (
            '__device__ void f() { asm volatile("ld.global.L1::no_allocate.v4.f32"); }',
            "cache_hints",
            "streaming",
        ),
        (
            "using M = MMA_Atom<SM90_64x128x16_F32F16F16_SS<A, B>>;",
            "mma_operands",
            "SS",
        ),
        ("auto mma = make_tiled_mma(UniversalFMA<float>{});", "mma", "universal-fma"),
        ("__global__ void __cluster_dims__(2, 1, 1) k() {}", "cluster", "yes"),
        ("__global__ void a() {} __global__ void b() {}", "kernels", "2"),
        ("__device__ void f(float* x) { atomicAdd(x, 1.f); }", "reduction", "atomic"),
        (
            "__global__ void k(int n) { int i = 0; while (i < n) i += gridDim.x * blockDim.x; }",
            "grid",
            "grid-stride",
        ),
    ],
)
def test_features_by_their_names_in_cuda_and_cute(snippet: str, feature: str, value: str) -> None:
    assert features(CudaSource(snippet))[feature] == value
