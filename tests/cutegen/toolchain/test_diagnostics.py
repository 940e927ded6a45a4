"""Compiler output as it was printed by nvcc 13.0 and g++ 12, and what is made of it."""

# ruff: noqa: E501 - compilers print long lines

from pathlib import Path

import pytest

from cutegen.status import Status
from cutegen.toolchain.diagnostics import parse
from cutegen.toolchain.faults import fault_of_surroundings
from cutegen.toolchain.ptxas import parse_resources

RECORDED = Path(__file__).parent / "recorded"
"""Sources with one fault each, and all that nvcc 13.0.88 and g++ 12.2 said about them."""

SOURCE = "\n".join(f"line {number};" for number in range(1, 60))

EDG_IN_HEADER = """\
/cutlass/include/cute/algorithm/tuple_algorithms.hpp(224): error: static assertion failed with "Mismatched tuple_size"
      static_assert(tuple_size<T0>::value == tuple_size<T1>::value, "Mismatched tuple_size");
      ^
          detected during:
            instantiation of "auto cute::transform(const T0 &, const T1 &, F &&)" at line 544 of /cutlass/include/cute/int_tuple.hpp
            instantiation of "auto cute::filter_zeros(const IntTupleA &)" at line 919 of /cutlass/include/cute/layout.hpp
            instantiation of "auto cute::detail::complement(const Shape &)" at line 1237
            instantiation of "auto cute::logical_divide(const cute::Layout<LShape> &)" at line 41 of candidate.cu

candidate.cu(44): error: identifier "foo" is undefined
    foo();
    ^

2 errors detected in the compilation of "candidate.cu".
"""

GCC_IN_HEADER = """\
In file included from /cutlass/include/cute/layout.hpp:38,
                 from candidate.cpp:2:
/cutlass/include/cute/stride.hpp: In instantiation of 'constexpr auto cute::crd2idx(const Coord&)':
/cutlass/include/cute/layout.hpp:165:14:   required from 'constexpr auto cute::Layout<Shape>::operator()(const Coord&) const'
candidate.cpp:17:50:   required from here
/cutlass/include/cute/stride.hpp:120:21: error: static assertion failed: Mismatched Ranks
  120 |       static_assert(tuple_size<Coord>::value == tuple_size< Shape>::value, "Mismatched Ranks");
/cutlass/include/cute/stride.hpp:120:21: note: '(3 == 1)' evaluates to false
"""


@pytest.mark.parametrize(
    ("name", "compiler", "line", "message", "detail"),
    [
        ("undeclared", "nvcc", 6, 'identifier "missing" is undefined', ""),
        ("undeclared", "gcc", 6, "'missing' was not declared in this scope", ""),
        ("no_header", "nvcc", 1, "cute/tenosr.hpp: No such file", ""),
        # in a templated kernel: the line in the kernel, not the launch that instantiates it
        ("mismatched_ranks", "nvcc", 8, "static assertion failed", "Mismatched Ranks"),
        ("mismatched_ranks", "gcc", 8, "static assertion failed", "Mismatched Ranks"),
        ("vector_size", "nvcc", 9, "static assertion failed", "TiledCopy uses too few vals"),
        ("vector_size", "gcc", 8, "static assertion failed", "TiledCopy uses too few vals"),
        ("no_overload", "nvcc", 6, "no instance of overloaded function", "argument types are: ("),
        ("no_overload", "gcc", 6, "no matching function for call to 'gemm", "mismatched types"),
        ("shared_memory", "nvcc", 0, "uses too much shared data", ""),
        ("bad_ptx", "nvcc", 0, "Not a name of any known instruction: 'ldmatrixx'", ""),
        ("undefined_symbol", "nvcc", 0, "undefined reference to `helper(float)'", ""),
    ],
)
def test_the_first_error_is_told_at_the_candidates_own_line(
    name: str, compiler: str, line: int, message: str, detail: str
) -> None:
    candidate = "candidate.cu" if compiler == "nvcc" else "candidate.cpp"
    source = (RECORDED / f"{name}.cu").read_text()
    first = parse((RECORDED / f"{name}.{compiler}.txt").read_text(), source, candidate)[0]
    assert first.line == line
    assert first.source_line == (source.split("\n")[line - 1].strip() if line else "")
    assert message in first.message
    assert first.detail.startswith(detail)
    assert len(first.message) + len(first.detail) < 1300  # a digest, whatever the templates


@pytest.mark.parametrize("recording", sorted(RECORDED.glob("*.txt")), ids=lambda path: path.name)
def test_no_error_of_a_source_is_a_fault_of_the_surroundings(recording: Path) -> None:
    assert fault_of_surroundings(recording.read_text()) is None


