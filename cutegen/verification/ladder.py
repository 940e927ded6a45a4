"""The ladder of checks: the first rung that breaks is the verdict."""

import time
from collections.abc import Mapping

import torch
from torch import Tensor

from cutegen.frozen import Frozen
from cutegen.spec import Case, KernelSpec
from cutegen.status import Status
from cutegen.verification import findings
from cutegen.verification.comparison import Comparison, compare
from cutegen.verification.expectation import Expectation, check_name, draw_inputs, expect
from cutegen.verification.findings import BrokenRungError
from cutegen.verification.hints import describe_wrong, lost_precision
from cutegen.verification.inputs import Distribution
from cutegen.verification.poison import same_bits, unwritten
from cutegen.verification.session import CaseRun, Session
from cutegen.verification.verdict import ErrorMeasure, Evidence, Verdict

_LEAST_TELLING = 0.5


class VerificationPolicy(Frozen):
    """How much is checked. ``repeats`` counts further runs on equal inputs, per schedule."""

    distributions: tuple[Distribution, ...] = tuple(Distribution)
    repeats: int = 2


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
    except BrokenRungError as broken:
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
            raise findings.launch_failed(name, case, run.failure)
        if run.trespasses or run.modified:
            raise findings.overstepped(name, run)
        return run

    def _judge(self, expectation: Expectation, outputs: Mapping[str, Tensor]) -> None:
        """Every element written, and as exact as the policy demands."""
        check = expectation.name
        self._require_written(expectation, outputs)
        for target in expectation.targets:
            output = outputs[target.tensor.name]
            comparison = compare(check, output, target)
            if comparison.within_bounds:
                self._errors.append(comparison.measure)
                continue
            precision = lost_precision(comparison, target)
            if precision:
                raise findings.less_precise(check, self._spec, comparison, precision)
            hints = describe_wrong(comparison, output, target)
            self._look_for_race(expectation, outputs, comparison)
            passed = [measure.check for measure in self._errors]
            raise findings.wrong(check, target.tensor, comparison, hints, passed)

    def _require_written(self, expectation: Expectation, outputs: Mapping[str, Tensor]) -> None:
        left = {
            target.tensor.name: unwritten(outputs[target.tensor.name], target)
            for target in expectation.targets
        }
        if all(0 < hole.count == hole.total for hole in left.values()):
            raise findings.did_not_run(expectation.name)
        for name, hole in left.items():
            if hole.count:
                raise findings.not_written(expectation.name, name, hole)

    def _look_for_race(
        self, expectation: Expectation, outputs: Mapping[str, Tensor], comparison: Comparison
    ) -> None:
        """Wrong values that change with the thread schedule are a race."""
        first = {name: output.clone() for name, output in outputs.items()}
        for schedule in self._session.schedules:
            again = self._run(expectation.name, expectation.case, expectation.inputs, schedule)
            if not all(same_bits(first[name], again.outputs[name]) for name in first):
                summary = "the values are wrong, and differ from run to run"
                raise findings.race(expectation.name, comparison, summary, schedule)

    def _repeat(self, expectation: Expectation, outputs: Mapping[str, Tensor]) -> None:
        """Equal inputs give equal bits, whatever the schedule."""
        first = {name: output.clone() for name, output in outputs.items()}
        for turn in range(self._policy.repeats):
            schedule = self._session.schedules[(turn + 1) % len(self._session.schedules)]
            again = self._run(expectation.name, expectation.case, expectation.inputs, schedule)
            for target in expectation.targets:
                output = again.outputs[target.tensor.name]
                if not same_bits(first[target.tensor.name], output):
                    comparison = compare(expectation.name, output, target)
                    raise findings.unsteady(expectation.name, comparison, schedule)
