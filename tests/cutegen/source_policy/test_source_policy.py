"""What the policy names, and what it leaves alone: it may not raise a false alarm."""

import subprocess
from pathlib import Path

import pytest

from cutegen.source_policy import check_object, check_source

ROOT = Path(__file__).resolve().parents[3]
HONEST_SOURCES = sorted(
    path
    for folder in ("prompts/cookbook", "tests/cutegen", "tests/graphs")
    for path in (ROOT / folder).rglob("*.cu")
)

HONEST = """\
#include "cutegen_args.h"
#include <cute/tensor.hpp>
#include <cutlass/numeric_conversion.h>
#include <cuda_fp16.h>
#include <cstdio>
#include <iostream>
#include <mutex>
// cudaMalloc, fopen and std::thread are only words here; so is system("rm").
using namespace cute;
#define WIDTH 4
static constexpr auto kLayout = make_layout(make_shape(Int<8>{}, Int<4>{}));
static int calls = 0;
__device__ int counter;
CUTE_HOST_DEVICE int read(int thread) { return thread; }  // a plain word for the system, not here
template <class T>
__global__ void kernel(T const* x, T* out, int n) {
  int thread = threadIdx.x, open = 0, close = n, exit = 1;
  asm volatile("membar.gl;" ::: "memory");
  auto fork = [&] __device__(int i) { return i + open + exit; };
  if (thread < close) out[thread] = x[fork(thread)] + T(read(thread));
  printf("the kernel calls exit(1) and getenv(\\"HOME\\")");
}
CUTE_DEVICE void fence() { asm volatile("fence.proxy.async;"); }
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  ++calls;
  int device = 0, count = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  cudaFuncSetAttribute(kernel<float>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  cudaMemsetAsync(a->workspace, 0, a->workspace_bytes, a->stream);
  kernel<<<count, 128, 0, a->stream>>>(a->x, a->out, 128);
  return cudaGetLastError();
}
"""


def test_an_honest_kernel_is_left_alone() -> None:
    assert check_source(HONEST) == ()


@pytest.mark.parametrize("path", HONEST_SOURCES, ids=lambda path: path.name)
def test_no_kernel_of_ours_is_named(path: Path) -> None:
    assert check_source(path.read_text(encoding="utf-8")) == ()


@pytest.mark.parametrize(
    ("added", "words"),
    [
        ("#include <thread>", "no header"),
        ("#include <cublas_v2.h>", "library"),
        ("#include <torch/extension.h>", "library"),
        ("#include SOMETHING", "no header"),
        ("#define MAKE(s) cudaStreamCreate(s)", "stream of its own"),
        ("#define KEEP cudaLimitPersistingL2CacheSize", "L2"),
        ("void f() { cudaGraphLaunch(nullptr, 0); }", "graphs"),
        ("void f(float** p) { ::cudaMalloc(p, 4); }", "cutegen_workspace_bytes"),
        ("void f() { std::thread([] {}).detach(); }", "threads"),
        ("void f() { auto t = std::async([] {}); }", "threads"),
        ('void f() { ::system("true"); }', "operating system"),
        ("void f() { std::exit(0); }", "operating system"),
        ("auto opener = &dlopen;", "outside of itself"),
        ('void f() { asm("syscall"); }', "host code"),
        ("__attribute__((constructor)) void early() {}", "loaded"),
        ("[[gnu::constructor]] void early() {}", "loaded"),
        ("static int now() { return 1; }\nstatic int began = now();", "run"),
        ('struct Early { Early() { puts(""); } };\nstatic Early early;', "run"),
        ('extern "C" int elsewhere(int);', "defined elsewhere"),
        ('extern "C" { void elsewhere(); }', "defined elsewhere"),
        (
            'extern "C" cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }',
            "runtime",
        ),
    ],
)
def test_what_a_kernel_may_not_do_is_named_with_its_line(added: str, words: str) -> None:
    found = check_source(f"{HONEST}\n{added}\n")
    assert found, added
    last = len(HONEST.splitlines()) + 1 + len(added.splitlines())
    assert any(words in f"{v.what}: {v.advice}" and v.line in (last, last - 1) for v in found), (
        found
    )


def test_text_that_is_no_code_does_no_harm() -> None:
    for text in ("", "}}}}", "#define", "\x00\xff", "template <" * 50, HONEST[:400]):
        check_source(text)


def built(folder: Path, text: str) -> Path:
    source, target = folder / "candidate.cpp", folder / "candidate.o"
    source.write_text(text, encoding="utf-8")
    subprocess.run(
        ["g++", "-std=c++17", "-O1", "-fPIC", "-c", source, "-o", target], check=True, timeout=60
    )
    return target


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            """#include <dlfcn.h>
            #define JOIN(x, y) x##y
            void* f() { return JOIN(dl, open)("x", 1); }""",
            "dlopen",
        ),
        ("#include <cstdlib>\nauto f = &std::getenv;", "getenv"),
        ("#include <thread>\nvoid f() { std::thread([] {}).detach(); }", "std::thread"),
        ('#include <fstream>\nvoid f() { std::ofstream("x") << 1; }', "std::fstream"),
        ('extern int elsewhere(); extern "C" int other(); int f() { return other(); }', "other"),
        (
            "".join(f"__attribute__((constructor)) void {name}() {{}}\n" for name in "abc"),
            "loaded",
        ),
    ],
)
def test_what_macros_hide_the_object_shows(tmp_path: Path, text: str, words: str) -> None:
    found = check_object(built(tmp_path, text), text)
    assert any(words in violation.what for violation in found), found


def test_an_honest_object_is_left_alone(tmp_path: Path) -> None:
    text = """
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>
std::map<std::string, std::vector<double>> kept;
double f(double x, char const* name) {
  if (x < 0) throw std::runtime_error("negative");
  static std::once_flag once;
  std::call_once(once, [] { std::cerr << "once"; });
  kept[name].push_back(std::exp2(x) + std::sqrt(x) + std::fmod(x, 2.0) + std::lrint(x));
  std::printf("%s %zu", name, std::strlen(name));
  return kept[name].back();
}
"""
    assert check_object(built(tmp_path, text), text) == ()
