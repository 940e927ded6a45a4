"""The first thing a reader sees: how much faster, how surely, or why nobody knows."""

import shlex
from typing import Literal

from cutegen.frozen import Frozen
from cutegen.history import Decision
from cutegen.measurement.comparison import is_faster
from cutegen.measurement.timing import Timing
from cutegen.report.axes import microseconds, seconds, times
from cutegen.report.dossier import Dossier
from cutegen.result import BestKernel

_ADVICE = ": measure on a GPU with `cutegen resume"

Stat = tuple[str, str, str]  # label, value, note


class Headline(Frozen):
    """One number or phrase, what it means, and how sure it is.

    ``action`` is a command that would tell more; ``tone`` chooses the colour.
    """

    number: str
    short: str
    meaning: str
    spread: str = ""
    action: str = ""
    tone: Literal["good", "warn", "bad", "open"]


def headline_of(dossier: Dossier) -> Headline:
    """What the run came to."""
    result = dossier.result
    best = result.best if result else None
    if result is None:
        return _unfinished(dossier)
    if best is None:
        return Headline(
            number="No kernel", short="no kernel", meaning="nothing was verified", tone="bad"
        )
    if best.speedup is None:
        return _unmeasured(dossier, best)
    faster = best.speedup >= 1
    return Headline(
        number=times(best.speedup),
        short=f"{times(best.speedup)} over eager",
        meaning=f"{'as fast as' if faster else 'the speed of'} PyTorch eager",
        spread=_spread(best),
        tone="good" if faster else "warn",
    )


def stats_of(dossier: Dossier) -> tuple[Stat, ...]:
    """The figures beside the headline."""
    result, steps = dossier.result, dossier.steps
    best = result.best if result else None
    found: list[Stat] = []
    if best is not None and best.timing is not None:
        found.append(("time of a call", microseconds(best.timing.median_us), spread(best.timing)))
    for name, timing in (best.baselines if best else {}).items():
        if name != "eager" and best is not None and best.timing is not None:
            ratio = timing.median_us / best.timing.median_us
            found.append((f"over torch.{name}", times(ratio), _interval(best.timing, timing)))
    if best is not None and best.roofline_fraction is not None:
        bound = f"bound by {best.roofline.bound}" if best.roofline else ""
        found.append(("of the roofline", f"{best.roofline_fraction:.0%}", bound))
    accepted = sum(step.decision is Decision.ACCEPTED for step in steps)
    found.append(("steps", str(len(steps)), f"{accepted} accepted"))
    if result is not None:
        cost = "price unknown" if result.cost_usd is None else f"{result.cost_usd:.2f} $"
        tokens = f"{result.tokens:,} tokens, {cost}" if result.tokens else "no tokens"
        found.append(("model calls", str(result.model_calls), tokens))
        found.append(("wall time", seconds(result.seconds), ""))
    return tuple(found)


def spread(timing: Timing) -> str:
    """Where the middle of the samples lies."""
    return f"p20-p80 {microseconds(timing.p20_us)} to {microseconds(timing.p80_us)}"


def why_unmeasured(reason: str) -> str:
    """A reason without the advice to go to a GPU, which the report gives once, at its top."""
    return reason.partition(_ADVICE)[0]


def _unfinished(dossier: Dossier) -> Headline:
    """What the steps so far came to; a time among them is no result yet."""
    accepted = [step for step in dossier.steps if step.decision is Decision.ACCEPTED]
    resume = f"cutegen resume {shlex.quote(dossier.run_id)}"
    if not accepted:
        return Headline(
            number="No kernel yet",
            short="unfinished",
            meaning="no candidate has been verified so far",
            action=resume,
            tone="open",
        )
    last = accepted[-1]
    known = "" if last.speedup is None else f", {times(last.speedup)} as fast as PyTorch eager"
    return Headline(
        number="Unfinished",
        short="unfinished",
        meaning=f"the best so far is the verified kernel of step {last.index}{known}",
        action=resume,
        tone="open",
    )


def _unmeasured(dossier: Dossier, best: BestKernel) -> Headline:
    why = why_unmeasured(best.speedup_reason)
    resume = best.speedup_reason != why  # it advises to
    return Headline(
        number="Unmeasured",
        short="verified, unmeasured",
        meaning="A verified kernel whose speed nobody knows yet",
        spread=f"Why: {why}." if why else "",
        action=f"cutegen resume {shlex.quote(dossier.run_id)} --executor cuda" if resume else "",
        tone="open",
    )


def _spread(best: BestKernel) -> str:
    eager = best.baselines.get("eager")
    if best.timing is None:
        return ""
    if eager is None:
        return f"median {microseconds(best.timing.median_us)}, {spread(best.timing)}"
    return f"{_interval(best.timing, eager)}, over {len(best.timing.samples_us)} samples each"


def _interval(timing: Timing, baseline: Timing) -> str:
    compared = is_faster(timing, baseline)
    return f"95 % interval {compared.low:.3f} to {compared.high:.3f}"
