"""What a case's outputs should be: computed in the parent, never shown to the worker."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from cutegen.reference import evaluate, sample_inputs, state_values
from cutegen.spec import Case, KernelSpec
from cutegen.verification.comparison import Target
from cutegen.verification.inputs import Distribution, draw
from cutegen.verification.math_mode import native_result
from cutegen.verification.precision import tolerance, working_roundoff
from cutegen.verification.reduction import SummedTerms
from cutegen.verification.sensitivity import Sway, sways

_CHUNK = 1 << 26


@dataclass(frozen=True)
class Expectation:
    """One check: a case on one distribution, with what should come out.

    ``telling`` is the least share, over the outputs, of elements that are finite in the
    reference: a check with none of them shows nothing. ``sensitivity_assumed`` says that the
    device could not hold the perturbed evaluation, and the sensitivity is another check's.
    """

    name: str
    case: Case
    inputs: Mapping[str, Tensor]
    targets: tuple[Target, ...]
    telling: float
    sensitivity_assumed: bool = False


def check_name(case: Case, distribution: Distribution) -> str:
    """How a check is called in evidence."""
    return f"{case.name}/{distribution.value}"


def draw_inputs(
    spec: KernelSpec, case: Case, distribution: Distribution, seed: int, device: torch.device
) -> dict[str, Tensor]:
    """Inputs, parameters and buffers of one check, on ``device``."""
    return draw(
        case,
        distribution,
        seed,
        device,
        state=state_values(spec),
        integers=sample_inputs(spec, case, seed),
    )


def expect(
    spec: KernelSpec,
    case: Case,
    name: str,
    inputs: Mapping[str, Tensor],
    *,
    seed: int = 0,
    known_sensitivity: float | None = None,
    equal_terms: bool = False,
) -> Expectation:
    """Evaluate the reference in float64 and at the math mode, on the inputs' device.

    Args:
        spec: The spec.
        case: The shapes.
        name: How the check is called in evidence.
        inputs: Inputs, parameters and buffers by name.
        seed: Seed of the perturbation.
        known_sensitivity: Where the device cannot hold another float64 evaluation, for the
            perturbed inputs, take this relative sensitivity, seen at other shapes.
        equal_terms: The inputs make many terms of a sum equal to each other.

    Raises:
        torch.cuda.OutOfMemoryError: The device cannot hold the float64 evaluation.
    """
    with SummedTerms() as sums:
        native = native_result(spec, inputs)
    exact = evaluate(spec, inputs, precision=torch.float64)
    outputs = case.of("output")
    roundoff = working_roundoff(output.dtype for output in outputs)
    assumed = False
    try:
        moves = sways(spec, inputs, exact, roundoff, seed)
    except torch.cuda.OutOfMemoryError:
        if known_sensitivity is None:
            raise
        torch.cuda.empty_cache()
        moves = tuple(Sway.assumed(known_sensitivity, part) for part in exact)
        assumed = True
    targets = tuple(
        Target(
            tensor=tensor,
            exact=exact_part.contiguous(),
            native=native_part.contiguous(),
            sway=sway,
            tolerance=tolerance(tensor.dtype, spec.math_mode, sums.total, equal_terms=equal_terms)
            if tensor.dtype.is_floating
            else None,
        )
        for tensor, exact_part, native_part, sway in zip(outputs, exact, native, moves, strict=True)
    )
    return Expectation(
        name=name,
        case=case,
        inputs=inputs,
        targets=targets,
        telling=min(_finite_share(target) for target in targets),
        sensitivity_assumed=assumed,
    )


def _finite_share(target: Target) -> float:
    if not target.exact.is_floating_point() or not target.exact.numel():
        return 1.0
    flat = target.exact.reshape(-1)
    finite = sum(
        int(torch.isfinite(flat[start : start + _CHUNK]).sum())
        for start in range(0, len(flat), _CHUNK)
    )
    return finite / len(flat)
