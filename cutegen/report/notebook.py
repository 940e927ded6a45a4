"""How the nouns of CuTeGen look in a notebook, and as text where there is no HTML.

``RunResult``, ``BestKernel``, ``Verdict``, ``Measurement``, ``Profile`` and ``FingerprintDiff``
come here by themselves when a cell ends with one. ``LiveRun`` (in ``report.live``) shows a run
while it goes on.
"""

import io
import json
from collections.abc import Callable, Iterator
from functools import singledispatch

from markupsafe import Markup
from pydantic import JsonValue
from rich.console import Console

from cutegen.history import Decision, Step
from cutegen.measurement.profile import Profile
from cutegen.measurement.timing import Measurement, MeasurementState, Timing
from cutegen.report import markup
from cutegen.report.fingerprint_diff import FingerprintDiff
from cutegen.report.terminal import show_measurement, show_result, show_verdict
from cutegen.result import BestKernel, RunResult, RunStatus
from cutegen.status import Status
from cutegen.verification.verdict import ErrorMeasure, Verdict

_WIDTH = 100  # of the text, in columns
_DECISIONS = {
    Decision.ACCEPTED: markup.GOOD,
    Decision.REJECTED: markup.DOUBTFUL,
    Decision.FAILED: markup.BAD,
    Decision.NO_PROPOSAL: markup.DOUBTFUL,
}
_RUNS = {RunStatus.SUCCEEDED: markup.GOOD, RunStatus.FAILED: markup.BAD}


def bundle(noun: object) -> dict[str, str]:
    """What IPython displays of a noun, by MIME type.

    Raises:
        NotImplementedError: It is none that has a look of its own.
    """
    return {"text/html": str(markup.section(html_of(noun))), "text/plain": text_of(noun)}


@singledispatch
def html_of(noun: object) -> Markup:
    """A noun as a fragment of HTML."""
    raise NotImplementedError(f"{type(noun).__name__} has no display of its own")


@singledispatch
def text_of(noun: object) -> str:
    """A noun as lines of text."""
    raise NotImplementedError(f"{type(noun).__name__} has no display of its own")


def _written(show: Callable[[Console], None]) -> str:
    page = io.StringIO()
    show(Console(file=page, width=_WIDTH, color_system=None, force_jupyter=False))
    return "\n".join(line.rstrip() for line in page.getvalue().rstrip().split("\n"))


@html_of.register
def _(result: RunResult) -> Markup:
    colour = _RUNS.get(result.status, markup.DOUBTFUL)
    facts = (
        result.spec_name,
        result.executor,
        result.model,
        f"{len(result.steps)} steps",
        f"{result.seconds:.0f} s",
    )
    return markup.joined(_parts(result, colour, " · ".join(facts)))


def _parts(result: RunResult, colour: str, facts: str) -> Iterator[Markup]:
    yield markup.paragraph(markup.coloured(result.status.value, colour), " ", facts)
    yield markup.paragraph(markup.dim(result.reason))
    if result.best is not None:
        yield html_of(result.best)
    if result.question is not None:
        asked = result.question
        yield markup.paragraph(
            Markup("Answer with <code>resume_run(result.run_dir, reply=…)</code>.")
        )
        yield markup.folded(
            f"The prompt of the {_agent(asked.agent)}", markup.preformatted(asked.prompt)
        )
    if result.steps:
        yield _steps(result.steps)
    yield markup.paragraph(markup.dim(str(result.run_dir)))


def _steps(steps: tuple[Step, ...]) -> Markup:
    return markup.table(
        ("step", "agent", "intent", "what became of it", "time"),
        (
            (
                str(step.index),
                _agent(step.agent),
                step.intent,
                markup.joined(
                    (
                        markup.coloured(_became(step), _DECISIONS[step.decision]),
                        markup.paragraph(markup.dim(step.reason)),
                    )
                ),
                _time(step),
            )
            for step in steps
        ),
    )


def _became(step: Step) -> str:
    failed = step.status is not None and step.status is not Status.PASSED
    return f"{step.decision.value}: {step.status}" if failed else step.decision.value


def _time(step: Step) -> str:
    if step.time_us is None:
        return "unmeasured" if step.status is Status.PASSED else ""
    times = "" if step.speedup is None else f", {step.speedup:.2f}x"
    return f"{step.time_us:,.1f} µs{times}"


def _agent(name: str) -> str:
    return name.replace("_", " ")


@text_of.register
def _(result: RunResult) -> str:
    return _written(lambda console: show_result(console, result))


@html_of.register
def _(best: BestKernel) -> Markup:
    speed = (
        markup.coloured(f"{best.speedup:.2f}x over PyTorch eager", markup.GOOD)
        if best.speedup is not None
        else markup.dim(f"not measured: {best.speedup_reason}")
    )
    rows = [("verdict", best.verdict.evidence.summary or "passed"), ("speed", speed)]
    if best.timing is not None:
        rows.append(("time", _spread(best.timing)))
    if best.roofline_fraction is not None:
        rows.append(("roofline", f"{best.roofline_fraction:.0%}"))
    return markup.joined(
        (markup.table((), rows), markup.folded("The kernel", markup.preformatted(best.source)))
    )


@text_of.register
def _(best: BestKernel) -> str:
    speed = (
        f"not measured: {best.speedup_reason}"
        if best.speedup is None
        else f"{best.speedup:.2f}x over PyTorch eager"
    )
    return f"{best.source_path}\n{best.verdict.evidence.summary or 'passed'}\n{speed}"


