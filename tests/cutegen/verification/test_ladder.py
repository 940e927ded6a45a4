"""Every rung of the ladder, each broken by a real candidate in a real worker process."""

import time
from collections.abc import Callable

import pytest
import torch

from cutegen.execution.memory import HostArena
from cutegen.execution.session import WorkerSession, arena_bytes
from cutegen.kernel import args_header
from cutegen.spec import KernelSpec, MathMode
from cutegen.status import Status
from cutegen.toolchain.protocol import BuildRequest, Toolchain
from cutegen.verification.inputs import Distribution
from cutegen.verification.ladder import verify
from cutegen.verification.plan import plan_checks
from cutegen.verification.verdict import Verdict

Judge = Callable[..., Verdict]

PRELUDE = """\
#include "cutegen_args.h"
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
"""
RELU = """
  int64_t n = a->x_shape[0] * a->x_shape[1];
  for (int64_t i = 0; i < n; ++i) a->out[i] = a->x[i] > 0 ? a->x[i] : 0.f;
"""
MATMUL_HEAD = """
  int64_t m = a->left_shape[0], k = a->left_shape[1], n = a->right_shape[1];
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l)
"""
MATMUL_TAIL = "      a->out[i * n + j] = sum;\n    }\n"
ROUND = """
static float cut(float value, int dropped) {  // to nearest, as tensor cores are fed
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits = (bits + (1u << (dropped - 1))) >> dropped << dropped;
  std::memcpy(&value, &bits, 4);
  return value;
}
"""
UNORDERED = """
static unsigned scramble() {
  char const* order = std::getenv("CUTEGEN_EMU_ORDER");
  return order ? order[1] : 0;
}
"""


def _relu(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x)


@pytest.fixture(scope="module")
def relu() -> KernelSpec:
    return KernelSpec.from_callable(_relu, [torch.randn(48, 501)], name="relu")


@pytest.fixture(scope="module")
def matmul() -> KernelSpec:
    def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return left @ right

    return KernelSpec.from_callable(
        product, [torch.randn(64, 96), torch.randn(96, 80)], name="matmul"
    )


@pytest.fixture
def judge(host_toolchain: Toolchain) -> Judge:
    def run(spec: KernelSpec, body: str, *, helpers: str = "", timeout_s: float = 20) -> Verdict:
        source = (
            f'{PRELUDE}{helpers}\nextern "C" cudaError_t cutegen_launch(CutegenArgs const* a) '
            f"{{\n{body}\n  return cudaSuccess;\n}}\n"
        )
        build = host_toolchain.build(BuildRequest(source=source, header=args_header(spec)))
        assert build.library is not None, build.log
        plan = plan_checks(spec, source)
        arena = HostArena(arena_bytes(plan.cases(spec)))
        with WorkerSession(spec, build.library, arena, timeout_s=timeout_s) as session:
            return verify(spec, session, plan=plan)

    return run


def test_right_relu_passes_every_rung(judge: Judge, relu: KernelSpec) -> None:
    verdict = judge(relu, RELU)
    assert verdict.passed, verdict.evidence
    assert verdict.executor == "emulated"
    checks = {measure.check for measure in verdict.evidence.errors}
    assert {f"odd/{each.value}" for each in Distribution} <= checks
    assert {f"{case.name}/normal" for case in (*relu.checks, relu.timed)} <= checks
    facts = verdict.evidence.facts
    assert facts["timed_case_run"] is True
    assert facts["timed_sensitivity"] == "measured"
    assert facts["math_mode"] == "fp32"
    assert facts["exact_checks"][:2] == ["odd/exact", "aligned/exact"]
    assert facts["edge_cases"][0] == "edge-one"
    assert facts["trivial_answers"] == []
    assert set(verdict.breakdown) == {"inputs", "candidate", "reference", "comparison"}


