"""The ladder of checks: the first rung that breaks is the verdict."""

import time
from collections.abc import Mapping

import torch
from torch import Tensor

from cutegen.frozen import Frozen
from cutegen.spec import Case, KernelSpec, TensorArg
from cutegen.status import Status
from cutegen.verification.comparison import Comparison, compare
from cutegen.verification.expectation import Expectation, check_name, draw_inputs, expect
from cutegen.verification.hints import describe_wrong, lost_precision
from cutegen.verification.inputs import Distribution
from cutegen.verification.poison import Unwritten, same_bits, unwritten
from cutegen.verification.session import CaseRun, Failure, Session
from cutegen.verification.verdict import ErrorMeasure, Evidence, Verdict

_LEAST_TELLING = 0.5


class VerificationPolicy(Frozen):
    """How much is checked. ``repeats`` counts further runs on equal inputs, per schedule."""

    distributions: tuple[Distribution, ...] = tuple(Distribution)
    repeats: int = 2


class _BrokenRungError(Exception):
    """Carries the first failure up the ladder; it never leaves this module."""

    def __init__(self, status: Status, evidence: Evidence) -> None:
        super().__init__(evidence.summary)
        self.status = status
        self.evidence = evidence


def verify(
    spec: KernelSpec,
    session: Session,
    policy: VerificationPolicy | None = None,
    seed: int = 0,
) -> Verdict:
    """Climb the ladder with one loaded candidate.

    On every check case and distribution: it runs, stays within its memory, leaves its
    inputs alone, writes every output element, and is as exact as PyTorch. On every check
    case, repeated runs and other thread schedules give the same bits. At last the timed
    case itself, where the executor can run it.

    Args:
        spec: The function to be replaced.
        session: The loaded candidate.
        policy: How much is checked.
        seed: Seed of all inputs.
    """
    climb = _Climb(spec, session, policy or VerificationPolicy(), seed)
    began = time.monotonic()
    try:
        status, evidence = Status.PASSED, climb.to_the_top()
    except _BrokenRungError as broken:
        status, evidence = broken.status, broken.evidence
    except torch.cuda.OutOfMemoryError as error:
        status = Status.RESOURCE
        evidence = Evidence(
            summary=f"the GPU has no memory for the float64 reference: {error}",
            hints=("free the GPU's memory, or give the spec smaller timed shapes",),
        )
    return Verdict(
        status=status,
        executor=session.name,
        evidence=evidence.model_copy(update={"facts": {**session.facts, **evidence.facts}}),
        seconds=time.monotonic() - began,
    )


