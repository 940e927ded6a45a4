"""Several variants of one answer: built side by side, raced, one chosen, the others remembered.

The candidate at hand leads; the others stand beside it as ``rivals`` in the state. Together they
are one proposal.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from cutegen.agents.revision import Revision
from cutegen.execution.protocol import RaceJob
from cutegen.graphs.state import Attempt, State
from cutegen.graphs.steps import propose, record, step_of
from cutegen.graphs.workshop import Workshop
from cutegen.history import Decision, Step, StepKind
from cutegen.kernel import candidate_id
from cutegen.measurement.comparison import is_faster, middle
from cutegen.measurement.timing import Measurement, MeasurementState, Timing
from cutegen.status import Status
from cutegen.toolchain.protocol import BuildResult


def propose_variants(
    shop: Workshop,
    state: State,
    revisions: Sequence[Revision],
    *,
    agent: str,
    kind: StepKind,
    parent: str,
) -> State:
    """Make variants the candidate at hand and its rivals; those tried before are left out."""
    tried = {step.candidate for step in shop.history}
    fresh = [r for r in revisions if candidate_id(r.source, shop.spec.id) not in tried]
    proposed = [
        propose(
            shop,
            state,
            revision.source,
            agent=agent,
            kind=kind,
            intent=revision.intent,
            expected=revision.expected,
            parent=parent,
        )
        for revision in fresh or revisions[:1]
    ]
    rivals = [update["candidate"] for update in proposed[1:]]
    return {**proposed[0], "rivals": [rival for rival in rivals if rival is not None]}


def field_of(state: State) -> list[Attempt]:
    """The candidate at hand and its rivals.

    Raises:
        RuntimeError: There is no candidate.
    """
    candidate = state.get("candidate")
    if candidate is None:
        raise RuntimeError("the graph is wired wrongly: there is no candidate to judge")
    return [candidate, *state.get("rivals", [])]


def build_all(shop: Workshop, field: Sequence[Attempt]) -> list[list[BuildResult]]:
    """Build for the executor, and where that passed by nvcc if it is asked; side by side."""

    def build(attempt: Attempt) -> list[BuildResult]:
        source = shop.source(attempt)
        built = shop.executor.build(shop.spec, source)
        gate = shop.gate(source) if built.status is Status.PASSED else None
        return [built] if gate is None else [built, gate]

    with ThreadPoolExecutor(min(len(field), os.cpu_count() or 1)) as pool:
        return list(pool.map(build, field))


def settled(state: State, shop: Workshop, field: Sequence[Attempt]) -> State:
    """Let the first variant lead that has not failed; if all have, record all failures."""
    standing = [attempt for attempt in field if not _failed(attempt)]
    if standing:
        leader = standing[0]
        return {"candidate": leader, "rivals": [a for a in field if a is not leader]}
    leader, *others = field
    step = step_of(leader, Decision.FAILED, shop.verdict(leader).evidence.summary)
    steps = record(shop, state, step)
    return {
        "candidate": leader,
        "rivals": [],
        "steps": record_losers({**state, "steps": steps}, shop, leader, others),
    }


def ranked(shop: Workshop, field: Sequence[Attempt]) -> list[Attempt]:
    """Verified variants, the best first: by a race, or without a clock by what is known of them."""
    standing = [attempt for attempt in field if not _failed(attempt)]
    fallen = [attempt for attempt in field if _failed(attempt)]
    if len(standing) == 1:
        return [*standing, *fallen]
    sources = tuple(map(shop.source, standing))
    race = shop.executor.race(RaceJob(spec=shop.spec, sources=sources, seed=shop.settings.seed))
    if race.timings:
        return [*_by_time(shop, standing, race.timings), *fallen]

    def known(attempt: Attempt) -> tuple[int, float]:
        design = shop.design(shop.source(attempt))
        return design.spilled_bytes, -(design.occupancy or 0.0)

    leader, *others = sorted(standing, key=known)  # equals stay in the order of the answer
    note = f"not raced: {race.reason}"
    behind = [Attempt(**{**attempt, "note": note}) for attempt in others]
    return [leader, *behind, *fallen]


def record_losers(
    state: State, shop: Workshop, leader: Attempt, losers: Sequence[Attempt]
) -> list[str]:
    """Remember the variants that were not chosen; returns the state's list of steps."""
    for attempt in losers:
        step = _lost(shop, attempt).model_copy(update={"beside": leader["id"]})
        state = {**state, "steps": record(shop, state, step)}
    return state.get("steps", [])


def _lost(shop: Workshop, attempt: Attempt) -> Step:
    if _failed(attempt):
        return step_of(attempt, Decision.FAILED, shop.verdict(attempt).evidence.summary)
    step = step_of(attempt, Decision.REJECTED, "another variant of the same answer was chosen")
    measurement = shop.measurement(attempt) if attempt["measurement"] else None
    timing = measurement.candidate if measurement else None
    return step.model_copy(
        update={
            "fingerprint": shop.design(shop.source(attempt)).fingerprint,
            "time_us": timing.median_us if timing else None,
        }
    )


def _by_time(
    shop: Workshop, attempts: Sequence[Attempt], timings: Sequence[Timing]
) -> list[Attempt]:
    """The fastest first; the others are told by how much it beat them, and keep their times."""
    order = sorted(
        range(len(timings)), key=lambda lane: float(middle(np.asarray(timings[lane].samples_us)))
    )
    fastest = timings[order[0]]
    beaten = []
    for lane in order[1:]:
        ratio = is_faster(fastest, timings[lane])
        note = (
            f"it runs at {ratio.ratio:.3f}x the speed of this one "
            f"(95 % interval {ratio.low:.3f} to {ratio.high:.3f})"
        )
        measured = Measurement(
            state=MeasurementState.MEASURED,
            reason="raced against other variants, without PyTorch",
            candidate=timings[lane],
        )
        kept = shop.folder.store.put_model(measured)
        beaten.append(Attempt(**{**attempts[lane], "note": note, "measurement": kept}))
    return [attempts[order[0]], *beaten]


def _failed(attempt: Attempt) -> bool:
    return attempt["status"] not in {"", Status.PASSED}
