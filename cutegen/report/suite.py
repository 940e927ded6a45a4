"""Many runs as one table that leads to the report of each."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cutegen.frozen import Frozen
from cutegen.history import Decision
from cutegen.report.dossier import Dossier
from cutegen.report.headline import why_unmeasured
from cutegen.report.page import render
from cutegen.report.speedups import speedups_svg
from cutegen.report.trajectory import NARROW
from cutegen.suite import SuiteMember, geometric_mean


class SuiteRow(Frozen):
    """One run in the table. Times in microseconds; None where nothing is known.

    ``link`` is the address of its report, empty where there is none; ``remark`` says why a
    number is missing, or how the run ended.
    """

    run_id: str
    name: str
    kernel_class: str = ""
    state: str
    remark: str
    verified: bool = False
    speedup: float | None = None
    over_compile: float | None = None
    time_us: float | None = None
    eager_us: float | None = None
    roofline_fraction: float | None = None
    steps: int = 0
    accepted: int = 0
    model: str = ""
    executor: str = ""
    model_calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    link: str = ""


def row_of(dossier: Dossier, link: str) -> SuiteRow:
    """What the table says of a run."""
    result, steps = dossier.result, dossier.steps
    best = result.best if result else None
    time_us = best.timing.median_us if best and best.timing else None
    medians = {name: t.median_us for name, t in best.baselines.items()} if best else {}
    eager = medians.get("eager")
    if eager is None and best and best.speedup and time_us:
        eager = best.speedup * time_us
    compiled = medians.get("compile")
    return SuiteRow(
        run_id=dossier.run_id,
        name=dossier.spec.name if dossier.spec else dossier.run_id,
        kernel_class=dossier.spec.kernel_class.value if dossier.spec else "",
        state=dossier.state.value,
        remark=(why_unmeasured(best.speedup_reason) if best and best.speedup is None else "")
        or (result.reason if result else "the run has not come to its end"),
        verified=best is not None,
        speedup=best.speedup if best else None,
        over_compile=compiled / time_us if compiled and time_us else None,
        time_us=time_us,
        eager_us=eager,
        roofline_fraction=best.roofline_fraction if best else None,
        steps=len(steps),
        accepted=sum(step.decision is Decision.ACCEPTED for step in steps),
        model=result.model if result else "",
        executor=result.executor if result else "",
        model_calls=result.model_calls if result else 0,
        tokens=result.tokens if result else 0,
        cost_usd=result.cost_usd if result else 0.0,
        seconds=result.seconds if result else 0.0,
        link=link,
    )


def row_without_run(member: SuiteMember) -> SuiteRow:
    """What the table says of a spec that has no run: its file was refused, or its process died."""
    return SuiteRow(
        run_id=member.run_id,
        name=Path(member.spec).stem,
        state=member.status.value,
        remark=member.reason,
    )


def suite_html(title: str, rows: Sequence[SuiteRow]) -> str:
    """The page of all runs."""
    names = Counter(row.name for row in rows)
    measured = {
        row.name if names[row.name] == 1 else f"{row.name} ({row.run_id})": row.speedup
        for row in rows
        if row.speedup is not None
    }
    plots = (speedups_svg(measured), speedups_svg(measured, width=NARROW)) if measured else None
    costs = [row.cost_usd for row in rows]
    return render(
        "suite.html.j2",
        ("report.css", "suite.css"),
        ("report.js", "suite.js"),
        name=title,
        rows=rows,
        plots=plots,
        verified=sum(row.verified for row in rows),
        measured=len(measured),
        faster=sum(speedup > 1 for speedup in measured.values()),
        twice=sum(speedup >= 2 for speedup in measured.values()),  # noqa: PLR2004 - fast_2
        geomean=geometric_mean(measured.values()),
        seconds=sum(row.seconds for row in rows),
        calls=sum(row.model_calls for row in rows),
        tokens=sum(row.tokens for row in rows),
        cost=sum(cost for cost in costs if cost is not None),
        cost_known=None not in costs,
    )