@pytest.mark.parametrize(
    ("body", "status", "phrase"),
    [
        ("", Status.DID_NOT_RUN, "no output element"),
        (RELU.replace("i < n", "i < n / 64 * 64"), Status.WRONG_VALUES, "never written"),
        (RELU + "const_cast<float*>(a->x)[3] = 7;", Status.CHEAT, "modified its inputs: x"),
        (RELU.replace("i < n", "i < n + 3"), Status.OUT_OF_BOUNDS, "past the end of out"),
        (RELU + "a->out[-1] = 2;", Status.OUT_OF_BOUNDS, "before the start of out"),
        ("*(volatile int*)8 = 1;", Status.OUT_OF_BOUNDS, "SIGSEGV during launch"),
        ("std::abort();", Status.LAUNCH_ERROR, "SIGABRT"),
        ("std::exit(0);", Status.LAUNCH_ERROR, "exited with status 0"),
        ("return cudaErrorNotSupported;", Status.LAUNCH_ERROR, "cudaErrorNotSupported (801)"),
        (RELU + "a->out[17] = 3;", Status.WRONG_VALUES, "1 of "),
        (RELU + "a->out[0] = NAN;", Status.WRONG_VALUES, "integers differ, the first at [0, 0]"),
    ],
)
def test_a_mistake_breaks_its_rung(
    judge: Judge, relu: KernelSpec, body: str, status: Status, phrase: str
) -> None:
    verdict = judge(relu, body)
    assert verdict.status is status, verdict.evidence
    assert phrase in verdict.evidence.summary


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (RELU.replace("? a->x[i]", "? 2 * a->x[i]"), "the reference times 2"),
        (RELU.replace("? a->x[i]", "? 0.f"), "every element is zero"),
        (RELU.replace("i < n", "i < n / 64 * 64"), "partial tile"),
        (RELU + "for (int64_t i = n - 9; i < n; ++i) a->out[i] = 5;", "a missing tail"),
    ],
)
def test_hints_name_the_pattern(judge: Judge, relu: KernelSpec, body: str, hint: str) -> None:
    verdict = judge(relu, body)
    assert verdict.status is Status.WRONG_VALUES
    assert any(hint in text for text in verdict.evidence.hints), verdict.evidence.hints


def test_an_endless_loop_is_a_timeout(judge: Judge, relu: KernelSpec) -> None:
    began = time.monotonic()
    verdict = judge(relu, "volatile bool on = true; while (on) {}", timeout_s=1)
    assert verdict.status is Status.TIMEOUT
    assert "within 1 s" in verdict.evidence.summary
    assert time.monotonic() - began < 10


def test_values_that_depend_on_the_schedule_are_a_race(judge: Judge, relu: KernelSpec) -> None:
    verdict = judge(relu, RELU + "if (scramble() == 'a') a->out[5] = 99;", helpers=UNORDERED)
    assert verdict.status is Status.RACE
    assert verdict.evidence.facts["schedule"] == "random"


def test_wrong_values_that_vary_are_a_race_too(judge: Judge, relu: KernelSpec) -> None:
    verdict = judge(relu, RELU + "a->out[5] = scramble();", helpers=UNORDERED)
    assert verdict.status is Status.RACE


def test_last_bit_that_varies_is_nondeterministic(judge: Judge, relu: KernelSpec) -> None:
    body = RELU + "if (scramble() == 'e') a->out[5] *= 1.f + 1.2e-7f;"
    body = body.replace("a->out[5]", "for (int64_t i = 0; i < n; ++i) a->out[i]")
    verdict = judge(relu, body, helpers=UNORDERED)
    assert verdict.status is Status.NONDETERMINISTIC
    assert verdict.evidence.facts["schedule"] == "reverse"


def test_plain_fp32_product_passes(judge: Judge, matmul: KernelSpec) -> None:
    body = MATMUL_HEAD + "        sum += a->left[i * k + l] * a->right[l * n + j];\n" + MATMUL_TAIL
    verdict = judge(matmul, body)
    assert verdict.passed, verdict.evidence


