"""The report of one run: a single HTML file that loads nothing.

Its content policy allows only the style and the script that it carries, by their hashes: markup
that a kernel's source or a model's reply might smuggle in could neither run nor load anything,
besides being escaped.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from cutegen.history import Decision
from cutegen.report import svg
from cutegen.report.axes import digits, microseconds, rate, seconds, times
from cutegen.report.code import source_html
from cutegen.report.diff import changed_lines, diff_html
from cutegen.report.digest import fact_rows, profile_rows, reading_rows
from cutegen.report.dossier import Chapter, Dossier
from cutegen.report.headline import headline_of, spread, stats_of, why_unmeasured
from cutegen.report.marks import shape_of
from cutegen.report.plots import roofline_plots, sample_plots, step_samples, trajectory_plots
from cutegen.report.reproducing import commands, reference_text
from cutegen.report.spending import seconds_by_work, use_by_agent
from cutegen.structure import describe_change

_ASSETS = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Page:
    """What every page carries."""

    style: Markup
    script: Markup
    style_hash: str
    script_hash: str
    written: str


def report_html(dossier: Dossier, *, back: str = "") -> str:
    """The whole report.

    Args:
        dossier: The run.
        back: Where a link to all runs leads; empty for none.
    """
    result, spec = dossier.result, dossier.spec
    best = result.best if result else None
    best_chapter = dossier.best_chapter
    verified = (c for c in dossier.chapters if c.step.decision is Decision.ACCEPTED)
    first = next(verified, None)
    work = seconds_by_work(dossier.events)
    calls = [e.call for c in dossier.chapters for e in c.exchanges]
    calls += [e.call for e in dossier.unplaced]
    errors = best.verdict.evidence.errors if best else ()
    environment = result.environment if result else {}
    return render(
        "report.html.j2",
        ("report.css",),
        ("report.js",),
        run=dossier,
        back=back,
        name=spec.name if spec else dossier.run_id,
        headline=headline_of(dossier),
        stats=stats_of(dossier),
        reason=result.reason if result else "this run has not come to its end",
        chips=tuple(_chips(dossier)),
        sections=tuple(_sections(dossier)),
        samples=sample_plots(dossier),
        method=f"Method: {best.timing.method}." if best and best.timing else "",
        trajectory=trajectory_plots(dossier),
        measured=any(step.time_us is not None for step in dossier.steps),
        unmeasured=why_unmeasured(best.speedup_reason if best else "") or "nothing was measured",
        work=work,
        work_total=sum(work.values()) or 1.0,
        uses=use_by_agent(calls),
        best_index=best_chapter.step.index if best_chapter else None,
        best_source=_text(best.source_path) if best else "",
        first_source=first.source if first else "",
        roofline=roofline_plots(dossier),
        roof_caption=_roof_caption(dossier),
        worst_share=max((e.error / e.bound for e in errors if e.bound), default=0.0),
        commit=_commit(environment),
        commands=commands(dossier),
        reference=reference_text(dossier),
        environment=fact_rows(environment),
    )


def render(template: str, styles: tuple[str, ...], scripts: tuple[str, ...], **more: object) -> str:
    """A page from a template of this package, with its style, its script and their hashes."""
    style, script = _assets(styles), _assets(scripts)
    page = Page(
        style=Markup(style),  # noqa: S704 - our own files
        script=Markup(script),  # noqa: S704 - the same
        style_hash=_hash(style),
        script_hash=_hash(script),
        written=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
    )
    return _environment().get_template(template).render(page=page, **more)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("cutegen.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    helpers: dict[str, Any] = {
        "agent_colour": svg.agent_colour,
        "agent_name": lambda agent: agent.replace("_", " "),
        "changed_lines": changed_lines,
        "design_changes": _design_changes,
        "diff_html": diff_html,
        "download": _download,
        "duration": seconds,
        "fact_rows": fact_rows,
        "microseconds": microseconds,
        "profile_rows": profile_rows,
        "shape_of": shape_of,
        "source_html": source_html,
        "number_of": digits,
        "outcome": _outcome,
        "prose": prose,
        "reading_rows": reading_rows,
        "spread": spread,
        "step_samples": step_samples,
        "times": times,
    }
    environment.globals.update(helpers)
    return environment


def _sections(dossier: Dossier) -> Iterator[tuple[str, str]]:
    best = dossier.result.best if dossier.result else None
    yield "summary", "Summary"
    if dossier.chapters:
        yield "trajectory", "Trajectory"
        yield "lineage", "Lineage"
    if roofline_plots(dossier):
        yield "roofline", "Roofline"
    yield "profile", "Profile"
    if best:
        yield "verification", "Verification"
        yield "kernel", "Kernel"
    yield "environment", "Environment"


def _chips(dossier: Dossier) -> Iterator[str]:
    """What was asked for, in the words of the spec and the settings."""
    spec, started = dossier.spec, dossier.started
    if spec is not None:
        yield spec.kernel_class.value
        yield spec.math_mode.value
        for tensor in spec.timed.tensors:
            if tensor.role in {"input", "output"}:
                shape = " x ".join(map(str, tensor.shape))
                yield f"{tensor.name}: {tensor.dtype.value} {shape}"
    if started is not None:
        yield f"{started.arch}, {started.executor}"
        yield started.model


def _roof_caption(dossier: Dossier) -> str:
    best = dossier.result.best if dossier.result else None
    roof = best.roofline if best else None
    if roof is None:
        return ""
    work = f"{roof.bytes_moved / 1e6:,.1f} MB"
    if roof.flops:
        work += f" and {roof.flops / 1e9:,.1f} GFLOP"
    return (
        f"The least work of a call is {work}: bound by {roof.bound}, at least "
        f"{microseconds(roof.floor_us)}. The ceilings are those of this device: "
        f"{rate(roof.copy_bytes_per_s, 'B/s')} of copy bandwidth"
        + (f", {rate(roof.flops_per_s, 'FLOP/s')} of arithmetic." if roof.flops else ".")
    )


def _design_changes(chapter: Chapter) -> list[str]:
    new, old = chapter.step.fingerprint, chapter.parent_design
    if new is None or old is None or new == old:
        return []
    return describe_change(old, new).split("; ")


def _outcome(chapter: Chapter) -> Markup:
    """What came of a step, without the changes of the design that stand below it."""
    changes = set(_design_changes(chapter))
    parts = [part for part in chapter.step.reason.split("; ") if part not in changes]
    return prose(why_unmeasured("; ".join(parts)))


def prose(text: str) -> Markup:
    """A sentence in which what stands between backticks is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick without its fellow is only a backtick
        return escape(text)
    return Markup().join(
        Markup("<code>{}</code>").format(part) if position % 2 else escape(part)
        for position, part in enumerate(parts)
    )


def _commit(environment: Mapping[str, object]) -> str:
    measured = environment.get("measurement")
    inner = measured.get("commit") if isinstance(measured, Mapping) else ""
    return str(environment.get("commit") or inner or "")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def _download(text: str) -> str:
    return "data:text/plain;charset=utf-8;base64," + base64.b64encode(text.encode()).decode()


def _assets(names: tuple[str, ...]) -> str:
    return "".join((_ASSETS / name).read_text(encoding="utf-8") for name in names)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