def _spread(timing: Timing) -> str:
    return f"{timing.median_us:,.2f} µs (p20-p80 {timing.p20_us:,.2f}-{timing.p80_us:,.2f})"


@html_of.register
def _(verdict: Verdict) -> Markup:
    return markup.joined(_evidence(verdict))


def _evidence(verdict: Verdict) -> Iterator[Markup]:
    evidence = verdict.evidence
    colour = markup.GOOD if verdict.passed else markup.BAD
    yield markup.paragraph(markup.coloured(verdict.status.value, colour), " ", evidence.summary)
    if evidence.diagnostics:
        yield markup.table(
            ("line", "what the compiler says", ""),
            (
                (
                    str(told.line),
                    " ".join(filter(None, (told.message, told.detail))),
                    Markup("<code>{}</code>").format(told.source_line),
                )
                for told in evidence.diagnostics
            ),
        )
    for hint in evidence.hints:
        yield markup.paragraph(hint)
    if evidence.errors:
        title = f"Errors against float64 in {len(evidence.errors)} comparisons"
        yield markup.folded(title, _errors(evidence.errors))
    if evidence.log and not verdict.passed:
        yield markup.folded("The log", markup.preformatted(evidence.log))
    yield markup.paragraph(markup.dim(f"{verdict.executor}, {verdict.seconds:.1f} s"))


def _errors(errors: tuple[ErrorMeasure, ...]) -> Markup:
    return markup.table(
        ("check", "output", "kernel", "PyTorch", "allowed", "wrong elements"),
        (
            (
                error.check,
                error.output,
                f"{error.error:.2g}"
                if error.error <= error.bound
                else markup.coloured(f"{error.error:.2g}", markup.BAD),
                f"{error.torch_error:.2g}",
                f"{error.bound:.2g}",
                f"{error.bad_count:,} of {error.total:,}" if error.bad_count else "",
            )
            for error in errors
        ),
    )


@text_of.register
def _(verdict: Verdict) -> str:
    return _written(lambda console: show_verdict(console, verdict, None))


@html_of.register
def _(measurement: Measurement) -> Markup:
    if measurement.state is not MeasurementState.MEASURED or measurement.candidate is None:
        colour = markup.BAD if measurement.state is MeasurementState.REFUSED else markup.DOUBTFUL
        return markup.paragraph(
            markup.coloured(measurement.state.value, colour), " ", measurement.reason
        )
    timings = {"kernel": measurement.candidate, **measurement.baselines}
    if measurement.incumbent is not None:
        timings["incumbent"] = measurement.incumbent
    parts = [
        markup.table(
            ("", "median", "p20-p80", "samples"),
            (
                (
                    name,
                    f"{timing.median_us:,.2f} µs",
                    f"{timing.p20_us:,.2f}-{timing.p80_us:,.2f} µs",
                    str(len(timing.samples_us)),
                )
                for name, timing in timings.items()
            ),
        )
    ]
    if measurement.roofline is not None:
        roof = measurement.roofline
        parts.append(
            markup.paragraph(
                f"{roof.fraction:.0%} of the {roof.bound} roofline ({roof.floor_us:,.2f} µs)"
            )
        )
    return markup.joined(parts)


@text_of.register
def _(measurement: Measurement) -> str:
    return _written(lambda console: show_measurement(console, measurement))


@html_of.register
def _(profile: Profile) -> Markup:
    headline = markup.paragraph(
        f"{profile.source} profile: ",
        markup.coloured(profile.bottleneck.value, markup.NAMES),
        f"; {profile.evidence}",
    )
    facts = ((name, _fact(value)) for name, value in profile.facts.items())
    return markup.joined(
        (
            headline,
            _readings(profile) if profile.readings else "",
            markup.paragraph(markup.dim(profile.unknown)) if profile.unknown else "",
            markup.folded("The facts", markup.table((), facts)),
        )
    )


def _readings(profile: Profile) -> Markup:
    return markup.table(
        ("reading", "value", "rule", "at the limit", ""),
        (
            (
                reading.metric,
                f"{reading.value:,.4g} {reading.unit}",
                reading.rule,
                reading.at_the_limit,
                "the structure's own fault" if reading in profile.structural else "",
            )
            for reading in profile.readings
        ),
    )


@text_of.register
def _(profile: Profile) -> str:
    facts = (f"  {name}: {_fact(value)}" for name, value in profile.facts.items())
    headline = f"{profile.source} profile: {profile.bottleneck}; {profile.evidence}"
    return "\n".join((headline, *facts))


def _fact(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@html_of.register
def _(diff: FingerprintDiff) -> Markup:
    changed = [row for row in diff.rows if row.changed]
    kept = [row for row in diff.rows if not row.changed]
    verdict = "the same structure" if diff.same_structure else "another structure"
    number = Markup("<i>{}</i>")
    return markup.joined(
        (
            markup.paragraph(markup.coloured(verdict, markup.NAMES)),
            markup.table(
                ("", "before", "after"),
                (
                    (
                        number.format(row.name) if row.is_parameter else row.name,
                        row.before or markup.dim("none"),
                        markup.coloured(row.after or "none", markup.NAMES),
                    )
                    for row in changed
                ),
            ),
            markup.folded(
                f"{len(kept)} more that both share",
                markup.table((), ((row.name, row.before) for row in kept)),
            ),
        )
    )


@text_of.register
def _(diff: FingerprintDiff) -> str:
    verdict = "the same structure" if diff.same_structure else "another structure"
    rows = (
        f"  {row.name}: {row.before or 'none'} → {row.after or 'none'}"
        for row in diff.rows
        if row.changed
    )
    return "\n".join((verdict, *rows))
