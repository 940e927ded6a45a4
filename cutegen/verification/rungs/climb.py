"""What the rungs share: running a case, expecting its outputs, judging them."""

from collections.abc import Mapping

from torch import Tensor

from cutegen.spec import Case, KernelSpec
from cutegen.verification import findings
from cutegen.verification.comparison import Comparison, compare
from cutegen.verification.expectation import Expectation, draw_inputs, expect
from cutegen.verification.inputs import Distribution
from cutegen.verification.patterns import describe_wrong, error_histogram, lost_precision
from cutegen.verification.plan import CheckPlan
from cutegen.verification.poison import unwritten
from cutegen.verification.policy import VerificationPolicy
from cutegen.verification.rungs.telling_apart import require_blameless
from cutegen.verification.session import CaseRun, Session
from cutegen.verification.stages import Stages
from cutegen.verification.verdict import ErrorMeasure

_LEAST_TELLING = 0.5


class Climb:
    """One candidate's way up; collects the error measures of the checks it has passed."""

    def __init__(
        self,
        spec: KernelSpec,
        session: Session,
        plan: CheckPlan,
        policy: VerificationPolicy,
        seed: int,
    ) -> None:
        """Nothing is passed yet."""
        self.spec = spec
        self.session = session
        self.plan = plan
        self.policy = policy
        self.seed = seed
        self.stages = Stages(session.device)
        self.errors: list[ErrorMeasure] = []
        self.silent: list[str] = []  # checks whose reference is mostly NaN or infinite
        self.exact: list[str] = []  # checks passed to the bit
        self.refused: list[str] = []  # edge cases that the candidate does not support
        self.sensitivity = 0.0  # the largest seen on zero-mean data
        self.trivial: frozenset[str] | None = None  # answers without work that would pass too

    def draw(self, case: Case, distribution: Distribution) -> dict[str, Tensor]:
        """Inputs, parameters and buffers on the session's device."""
        with self.stages.spent_on("inputs"):
            return draw_inputs(self.spec, case, distribution, self.seed, self.session.device)

    def run(self, check: str, case: Case, inputs: Mapping[str, Tensor], schedule: str) -> CaseRun:
        """Launch; then memory and inputs must be as they should.

        Raises:
            BrokenRungError: It failed, or wrote where it must not. A failure that refuses the
                shapes is returned instead.
        """
        with self.stages.spent_on("candidate"):
            run = self.session.run(case, inputs, schedule)
        if run.failure is not None and run.failure.refuses_shapes and case in self.plan.edges:
            return run
        if run.failure is not None:
            raise findings.launch_failed(check, case, run.failure)
        if run.trespasses or run.modified:
            raise findings.overstepped(check, run)
        return run

    def expect(
        self,
        check: str,
        case: Case,
        inputs: Mapping[str, Tensor],
        *,
        known_sensitivity: float | None = None,
        equal_terms: bool = False,
    ) -> Expectation:
        """Evaluate the reference, and note a check that shows little."""
        with self.stages.spent_on("reference"):
            expectation = expect(
                self.spec,
                case,
                check,
                inputs,
                seed=self.seed,
                known_sensitivity=known_sensitivity,
                equal_terms=equal_terms,
            )
        if expectation.telling < _LEAST_TELLING:
            self.silent.append(check)
        return expectation

    def judge(self, expectation: Expectation, outputs: Mapping[str, Tensor]) -> list[Comparison]:
        """Every element written, and as exact as the policy demands.

        Raises:
            BrokenRungError: With what the error looks like. The candidate may have been run
                again, so ``outputs`` are then lost.
        """
        self.require_written(expectation, outputs)
        passed: list[Comparison] = []
        for target in expectation.targets:
            output = outputs[target.tensor.name]
            with self.stages.spent_on("comparison"):
                comparison = compare(expectation.name, output, target)
            if comparison.within_bounds:
                self.errors.append(comparison.measure)
                passed.append(comparison)
                continue
            precision = lost_precision(comparison, target)
            if precision:
                raise findings.less_precise(expectation.name, self.spec, comparison, precision)
            looks = describe_wrong(comparison, output, target, self.plan.tiles)
            histogram = error_histogram(comparison, output, target)
            require_blameless(self.session, expectation, outputs, comparison)
            raise findings.wrong(
                expectation.name,
                target.tensor,
                comparison,
                looks,
                histogram=histogram,
                passed_before=[measure.check for measure in self.errors],
            )
        return passed

    def require_written(self, expectation: Expectation, outputs: Mapping[str, Tensor]) -> None:
        """No output element still holds poison."""
        with self.stages.spent_on("comparison"):
            left = {
                target.tensor.name: unwritten(outputs[target.tensor.name], target)
                for target in expectation.targets
            }
        if all(0 < hole.count == hole.total for hole in left.values()):
            raise findings.did_not_run(expectation.name)
        for name, hole in left.items():
            if hole.count:
                raise findings.not_written(expectation.name, name, hole)
