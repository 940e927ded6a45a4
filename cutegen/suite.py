"""What became of many specs: one member each, and what they come to together."""

import math
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from cutegen.events import Event
from cutegen.frozen import Frozen
from cutegen.result import Question, RunResult

SUITE_FILE = "suite.json"


class MemberStatus(StrEnum):
    """How one spec of a suite stands: as its run ended, or why it has none."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    UNSUPPORTED = "UNSUPPORTED"
    WAITING = "WAITING"
    STOPPED = "STOPPED"
    REFUSED = "REFUSED"  # the file cannot become a spec, or the options are none
    BROKEN = "BROKEN"  # its process ended without a result; the suite can be resumed


class SuiteMember(Frozen):
    """One spec of a suite. Times in microseconds; ``speedup`` is over PyTorch eager.

    Where ``speedup`` is None, ``speedup_reason`` says why.
    """

    run_id: str
    spec: str  # the file, or the name of a spec that came as an object
    run_dir: Path
    status: MemberStatus
    reason: str
    verified: bool = False
    speedup: float | None = None
    speedup_reason: str = ""
    time_us: float | None = None
    roofline_fraction: float | None = None
    executor: str = ""
    model: str = ""
    steps: int = 0
    model_calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0  # None where a model's price is not known
    seconds: float = 0.0
    question: Question | None = None

    @classmethod
    def of_run(cls, spec: str, result: RunResult) -> "SuiteMember":
        """What the result of a run says of its spec."""
        best = result.best
        return cls(
            run_id=result.run_id,
            spec=spec,
            run_dir=result.run_dir,
            status=MemberStatus(result.status.value),
            reason=result.reason,
            verified=best is not None,
            speedup=best.speedup if best else None,
            speedup_reason=best.speedup_reason if best else "no kernel was verified",
            time_us=best.timing.median_us if best and best.timing else None,
            roofline_fraction=best.roofline_fraction if best else None,
            executor=result.executor,
            model=result.model,
            steps=len(result.steps),
            model_calls=result.model_calls,
            tokens=result.tokens,
            cost_usd=result.cost_usd,
            seconds=result.seconds,
            question=result.question,
        )

    @classmethod
    def without_result(
        cls, spec: str, run_dir: Path, status: MemberStatus, reason: str
    ) -> "SuiteMember":
        """A spec whose run has no result."""
        return cls(
            run_id=run_dir.name,
            spec=spec,
            run_dir=run_dir,
            status=status,
            reason=reason,
            speedup_reason="its run has no result",
        )


class SuiteResult(Frozen):
    """What a suite came to.

    ``geomean_speedup`` is the geometric mean over the ``measured`` members only, None if there
    is none; ``unmeasured`` names the others, each with the reason. ``faster`` counts the
    members that beat PyTorch eager.
    """

    suite_id: str
    suite_dir: Path
    members: tuple[SuiteMember, ...]
    counts: dict[str, int]
    verified: int
    measured: int
    faster: int
    geomean_speedup: float | None
    unmeasured: dict[str, str]
    model_calls: int
    tokens: int
    cost_usd: float | None
    seconds: float  # of work, in all members together

    @classmethod
    def of(cls, suite_dir: Path, members: Iterable[SuiteMember]) -> "SuiteResult":
        """Sum up the members of a suite, which keep their order."""
        all_of_them = tuple(members)
        speedups = [member.speedup for member in all_of_them if member.speedup is not None]
        costs = [member.cost_usd for member in all_of_them]
        known = [cost for cost in costs if cost is not None]
        return cls(
            suite_id=suite_dir.name,
            suite_dir=suite_dir.resolve(),
            members=all_of_them,
            counts=dict(Counter(member.status.value for member in all_of_them)),
            verified=sum(member.verified for member in all_of_them),
            measured=len(speedups),
            faster=sum(speedup > 1 for speedup in speedups),
            geomean_speedup=geometric_mean(speedups),
            unmeasured={
                member.run_id: member.speedup_reason
                for member in all_of_them
                if member.speedup is None
            },
            model_calls=sum(member.model_calls for member in all_of_them),
            tokens=sum(member.tokens for member in all_of_them),
            cost_usd=sum(known) if len(known) == len(costs) else None,
            seconds=round(sum(member.seconds for member in all_of_them), 3),
        )

    @property
    def waiting(self) -> tuple[SuiteMember, ...]:
        """Those who wait for a person's reply."""
        return tuple(m for m in self.members if m.status is MemberStatus.WAITING)

    @classmethod
    def load(cls, suite_dir: str | Path) -> "SuiteResult":
        """Read the result of a suite, wherever its folder lies now.

        Raises:
            FileNotFoundError: The suite has not finished, or this is no suite's folder.
        """
        folder = Path(suite_dir).resolve()
        file = folder / SUITE_FILE
        if not file.exists():
            raise FileNotFoundError(
                f"{folder} holds no {SUITE_FILE}: the suite has not finished; take it up again "
                f"with `cutegen resume {suite_dir}`"
            )
        result = cls.model_validate_json(file.read_text())
        members = (
            member.model_copy(update={"run_dir": folder / member.run_id})
            for member in result.members
        )
        return result.model_copy(update={"suite_dir": folder, "members": tuple(members)})


def geometric_mean(speedups: Iterable[float]) -> float | None:
    """The geometric mean of positive numbers; None of none."""
    logarithms = [math.log(speedup) for speedup in speedups]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None


class SuiteStarted(Frozen):
    """A suite begins, or is taken up again."""

    event: Literal["suite-started"] = "suite-started"
    suite_dir: str
    members: tuple[str, ...]  # run ids


class MemberTold(Frozen):
    """Something happens in the run of one member."""

    event: Literal["member-told"] = "member-told"
    run_id: str
    told: Event = Field(discriminator="event")


class MemberEnded(Frozen):
    """One member is done, or waits for a person."""

    event: Literal["member-ended"] = "member-ended"
    member: SuiteMember


SuiteEvent = SuiteStarted | MemberTold | MemberEnded

_PARSER: TypeAdapter[SuiteEvent] = TypeAdapter(Annotated[SuiteEvent, Field(discriminator="event")])


def parse_suite_event(data: object) -> SuiteEvent:
    """The event that a dictionary, as sent through the stream of a suite, stands for.

    Raises:
        pydantic.ValidationError: It stands for none.
    """
    return _PARSER.validate_python(data)