class _Climb:
    """One candidate's way up; collects the error measures of the checks it has passed."""

    def __init__(
        self, spec: KernelSpec, session: Session, policy: VerificationPolicy, seed: int
    ) -> None:
        self._spec = spec
        self._session = session
        self._policy = policy
        self._seed = seed
        self._errors: list[ErrorMeasure] = []
        self._silent: list[str] = []

    def to_the_top(self) -> Evidence:
        """All rungs; returns the evidence of success."""
        for case in self._spec.checks:
            for distribution in self._policy.distributions:
                self._check(case, distribution)
        timed = self._spec.timed
        timed_runs = self._session.runs_timed_case(timed)
        if timed_runs:
            self._check(timed, Distribution.NORMAL)
        cases = len(self._spec.checks) + timed_runs
        shapes = "the timed shapes included" if timed_runs else "the timed shapes not run here"
        return Evidence(
            summary=f"as exact as PyTorch on {cases} cases ({shapes}), "
            f"in {len(self._errors)} comparisons",
            errors=tuple(self._errors),
            facts={
                "timed_case_run": timed_runs,
                "checks_without_finite_values": list(self._silent),
            },
        )

    def _check(self, case: Case, distribution: Distribution) -> None:
        """One case on one distribution; the zero-mean one is also run again."""
        session = self._session
        inputs = draw_inputs(self._spec, case, distribution, self._seed, session.device)
        # The candidate runs first: nothing of the reference can be left in its memory.
        name = check_name(case, distribution)
        run = self._run(name, case, inputs, session.schedules[0])
        # A third float64 evaluation of the timed case could exhaust the device.
        expectation = expect(
            self._spec,
            case,
            distribution,
            self._seed,
            inputs,
            shake=case.name != self._spec.timed.name or session.device.type == "cpu",
        )
        if expectation.telling < _LEAST_TELLING:
            self._silent.append(name)
        self._judge(expectation, run.outputs)
        if distribution is Distribution.NORMAL:
            self._repeat(expectation, run.outputs)

    def _run(self, name: str, case: Case, inputs: Mapping[str, Tensor], schedule: str) -> CaseRun:
        """Launch; then memory and inputs must be as they should."""
        run = self._session.run(case, inputs, schedule)
        if run.failure is not None:
            raise _broken_launch(name, case, run.failure)
        if run.trespasses:
            raise _BrokenRungError(
                Status.OUT_OF_BOUNDS,
                Evidence(
                    summary=f"wrote outside its tensors: {run.trespasses[0]}",
                    check=name,
                    hints=(*run.trespasses[1:], "predicate the stores of the last tile"),
                ),
            )
        if run.modified:
            raise _BrokenRungError(
                Status.CHEAT,
                Evidence(
                    summary=f"modified its inputs: {', '.join(run.modified)}",
                    check=name,
                    hints=("inputs are const; use the workspace for scratch memory",),
                ),
            )
        return run

    def _judge(self, expectation: Expectation, outputs: Mapping[str, Tensor]) -> None:
        """Every element written, and as exact as the policy demands."""
        self._require_written(expectation, outputs)
        for target in expectation.targets:
            output = outputs[target.tensor.name]
            comparison = compare(expectation.name, output, target)
            if comparison.within_bounds:
                self._errors.append(comparison.measure)
                continue
            precision = lost_precision(comparison, target)
            if precision:
                raise self._downgrade(expectation, comparison, precision)
            hints = describe_wrong(comparison, output, target)
            self._look_for_race(expectation, outputs, comparison)
            raise _BrokenRungError(
                Status.WRONG_VALUES,
                Evidence(
                    summary=_wrong_summary(comparison, target.tensor),
                    check=expectation.name,
                    errors=(comparison.measure,),
                    hints=hints,
                    facts={"passed_before": [measure.check for measure in self._errors]},
                ),
            )

    def _require_written(self, expectation: Expectation, outputs: Mapping[str, Tensor]) -> None:
        left = {
            target.tensor.name: unwritten(outputs[target.tensor.name], target)
            for target in expectation.targets
        }
        holes = {name: hole for name, hole in left.items() if hole.count}
        if not holes:
            return
        name, hole = next(iter(holes.items()))
        if all(part.count == part.total for part in left.values()):
            raise _BrokenRungError(
                Status.DID_NOT_RUN,
                Evidence(
                    summary="no output element was written: the kernel did not run",
                    check=expectation.name,
                    hints=(_DID_NOT_RUN_HINT,),
                ),
            )
        raise _BrokenRungError(
            Status.WRONG_VALUES,
            Evidence(
                summary=f"{name}: {hole.count} of {hole.total} elements were never written, "
                f"from flat index {hole.first} on",
                check=expectation.name,
                hints=(_hole_hint(hole),),
                facts={"unwritten_first": hole.first, "unwritten_count": hole.count},
            ),
        )

    def _downgrade(
        self, expectation: Expectation, comparison: Comparison, precision: str
    ) -> _BrokenRungError:
        measure = comparison.measure
        mode = self._spec.math_mode.value
        return _BrokenRungError(
            Status.PRECISION_DOWNGRADE,
            Evidence(
                summary=f"{measure.output}: relative error {measure.error:.2e}, where {mode} "
                f"allows {measure.bound:.2e} and PyTorch makes {measure.torch_error:.2e}; "
                f"it looks like {precision}",
                check=expectation.name,
                errors=(measure,),
                hints=(
                    f"compute in {mode} throughout, or split operands so that no bits are lost",
                    _APPROXIMATION_HINT,
                ),
            ),
        )

    def _look_for_race(
        self, expectation: Expectation, outputs: Mapping[str, Tensor], comparison: Comparison
    ) -> None:
        """Wrong values that change with the thread schedule are a race."""
        first = {name: output.clone() for name, output in outputs.items()}
        for schedule in self._session.schedules:
            again = self._run(expectation.name, expectation.case, expectation.inputs, schedule)
            if not all(same_bits(first[name], again.outputs[name]) for name in first):
                raise _BrokenRungError(
                    Status.RACE,
                    Evidence(
                        summary="the values are wrong, and differ from run to run",
                        check=expectation.name,
                        errors=(comparison.measure,),
                        hints=(_RACE_HINT,),
                        facts={"schedule": schedule},
                    ),
                )

    def _repeat(self, expectation: Expectation, outputs: Mapping[str, Tensor]) -> None:
        """Equal inputs give equal bits, whatever the schedule."""
        first = {name: output.clone() for name, output in outputs.items()}
        for turn in range(self._policy.repeats):
            schedule = self._session.schedules[(turn + 1) % len(self._session.schedules)]
            again = self._run(expectation.name, expectation.case, expectation.inputs, schedule)
            differing = [
                target
                for target in expectation.targets
                if not same_bits(first[target.tensor.name], again.outputs[target.tensor.name])
            ]
            if differing:
                raise self._differs(expectation, differing[0].tensor, again.outputs, schedule)

    def _differs(
        self,
        expectation: Expectation,
        tensor: TensorArg,
        outputs: Mapping[str, Tensor],
        schedule: str,
    ) -> _BrokenRungError:
        """A race when the second result is wrong; otherwise sums in varying order."""
        target = next(target for target in expectation.targets if target.tensor == tensor)
        comparison = compare(expectation.name, outputs[tensor.name], target)
        right = comparison.within_bounds
        return _BrokenRungError(
            Status.NONDETERMINISTIC if right else Status.RACE,
            Evidence(
                summary=f"{tensor.name}: two runs on equal inputs differ"
                + ("" if right else ", and the second is wrong"),
                check=expectation.name,
                errors=(comparison.measure,),
                hints=(
                    "floating-point atomics sum in varying order: reduce in a fixed order"
                    if right
                    else _RACE_HINT,
                ),
                facts={"schedule": schedule},
            ),
        )


