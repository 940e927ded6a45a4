"""How verdicts, times, profiles and fingerprints look in a notebook, and as text."""

import io
import json
from collections.abc import Callable, Iterator

from markupsafe import Markup
from pydantic import JsonValue
from rich.console import Console

from cutegen.measurement.profile import Profile
from cutegen.measurement.timing import Measurement, MeasurementState, Timing
from cutegen.report import markup
from cutegen.report.fingerprint_diff import FingerprintDiff
from cutegen.report.terminal import show_measurement, show_verdict
from cutegen.verification.verdict import ErrorMeasure, Verdict

_WIDTH = 100  # of the text, in columns


def written(show: Callable[[Console], None]) -> str:
    """What ``show`` writes to a terminal, without colours."""
    page = io.StringIO()
    show(Console(file=page, width=_WIDTH, color_system=None, force_jupyter=False))
    return "\n".join(line.rstrip() for line in page.getvalue().rstrip().split("\n"))


def spread(timing: Timing) -> str:
    """A median with the spread of its samples."""
    return f"{timing.median_us:,.2f} µs (p20-p80 {timing.p20_us:,.2f}-{timing.p80_us:,.2f})"


def verdict_html(verdict: Verdict) -> Markup:
    """The verdict, what the compiler said, and every comparison, folded."""
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


def verdict_text(verdict: Verdict) -> str:
    """The verdict as the terminal shows it."""
    return written(lambda console: show_verdict(console, verdict, None))


def measurement_html(measurement: Measurement) -> Markup:
    """The times side by side, and how far from the roofline."""
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


def measurement_text(measurement: Measurement) -> str:
    """The time as the terminal shows it."""
    return written(lambda console: show_measurement(console, measurement))


def profile_html(profile: Profile) -> Markup:
    """The bottleneck, the readings that speak for it, and the facts, folded."""
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


def profile_text(profile: Profile) -> str:
    """The bottleneck and the facts."""
    facts = (f"  {name}: {_fact(value)}" for name, value in profile.facts.items())
    headline = f"{profile.source} profile: {profile.bottleneck}; {profile.evidence}"
    return "\n".join((headline, *facts))


def _fact(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def fingerprints_html(diff: FingerprintDiff) -> Markup:
    """What changed between two designs; what did not, folded."""
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


def fingerprints_text(diff: FingerprintDiff) -> str:
    """What changed between two designs."""
    verdict = "the same structure" if diff.same_structure else "another structure"
    rows = (
        f"  {row.name}: {row.before or 'none'} → {row.after or 'none'}"
        for row in diff.rows
        if row.changed
    )
    return "\n".join((verdict, *rows))
