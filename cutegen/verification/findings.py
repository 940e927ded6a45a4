"""What breaks a rung of the ladder, put into evidence that a diagnostician can use."""

from collections.abc import Sequence

from pydantic import JsonValue

from cutegen.spec import Case, KernelSpec, TensorArg
from cutegen.status import Status
from cutegen.verification.comparison import Comparison
from cutegen.verification.patterns import Looks, Pattern
from cutegen.verification.poison import Unwritten
from cutegen.verification.session import CaseRun, Failure
from cutegen.verification.verdict import Evidence

_RACE_HINT = (
    "threads race: a missing __syncthreads, also before shared memory is reused; a wait on the "
    "wrong stage; two blocks that write one element"
)


class BrokenRungError(Exception):
    """Carries the first failure up the ladder, to ``verify`` and no further."""

    def __init__(
        self,
        status: Status,
        check: str,
        summary: str,
        *hints: str,
        comparison: Comparison | None = None,
        pattern: Pattern | None = None,
        **facts: JsonValue,
    ) -> None:
        """Put everything that was seen into evidence."""
        super().__init__(summary)
        self.status = status
        self.evidence = Evidence(
            summary=summary,
            check=check,
            errors=(comparison.measure,) if comparison is not None else (),
            hints=hints,
            facts={**facts, **({"pattern": pattern.value} if pattern else {})},
        )


def launch_failed(check: str, case: Case, failure: Failure) -> BrokenRungError:
    """The candidate gave no outputs for a case."""
    shapes = ", ".join(f"{tensor.name} {list(tensor.shape)}" for tensor in case.tensors)
    summary = f"{failure.summary} (case {case.name}: {shapes})"
    broken = BrokenRungError(failure.status, check, summary, *failure.hints)
    broken.evidence = broken.evidence.model_copy(
        update={"facts": failure.facts, "log": failure.log}
    )
    return broken


def overstepped(check: str, run: CaseRun) -> BrokenRungError:
    """Guard bands were written, or else inputs."""
    if run.trespasses:
        return BrokenRungError(
            Status.OUT_OF_BOUNDS,
            check,
            f"wrote outside its tensors: {run.trespasses[0]}",
            *run.trespasses[1:],
            "predicate the stores of the last tile",
        )
    return BrokenRungError(
        Status.CHEAT,
        check,
        f"modified its inputs: {', '.join(run.modified)}",
        "inputs are const; use the workspace for scratch memory",
    )


def did_not_run(check: str) -> BrokenRungError:
    """Every element of every output still holds poison."""
    return BrokenRungError(
        Status.DID_NOT_RUN,
        check,
        "no output element was written: the kernel did not run",
        "return cudaGetLastError() after the launch: a refused launch configuration is "
        "silent otherwise",
    )


def not_written(check: str, output: str, hole: Unwritten) -> BrokenRungError:
    """Some elements still hold poison."""
    hint = (
        "everything from there to the end is missing: the last, partial tile has no threads"
        if hole.is_tail
        else "the holes lie between written elements: check the index arithmetic and the strides"
    )
    return BrokenRungError(
        Status.WRONG_VALUES,
        check,
        f"{output}: {hole.count} of {hole.total} elements were never written, "
        f"from flat index {hole.first} on",
        hint,
        pattern=Pattern.TAIL if hole.is_tail else Pattern.LAYOUT,
        unwritten_first=hole.first,
        unwritten_count=hole.count,
    )


def less_precise(
    check: str, spec: KernelSpec, comparison: Comparison, precision: str
) -> BrokenRungError:
    """The error is that of a lower precision than the spec allows."""
    measure, mode = comparison.measure, spec.math_mode.value
    return BrokenRungError(
        Status.PRECISION_DOWNGRADE,
        check,
        f"{measure.output}: relative error {measure.error:.2e}, where {mode} allows "
        f"{measure.bound:.2e} and PyTorch makes {measure.torch_error:.2e}; it looks like "
        f"{precision}",
        f"compute in {mode} throughout, or split operands so that no bits are lost",
        "an approximation of the function (a fast intrinsic, another formula) looks the same",
        comparison=comparison,
        pattern=Pattern.PRECISION,
    )


def wrong(
    check: str,
    tensor: TensorArg,
    comparison: Comparison,
    looks: Looks,
    *,
    histogram: dict[str, int],
    passed_before: Sequence[str],
) -> BrokenRungError:
    """The values are not the reference's."""
    measure = comparison.measure
    where = f", the first at {list(measure.first_bad_index)}" if measure.bad_count else ""
    summary = (
        f"{measure.output}: relative error {measure.error:.2e}, allowed {measure.bound:.2e}; "
        f"{measure.bad_count} of {measure.total} elements out of bounds{where}"
        if tensor.dtype.is_floating and measure.bound
        else f"{measure.output}: {measure.bad_count} of {measure.total} integers differ{where}"
    )
    return BrokenRungError(
        Status.WRONG_VALUES,
        check,
        summary,
        *looks.hints,
        comparison=comparison,
        pattern=looks.pattern,
        error_histogram={**histogram},
        passed_before=[*passed_before],
    )


def race(check: str, comparison: Comparison, summary: str, schedule: str) -> BrokenRungError:
    """Values are wrong, and differ from run to run."""
    return BrokenRungError(
        Status.RACE,
        check,
        summary,
        _RACE_HINT,
        comparison=comparison,
        pattern=Pattern.RACE,
        schedule=schedule,
    )


def unsteady(check: str, comparison: Comparison, schedule: str) -> BrokenRungError:
    """Two runs on equal inputs differ, within the bounds or not."""
    summary = f"{comparison.measure.output}: two runs on equal inputs differ"
    if not comparison.within_bounds:
        return race(check, comparison, f"{summary}, and the second is wrong", schedule)
    return BrokenRungError(
        Status.NONDETERMINISTIC,
        check,
        summary,
        "floating-point atomics sum in varying order: reduce in a fixed order",
        comparison=comparison,
        pattern=Pattern.RACE,
        schedule=schedule,
    )


def stateful(check: str, comparison: Comparison, summary: str) -> BrokenRungError:
    """A call depends on the calls before it, in a way that a fresh process repeats."""
    return BrokenRungError(
        Status.STATEFUL,
        check,
        summary,
        "every call must work alone: set device globals, counters and flags anew in each launch, "
        "and keep nothing in static variables of the host",
        comparison=comparison,
        pattern=Pattern.STATE,
    )


def stale(check: str, output: str, changed: int) -> BrokenRungError:
    """The outputs are those of an earlier call, though the inputs have changed since."""
    return BrokenRungError(
        Status.CHEAT,
        check,
        f"{output} is that of an earlier call, bit for bit, though {changed} input elements have "
        "changed since: the result was kept, not computed",
        "compute from the inputs in every call; recognising inputs by an address, a checksum or "
        "some of their elements is no computation",
        pattern=Pattern.STATE,
        changed_elements=changed,
    )