_DID_NOT_RUN_HINT = (
    "return cudaGetLastError() after the launch: a refused launch configuration is silent otherwise"
)
_APPROXIMATION_HINT = (
    "an approximation of the function (a fast intrinsic, another formula) looks the same"
)
_RACE_HINT = (
    "threads race: look for a missing __syncthreads (also before shared memory is "
    "reused), a wait on the wrong stage, or two blocks that write one element"
)


def _broken_launch(name: str, case: Case, failure: Failure) -> _BrokenRungError:
    shapes = ", ".join(f"{tensor.name} {list(tensor.shape)}" for tensor in case.tensors)
    return _BrokenRungError(
        failure.status,
        Evidence(
            summary=f"{failure.summary} (case {case.name}: {shapes})",
            check=name,
            hints=failure.hints,
            facts=failure.facts,
            log=failure.log,
        ),
    )


def _wrong_summary(comparison: Comparison, tensor: TensorArg) -> str:
    measure = comparison.measure
    if not tensor.dtype.is_floating:
        return (
            f"{measure.output}: {measure.bad_count} of {measure.total} integers differ, "
            f"the first at {list(measure.first_bad_index)}"
        )
    where = f", the first at {list(measure.first_bad_index)}" if measure.bad_count else ""
    return (
        f"{measure.output}: relative error {measure.error:.2e}, allowed {measure.bound:.2e}; "
        f"{measure.bad_count} of {measure.total} elements out of bounds{where}"
    )


def _hole_hint(hole: Unwritten) -> str:
    if hole.is_tail:
        return "everything from there to the end is missing: the last, partial tile has no threads"
    return "the holes lie between written elements: check the index arithmetic and the strides"
