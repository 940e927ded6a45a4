"""How the nouns of CuTeGen look in a notebook, and as text where there is no HTML.

``RunResult``, ``BestKernel``, ``Verdict``, ``Measurement``, ``Profile``, ``FingerprintDiff``, and
what ``read_run`` finds in a run's folder (``Dossier``, ``Chapter``) come here by themselves when
a cell ends with one. ``LiveRun`` (in ``report.live``) shows a run while it goes on.
"""

import difflib
from collections.abc import Iterator
from functools import lru_cache, singledispatch
from importlib.resources import files

from markupsafe import Markup

from cutegen.history import Decision, Step
from cutegen.measurement.profile import Profile
from cutegen.measurement.timing import Measurement
from cutegen.report import evidence, markup
from cutegen.report.diff import diff_html
from cutegen.report.dossier import Chapter, Dossier
from cutegen.report.edge import Opening
from cutegen.report.evidence import spread, written
from cutegen.report.fingerprint_diff import FingerprintDiff
from cutegen.report.terminal import show_result
from cutegen.report.trajectory import trajectory_svg
from cutegen.result import BestKernel, RunResult, RunStatus
from cutegen.status import Status
from cutegen.verification.verdict import Verdict

_DECISIONS = {
    Decision.ACCEPTED: markup.GOOD,
    Decision.REJECTED: markup.DOUBTFUL,
    Decision.FAILED: markup.BAD,
    Decision.NO_PROPOSAL: markup.DOUBTFUL,
    Decision.HANDED_BACK: markup.DOUBTFUL,
}
_RUNS = {RunStatus.SUCCEEDED: markup.GOOD, RunStatus.FAILED: markup.BAD}


def bundle(noun: object) -> dict[str, str]:
    """What IPython displays of a noun, by MIME type.

    Raises:
        NotImplementedError: It is none that has a look of its own.
    """
    page = markup.section(style(), html_of(noun))
    return {"text/html": str(page), "text/plain": text_of(noun)}


@lru_cache(maxsize=1)
def style() -> Markup:
    """What plots and diffs need: every display carries it, for each may be shown alone."""
    rules = (files("cutegen.report") / "templates" / "notebook.css").read_text(encoding="utf-8")
    return Markup("<style>{}</style>").format(Markup(rules))  # noqa: S704 - our own file


@singledispatch
def html_of(noun: object) -> Markup:
    """A noun as a fragment of HTML."""
    raise NotImplementedError(f"{type(noun).__name__} has no display of its own")


@singledispatch
def text_of(noun: object) -> str:
    """A noun as lines of text."""
    raise NotImplementedError(f"{type(noun).__name__} has no display of its own")


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
    if any(step.time_us is not None for step in result.steps):
        yield _trajectory(result.steps, result.best)
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
    return written(lambda console: show_result(console, result))


@html_of.register
def _(best: BestKernel) -> Markup:
    speed = (
        markup.coloured(f"{best.speedup:.2f}x over PyTorch eager", markup.GOOD)
        if best.speedup is not None
        else markup.dim(f"not measured: {best.speedup_reason}")
    )
    rows = [("verdict", best.verdict.evidence.summary or "passed"), ("speed", speed)]
    if best.timing is not None:
        rows.append(("time", spread(best.timing)))
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


def _trajectory(
    steps: tuple[Step, ...], best: BestKernel | None, openings: tuple[Opening, ...] = ()
) -> Markup:
    references: dict[str, float] = {}
    if best is not None:
        references = {name: timing.median_us for name, timing in best.baselines.items()}
        if best.roofline is not None:
            references["roofline"] = best.roofline.floor_us
    return trajectory_svg(steps, references=references, openings=openings, href="")


@html_of.register
def _(run: Dossier) -> Markup:
    opened = (
        markup.paragraph(f"The profile edge opened before step {opening.first}: {opening.why}.")
        for opening in run.openings
    )
    best = run.result.best if run.result else None
    return markup.joined(
        (
            markup.paragraph(
                Markup("<b>{}</b> ").format(run.state), f"{run.run_id}, {len(run.steps)} steps"
            ),
            _trajectory(run.steps, best, run.openings) if run.steps else "",
            *opened,
        )
    )


@text_of.register
def _(run: Dossier) -> str:
    steps = (
        f"  {step.index} {_agent(step.agent)}: {step.intent or step.reason} ({_became(step)})"
        for step in run.steps
    )
    opened = (f"  profiles from step {opening.first} on: {opening.why}" for opening in run.openings)
    return "\n".join((f"{run.state} {run.run_id}", *steps, *opened))


@html_of.register
def _(chapter: Chapter) -> Markup:
    step = chapter.step
    anchor = f"step-{step.index}-{step.candidate}"
    return markup.joined(
        (
            markup.paragraph(
                Markup("<b>step {}</b>, ").format(step.index),
                f"{_agent(step.agent)}: {step.intent} ",
                markup.coloured(_became(step), _DECISIONS[step.decision]),
            ),
            markup.paragraph(markup.dim(step.reason)),
            diff_html(chapter.parent_source, chapter.source, anchor=anchor)
            if chapter.parent_source
            else markup.folded("The kernel", markup.preformatted(chapter.source)),
            html_of(chapter.verdict) if chapter.verdict else "",
        )
    )


@text_of.register
def _(chapter: Chapter) -> str:
    step = chapter.step
    diff = difflib.unified_diff(
        chapter.parent_source.splitlines(),
        chapter.source.splitlines(),
        f"step {chapter.parent_step}",
        f"step {step.index}",
        lineterm="",
        n=1,
    )
    headline = f"step {step.index}, {_agent(step.agent)}: {step.intent} ({_became(step)})"
    verdict = (text_of(chapter.verdict),) if chapter.verdict else ()
    return "\n".join((headline, step.reason, *diff, *verdict))


html_of.register(Verdict, evidence.verdict_html)
text_of.register(Verdict, evidence.verdict_text)
html_of.register(Measurement, evidence.measurement_html)
text_of.register(Measurement, evidence.measurement_text)
html_of.register(Profile, evidence.profile_html)
text_of.register(Profile, evidence.profile_text)
html_of.register(FingerprintDiff, evidence.fingerprints_html)
text_of.register(FingerprintDiff, evidence.fingerprints_text)
