"""The rewriter on texts. That its output compiles and runs is tested with the kernels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutegen.emulator import EmulationError, rewrite


@pytest.mark.parametrize(
    "text",
    [
        "// k<<<1, 2>>>(x); __shared__ float s[2];",
        '/* k<<<1, 2>>>(x);\n */ char const* s = "k<<<1, 2>>>(x) \\" __shared__ int i;";',
        'auto s = R"x(k<<<1, 2>>>(")" asm ; cp_async_bulk)x"; char c = \'"\'; int n = 1\'000;',
        "#error never mind <<<\nint a = b << c, d = e >> f; bool g = h<int, 3>(i > j);",
        'asm volatile("" ::: "memory");',
    ],
)
def test_what_is_no_cuda_stays(text: str) -> None:
    assert rewrite(text) == text


@pytest.mark.parametrize(
    ("launch", "kernel", "configuration"),
    [
        ("k<<<1, 2>>>(x);", "k", "1, 2"),
        ("k<T, 4><<<g(a, b), {1, 2}, sizeof(T) * n, s>>>(x);", "k<T,4>", None),
        ("if (c) return ::n::k<A<B<int>>><<<1, 2>>>(x);", "::n::k<A<B<int>>>", "1, 2"),
        ("x = y, (k<(a > b)><<<1, 2>>>(x));", "k<(a>b)>", "1, 2"),
        ("this->table[i](3)<<<1, 2>>>(x);", "this->table[i](3)", "1, 2"),
        ("if (c) (*pointer)<<<1, 2>>>(x);", "(*pointer)", "1, 2"),
        ("T::template k<2><<<1, f<g<2>>(3)>>>(x);", "T::template k<2>", "1, f<g<2>>(3)"),
    ],
)
def test_launches(launch: str, kernel: str, configuration: str | None) -> None:
    rewritten = rewrite(launch)
    assert f'::cutegen_emu::Launch("{kernel}", ' in rewritten
    assert f").run([&] {{ {kernel}(x); }})" in rewritten
    assert "<<<" not in rewritten
    if configuration:
        assert f'", {configuration}).run' in rewritten


def test_lines_stay_where_they_are() -> None:
    source = """\
__global__ void k(float* x) {
  __shared__
  alignas(16) float s  // room
      [4];
}
#define GO(kernel) \\
  kernel<<<1, \\
           2>>>(x)
void f() {
  k
    <<<1,
       2>>>  // now
    (x,
     MARK);
}
int last;
"""
    rewritten = rewrite(source).splitlines()
    original = source.splitlines()
    assert len(rewritten) == len(original)
    assert rewritten[-1] == original[-1]
    assert "MARK" in rewritten[13]
    assert [line.endswith("\\") for line in rewritten] == [line.endswith("\\") for line in original]


@given(st.text("ab<>(){}[];:,*'\"/\\\n#_ R=01.-") | st.text())
def test_any_text_is_rewritten_or_refused_with_its_lines(text: str) -> None:
    try:
        rewritten = rewrite(text)
    except EmulationError:
        return
    assert rewritten.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('asm("mov.u32 %0, 1;" : "=r"(x));', "inline PTX"),
        ("using Atom = SM100_MMA_F16BF16_SS<A>;", "architecture-specific atoms"),
        ("using Atom = SM100_TMEM_LOAD_32dp32b1x;", "architecture-specific atoms"),
        ("using Atom = GMMA::SPARSE::SM90_GMMA_SPARSE_F16;", "architecture-specific atoms"),
        ("cp_async_bulk_wait<0>();", "asynchronous copies by"),
        ("#include <cooperative_groups.h>", "<cooperative_groups.h>"),
        ("#include <cub/cub.cuh>", "<cub/cub.cuh>"),
        ("#include <cuda/barrier>", "<cuda/barrier>"),
        ("#include <cuda/std/atomic>", "<cuda/std/atomic>"),
        ("#include <cutlass/gemm/device/gemm.h>", "<cutlass/gemm/device/gemm.h>"),
        ("#include <cutlass/gemm/collective/collective_mma.hpp>", "collective_mma"),
        ("__mbarrier_init(&barrier, 1);", "CUDA's own barriers"),
        ("auto g = cooperative_groups::this_grid();", "cooperative groups"),
        ("cudaTextureObject_t texture;", "textures"),
        ("cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, p, nullptr);", "the CUDA driver"),
        ("x = __fmul_rz(x, y);", "directed rounding"),
        ("__shared__ int count = 0;", "initialized __shared__"),
        ("__global__ void p() { k<<<1, 1>>>(); }", "launches from a kernel"),
        ("k<<<1, 1>>>(x++);", "side effects"),
    ],
)
def test_what_the_emulator_lacks_is_refused_with_advice(line: str, what: str) -> None:
    with pytest.raises(EmulationError) as refusal:
        rewrite(f"// first\n{line}\n")
    assert refusal.value.line == 2
    assert what in str(refusal.value)
    assert refusal.value.advice


def test_calls_into_cutlass_say_where_they_stand() -> None:
    source = "void copy(int);\nauto t = pipe->consumer_wait(s);\nif (a) cute::copy(b<c, d>(e), f);"
    assert rewrite(source) == (
        "void copy(int);\nauto t = (::cutegen_emu::here(2), pipe->consumer_wait(s));\n"
        "if (a) (::cutegen_emu::here(3), cute::copy(b<c, d>(e), f));"
    )


def test_kernels_that_are_named_are_known_with_their_clusters() -> None:
    source = "template <class T> __global__ void __cluster_dims__(2) k(T);\n"
    assert rewrite(source + "k<A><<<1, 2>>>(x); f(k<B<C>>, &k<A>);") == (
        source + '::cutegen_emu::Launch("k<A>", 1, 2).cluster(2).run([&] { k<A>(x); }); '
        'f(::cutegen_emu::known("k<B<C>>", k<B<C>>, 2), &::cutegen_emu::known("k<A>", k<A>, 2));'
    )


def test_includes_that_the_shims_serve_are_allowed() -> None:
    source = (
        "#include <cuda/std/utility>\n#include <cutlass/numeric_types.h>\n#include <cuda_fp16.h>\n"
        "#include <cutlass/arch/barrier.h>\n#include <cutlass/pipeline/sm90_pipeline.hpp>\n"
    )
    assert rewrite(source) == source
