"""What a case's outputs should be: computed in the parent, never shown to the worker."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from cutegen.reference import evaluate, sample_inputs, state_values
from cutegen.spec import Case, KernelSpec
from cutegen.verification.comparison import Target
from cutegen.verification.inputs import Distribution, draw, perturb
from cutegen.verification.math_mode import native_result
from cutegen.verification.precision import tolerance, working_roundoff
from cutegen.verification.reduction import LongestSum

_CHUNK = 1 << 26


@dataclass(frozen=True)
class Expectation:
    """One check: a case on one distribution, with what should come out.

    ``telling`` is the least share, over the outputs, of elements that are finite in the
    reference: a check with none of them shows nothing.
    """

    name: str
    case: Case
    inputs: Mapping[str, Tensor]
    targets: tuple[Target, ...]
    telling: float


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
    distribution: Distribution,
    seed: int,
    inputs: Mapping[str, Tensor],
    *,
    shake: bool = True,
) -> Expectation:
    """Evaluate the reference in float64 and at the math mode, on the inputs' device.

    Args:
        spec: The spec.
        case: The shapes.
        distribution: Where the inputs came from.
        seed: Seed of the perturbation.
        inputs: Inputs, parameters and buffers by name.
        shake: Also evaluate perturbed inputs; costs as much memory again.
    """
    with LongestSum() as sums:
        native = native_result(spec, inputs)
    exact = evaluate(spec, inputs, precision=torch.float64)
    outputs = case.of("output")
    shaken: tuple[Tensor | None, ...] = (None,) * len(outputs)
    if shake:
        moved = perturb(inputs, working_roundoff(output.dtype for output in outputs), seed)
        shaken = evaluate(spec, moved, precision=torch.float64)
    targets = tuple(
        Target(
            tensor=tensor,
            exact=exact_part.contiguous(),
            native=native_part.contiguous(),
            shaken=shaken_part.contiguous() if shaken_part is not None else None,
            tolerance=tolerance(tensor.dtype, spec.math_mode, sums.length)
            if tensor.dtype.is_floating
            else None,
        )
        for tensor, exact_part, native_part, shaken_part in zip(
            outputs, exact, native, shaken, strict=True
        )
    )
    return Expectation(
        name=check_name(case, distribution),
        case=case,
        inputs=inputs,
        targets=targets,
        telling=min(_finite_share(target) for target in targets),
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
