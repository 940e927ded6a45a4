"""Building units and running cases, on the emulator or on a GPU, through the same session."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from conformance.case import KernelCase, narrow, wide
from conformance.units import HEADER, Block, assemble
from cutegen.execution.cudart import CudaRuntime
from cutegen.execution.memory import Arena, CudaArena, HostArena, find_cudart
from cutegen.execution.session import WorkerSession, arena_bytes
from cutegen.status import Status
from cutegen.toolchain.protocol import BuildRequest, BuildResult, Toolchain
from cutegen.verification.poison import same_bits
from cutegen.verification.session import CaseRun


class Outcome(NamedTuple):
    """What came of a case: ``error`` is the largest one, in units of what is allowed."""

    status: Status
    error: float = 0.0
    summary: str = ""
    output: Tensor | None = None
    lines: tuple[int, ...] = ()
    ended: bool = False  # by an error or a time limit, before there was an output


def build(toolchain: Toolchain, kernels: Sequence[Block]) -> BuildResult:
    """One library of several kernels of a unit."""
    return toolchain.build(BuildRequest(source=assemble(kernels), header=HEADER))


def run(
    case: KernelCase,
    built: BuildResult,
    which: int,
    *,
    cuda: bool = False,
    timeout_s: float = 60.0,
    schedules: Sequence[str] = (),
) -> Outcome:
    """Run kernel number ``which`` of a library in a process of its own.

    Every schedule in turn, the executor's own when there are none; the first wrong outcome
    counts. Wrong values that differ between schedules are a race.
    """
    if built.library is None:
        first = built.diagnostics[0].message if built.diagnostics else built.advice
        return Outcome(built.status, summary=first)
    spec = case.spec(which)
    inputs = case.inputs()
    nbytes = arena_bytes([spec.timed])
    arena: Arena
    if cuda:
        cudart = find_cudart()
        arena = CudaArena(CudaRuntime(cudart, 0), nbytes)
        inputs = {name: tensor.to("cuda") for name, tensor in inputs.items()}
    else:
        cudart, arena = "", HostArena(nbytes)
    outcomes: list[Outcome] = []
    session = WorkerSession(spec, built.library, arena, timeout_s=timeout_s, cudart=cudart)
    with session:
        for schedule in schedules or session.schedules:
            outcomes.append(judge(case, session.run(spec.timed, inputs, schedule)))
            divergence = next((n for n in session.notes if n.status is Status.DIVERGENCE), None)
            if divergence is not None:  # comes before what it led to
                lines = tuple(divergence.lines)
                return Outcome(Status.DIVERGENCE, np.inf, divergence.summary, lines=lines)
            if outcomes[-1].output is None:
                return outcomes[-1]
    worst = max(outcomes, key=lambda outcome: outcome.error)
    outputs = [outcome.output for outcome in outcomes if outcome.output is not None]
    steady = all(same_bits(outputs[0], output) for output in outputs)
    if worst.status is Status.WRONG_VALUES and not steady:
        return worst._replace(status=Status.RACE, summary=f"differs by order; {worst.summary}")
    return worst


def judge(case: KernelCase, done: CaseRun) -> Outcome:
    """Compare one launch with the exact result."""
    if done.failure is not None:
        lines = done.failure.facts.get("lines")
        return Outcome(
            done.failure.status,
            error=np.inf,
            summary=done.failure.summary,
            lines=tuple(int(str(line)) for line in lines) if isinstance(lines, list) else (),
            ended=True,
        )
    if done.trespasses or done.modified:
        where = (*done.trespasses, *(f"modified {name}" for name in done.modified))
        return Outcome(Status.OUT_OF_BOUNDS, np.inf, where[0])
    output = done.outputs["out"].cpu().clone()
    a, b, exact = case.answers()
    if case.bound.bitwise:
        want = narrow(exact, case.out[1])
        wrong = differing(output, want)
        error = np.inf if wrong else 0.0
        summary = f"{wrong} of {want.numel()} elements differ"
    else:
        error = distance(case, wide(output), exact, a, b)
        summary = f"{error:.3g} times the allowed error"
    if error <= 1:
        return Outcome(Status.PASSED, error, output=output)
    return Outcome(Status.WRONG_VALUES, error, summary, output)


def distance(
    case: KernelCase,
    one: np.ndarray,
    other: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
) -> float:
    """The largest difference of two results, in units of what is allowed; infinite for NaN."""
    allowed = case.bound.allowed(a, b, other, case.out[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.abs(one.astype(np.float64) - other) / np.maximum(allowed, 1e-300)
    return float(np.where(np.isnan(difference), np.inf, difference).max())


def differing(one: Tensor, other: Tensor) -> int:
    """How many elements of two outputs have different bits."""
    width = one.element_size()
    left, right = (t.reshape(-1).view(torch.uint8).reshape(-1, width) for t in (one, other))
    return int((left != right).any(dim=1).sum())