@pytest.mark.parametrize(("dropped", "name"), [(13, "TF32"), (16, "bf16")])
def test_lower_precision_is_named(
    judge: Judge, matmul: KernelSpec, dropped: int, name: str
) -> None:
    product = f"cut(a->left[i * k + l], {dropped}) * cut(a->right[l * n + j], {dropped})"
    body = f"{MATMUL_HEAD}        sum += {product};\n{MATMUL_TAIL}"
    verdict = judge(matmul, body, helpers=ROUND)
    assert verdict.status is Status.PRECISION_DOWNGRADE, verdict.evidence
    assert name in verdict.evidence.summary


def test_tf32_passes_where_the_spec_allows_it(judge: Judge, matmul: KernelSpec) -> None:
    spec = matmul.model_copy(update={"math_mode": MathMode.TF32})
    product = "cut(a->left[i * k + l], 13) * cut(a->right[l * n + j], 13)"
    verdict = judge(spec, f"{MATMUL_HEAD}        sum += {product};\n{MATMUL_TAIL}", helpers=ROUND)
    assert verdict.passed, verdict.evidence


def test_a_forgotten_step_of_the_sum_is_wrong_not_imprecise(
    judge: Judge, matmul: KernelSpec
) -> None:
    head = MATMUL_HEAD.replace("l < k", "l < k - 1")
    body = head + "        sum += a->left[i * k + l] * a->right[l * n + j];\n" + MATMUL_TAIL
    verdict = judge(matmul, body)
    assert verdict.status is Status.WRONG_VALUES, verdict.evidence


def test_a_transposed_result_is_recognised(judge: Judge) -> None:
    def square(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return left @ right

    spec = KernelSpec.from_callable(
        square,
        [torch.randn(32, 32), torch.randn(32, 32)],
        name="square",
        check_shapes=[[(17, 17), (17, 17)], [(31, 31), (31, 31)]],
    )
    tail = MATMUL_TAIL.replace("i * n + j", "j * n + i")
    body = MATMUL_HEAD + "        sum += a->left[i * k + l] * a->right[l * n + j];\n" + tail
    verdict = judge(spec, body)
    assert any("transposed" in hint for hint in verdict.evidence.hints), verdict.evidence


def test_workspace_is_provided_and_guarded(judge: Judge, relu: KernelSpec) -> None:
    size = """extern "C" size_t cutegen_workspace_bytes(CutegenArgs const* a) {
      return 4 * a->x_shape[0] * a->x_shape[1];
    }"""
    through = """
      int64_t n = a->x_shape[0] * a->x_shape[1];
      float* scratch = static_cast<float*>(a->workspace);
      if (a->workspace_bytes != 4 * n) return cudaErrorInvalidValue;
      for (int64_t i = 0; i < n; ++i) scratch[i] = a->x[i];
      for (int64_t i = 0; i < n; ++i) a->out[i] = scratch[i] > 0 ? scratch[i] : 0.f;
    """
    assert judge(relu, through, helpers=size).passed
    beyond = judge(relu, through + "scratch[n] = 1;", helpers=size)
    assert beyond.status is Status.OUT_OF_BOUNDS
    assert "workspace" in beyond.evidence.summary


def test_integers_must_be_equal(judge: Judge) -> None:
    spec = KernelSpec.from_callable(
        lambda x: x * 3, [torch.arange(600, dtype=torch.int32).reshape(20, 30)], name="triple"
    )
    body = """
      int64_t n = a->x_shape[0] * a->x_shape[1];
      for (int64_t i = 0; i < n; ++i) a->out[i] = a->x[i] * 3;
    """
    assert judge(spec, body).passed
    wrong = judge(spec, body + "a->out[2] += 1;")
    assert wrong.status is Status.WRONG_VALUES
    assert "1 of" in wrong.evidence.summary
    assert wrong.evidence.errors[0].bad_count == 1