@pytest.mark.parametrize(
    ("output", "status", "advice"),
    [
        ("Killed\n", Status.RESOURCE, "memory"),
        ("FAILED: [code=137] candidate.so \n", Status.RESOURCE, "memory"),
        (
            "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n",
            Status.RESOURCE,
            "memory",
        ),
        ("nvcc error   : 'cicc' died due to signal 9 (Kill signal)\n", Status.RESOURCE, "memory"),
        (
            "cc1plus: out of memory allocating 2147483664 bytes after a total of 610304 bytes\n",
            Status.RESOURCE,
            "memory",
        ),
        (
            (
                "/nonexistent/g++: No such file or directory\n"
                "nvcc fatal   : Failed to preprocess host compiler properties.\n"
            ),
            Status.ENVIRONMENT,
            "cutegen[cuda]",
        ),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_77'\n", Status.ENVIRONMENT, "arch"),
        (
            "cc1plus: fatal error: cuda_runtime.h: No such file or directory\n",
            Status.ENVIRONMENT,
            "cutegen[cuda]",
        ),
        (
            "/tmp/a.s: fatal error: error writing to a.o: No space left on device\n",
            Status.ENVIRONMENT,
            "CUTEGEN_CACHE",
        ),
    ],
)
def test_faults_of_the_surroundings_are_told_apart(
    output: str, status: Status, advice: str
) -> None:
    fault = fault_of_surroundings(f"ninja: Entering directory `x'\ncandidate.so\n{output}")
    assert fault is not None
    assert fault.status is status
    assert advice in fault.advice


def test_a_crash_of_the_compiler_is_the_sources_and_is_named() -> None:
    output = "nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)\n"
    assert fault_of_surroundings(output) is None
    assert "signal 11" in parse(output, SOURCE, "candidate.cu")[0].message


def test_an_edg_error_in_a_header_names_the_candidates_line_and_the_assertion() -> None:
    first, second = parse(EDG_IN_HEADER, SOURCE, "candidate.cu")
    assert (first.line, first.detail) == (41, "Mismatched tuple_size")
    assert first.source_line == "line 41;"
    assert (second.line, second.message) == (44, 'identifier "foo" is undefined')


def test_a_gcc_error_in_a_header_names_the_candidates_line_and_the_assertion() -> None:
    (diagnostic,) = parse(GCC_IN_HEADER, SOURCE, "candidate.cpp")
    assert (diagnostic.line, diagnostic.detail) == (17, "Mismatched Ranks")


def test_back_ends_are_read_too() -> None:
    output = (
        "ptxas error   : Entry function '_Z1kv' uses too much shared data (0x40000 bytes)\n"
        "/usr/bin/ld: candidate.o: in function `cutegen_launch':\n"
        "candidate.cpp:(.text+0x5): undefined reference to `cublasCreate_v2'\n"
    )
    shared, undefined = parse(output, SOURCE, "candidate.cu")
    assert "too much shared data" in shared.message
    assert undefined.message == "undefined reference to `cublasCreate_v2'"


def test_one_error_repeated_is_told_once_and_many_are_bounded() -> None:
    once = 'candidate.cu(3): error: expected a ";"\n'
    assert len(parse(once * 5, SOURCE, "candidate.cu")) == 1
    many = "".join(f"candidate.cu({n}): error: unknown name {n}\n" for n in range(1, 50))
    assert len(parse(many, SOURCE, "candidate.cu")) == 8


def test_warnings_and_notes_are_no_errors() -> None:
    assert parse('candidate.cu(3): warning #177-D: variable "x" was declared\n', SOURCE, "x") == ()


def test_resources_of_every_kernel_are_read() -> None:
    output = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z5firstPf' for 'sm_90a'
ptxas info    : Function properties for _Z5firstPf
    64 bytes stack frame, 60 bytes spill stores, 56 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 64 bytes cumulative stack size, 4096 bytes smem
ptxas info    : Compiling entry function '_Z6secondPf' for 'sm_90a'
ptxas info    : Function properties for _Z6secondPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers
"""
    first, second = parse_resources(output)
    assert (first.registers, first.static_smem_bytes) == (255, 4096)
    assert (first.spill_store_bytes, first.spill_load_bytes, first.stack_bytes) == (60, 56, 64)
    assert second.kernel in {"second", "_Z6secondPf"}  # with and without c++filt
    assert (second.registers, second.static_smem_bytes) == (10, 0)
