"""Faults planted in the playbook's own sources, found at their line and mended."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from cutegen.agents.diagnostician import diagnose
from cutegen.agents.models.playbook.elementwise import ElementwiseDesign, ElementwisePlan
from cutegen.agents.models.playbook.matmul import MatmulDesign
from cutegen.agents.models.playbook.matmul_plan import MatmulPlan
from cutegen.agents.models.playbook.model import PlaybookChatModel
from cutegen.agents.repairer import DEFAULT_BUDGET, repair
from cutegen.agents.reply import Diagnosis, OutOfIdeas
from cutegen.agents.request import DiagnosisRequest, RepairRequest
from cutegen.agents.revision import Revision
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.verification.verdict import Evidence, Verdict

Asked = Callable[[KernelSpec], dict[str, Any]]
Judge = Callable[[KernelSpec, str], Verdict]

VECTORS = ElementwiseDesign(vectorized=True, batch=4)


@pytest.mark.parametrize(
    ("right", "wrong", "statuses"),
    [
        ("T const v0 = x_input /", "T const v0 = y /", {Status.COMPILE_ERROR}),
        ("out = float(v0);", "out = float(v0)", {Status.COMPILE_ERROR}),
        (
            "if (blockIdx.x == 0 && i < n) {",
            "if (blockIdx.x == 0) {",
            {Status.OUT_OF_BOUNDS, Status.WRONG_VALUES},
        ),
        # the one around the stores
        (
            "    if (v < vectors) {\n      CUTE_UNROLL",
            "    {\n      CUTE_UNROLL",
            {Status.OUT_OF_BOUNDS, Status.WRONG_VALUES},
        ),
    ],
    ids=["undeclared", "semicolon", "tail predicate", "vector predicate"],
)
def test_a_planted_fault_is_found_and_mended(  # noqa: PLR0917 - fixtures
    model: PlaybookChatModel,
    judge: Judge,
    asked: Asked,
    silu: KernelSpec,
    right: str,
    wrong: str,
    statuses: set[Status],
) -> None:
    source = ElementwisePlan(silu).render(VECTORS)
    assert right in source
    faulty = source.replace(right, wrong, 1)
    verdict = judge(silu, faulty)
    assert verdict.status in statuses
    common = {**asked(silu), "source": faulty, "verdict": verdict}
    diagnosis = diagnose(model, DiagnosisRequest(**common)).value
    assert isinstance(diagnosis, Diagnosis)
    line = source[: source.index(right)].count("\n") + 1
    assert (len(diagnosis.causes), diagnosis.causes[0].line) == (1, line)
    mended = repair(model, RepairRequest(**common, causes=diagnosis.causes)).value
    assert isinstance(mended, Revision)
    assert mended.source == source
    assert mended.changed_lines <= 2 < DEFAULT_BUDGET


@pytest.mark.parametrize(
    ("dtype", "design", "block"),
    [
        (torch.float32, {"block_k": 32}, (64, 64, 32)),
        (torch.float64, {"block_k": 16}, (64, 64, 16)),
        (torch.float64, {"block_k": 32}, (64, 64, 16)),
    ],
)
def test_too_much_shared_memory_leads_to_smaller_blocks(
    model: PlaybookChatModel,
    asked: Asked,
    dtype: torch.dtype,
    design: dict[str, int],
    block: tuple[int, int, int],
) -> None:
    """Half the depth would be the source that tuning began with, a repeat."""
    factors = [torch.rand(72, 40).to(dtype), torch.rand(40, 136).to(dtype)]
    spec = KernelSpec.from_callable(torch.matmul, factors, name="product")
    plan = MatmulPlan(spec)
    deep = MatmulDesign(tiled=True, registers=True, prefetch=True).model_copy(update=design)
    assert not plan.fits(deep)
    # the emulator's words, which it writes to the log and not to the summary
    log = (
        "cutegen emulator: thread (0,0,0) of block (0,0,0) in kernel: more than 48 KiB of static "
        "__shared__ memory; ptxas refuses that: declare it `extern __shared__`\n"
    )
    evidence = Evidence(summary="cutegen_launch returned an unknown cudaError_t (200)", log=log)
    verdict = Verdict(status=Status.LAUNCH_ERROR, executor="emulated", evidence=evidence)
    common = {**asked(spec), "source": plan.render(deep), "verdict": verdict}
    diagnosis = diagnose(model, DiagnosisRequest(**common)).value
    assert isinstance(diagnosis, Diagnosis)
    assert "static __shared__ memory" in diagnosis.causes[0].cause
    mended = repair(model, RepairRequest(**common, causes=diagnosis.causes)).value
    assert isinstance(mended, Revision)
    smaller = MatmulDesign.of(mended.source)
    assert smaller is not None
    assert plan.fits(smaller)
    assert (smaller.block_m, smaller.block_n, smaller.block_k) == block


def test_a_stranger_s_source_is_left_alone(
    model: PlaybookChatModel, asked: Asked, silu: KernelSpec
) -> None:
    verdict = Verdict(
        status=Status.WRONG_VALUES, executor="emulated", evidence=Evidence(summary="wrong")
    )
    common = {**asked(silu), "source": "int stranger;\n", "verdict": verdict}
    assert isinstance(diagnose(model, DiagnosisRequest(**common)).value, OutOfIdeas)
    assert isinstance(repair(model, RepairRequest(**common, causes=())).value, OutOfIdeas)
