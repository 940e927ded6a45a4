"""The nodes in which candidates are judged: compile, verify, measure, select."""

from collections.abc import Sequence

from cutegen.events import Built, Measured, Verified
from cutegen.execution.evaluation import failed_build
from cutegen.execution.protocol import EvaluationJob, MeasurementJob
from cutegen.graphs.acceptance import Choice, Design, by_design, by_time, first
from cutegen.graphs.state import Attempt, Node, State, Stop
from cutegen.graphs.steps import record, step_of
from cutegen.graphs.variants import build_all, field_of, ranked, record_losers, settled
from cutegen.graphs.workshop import Workshop, has_nvcc
from cutegen.history import Decision, StepKind
from cutegen.measurement.timing import Measurement, MeasurementState
from cutegen.result import RunStatus
from cutegen.status import Status
from cutegen.toolchain.protocol import BuildResult
from cutegen.verification.verdict import Evidence, Verdict

NO_NVCC = "nvcc was not found, so only the emulator has built it"


def compile_candidate(state: State, shop: Workshop) -> State:
    """Build for the executor; on the emulator also with nvcc, where it is found."""
    field = field_of(state)
    judged = []
    for attempt, builds in zip(field, build_all(shop, field), strict=True):
        for build in builds:
            _tell_built(shop, attempt, build)
        if builds[-1].status is not Status.PASSED:
            verdict = failed_build(shop.settings.executor, builds[-1])
            if stop := _stop(verdict, "compile"):
                return stop
            judged.append(_failed(shop, attempt, verdict))
        elif _misses_nvcc(shop, builds):
            judged.append({**attempt, "note": NO_NVCC})
        else:
            judged.append(attempt)
    return settled(state, shop, judged)


def verify(state: State, shop: Workshop) -> State:
    """Climb the ladder of checks."""
    judged = []
    for attempt in field_of(state):
        if attempt["status"]:  # a variant that was not built
            judged.append(attempt)
            continue
        job = EvaluationJob(
            spec=shop.spec,
            source=shop.source(attempt),
            seed=shop.settings.seed,
            taken_if_passed=not state.get("best"),
        )
        verdict = shop.executor.evaluate(job)
        _tell_verified(shop, attempt, verdict)
        if verdict.passed:
            kept = shop.folder.store.put_model(verdict)
            judged.append({**attempt, "status": verdict.status, "verdict": kept})
            continue
        if stop := _stop(verdict, "verify"):
            return stop
        judged.append(_failed(shop, attempt, verdict))
    return settled(state, shop, judged)


def measure(state: State, shop: Workshop) -> State:
    """Time the verified candidate, interleaved with the best so far and with PyTorch.

    Of several variants the fastest is timed so, unless its time is not believed.
    """
    _verified(state, shop)
    own_notes = {attempt["id"]: attempt["note"] for attempt in field_of(state)}
    field = ranked(shop, field_of(state))
    best = state.get("best")
    for place, attempt in enumerate(field):
        if attempt["status"] != Status.PASSED:
            break
        job = MeasurementJob(
            spec=shop.spec,
            source=shop.source(attempt),
            incumbent=shop.source(best) if best else None,
            seed=shop.settings.seed,
        )
        measurement = shop.executor.measure(job)
        shop.emit(_measured(attempt, measurement))
        if measurement.state is MeasurementState.REFUSED:
            field[place] = _failed(shop, attempt, _disbelief(shop, measurement))
            continue
        unmeasured = measurement.state is MeasurementState.UNMEASURED
        if unmeasured and shop.executor.name == "cuda" and best:
            # a GPU that cannot measure is broken; without a time the best may not be replaced
            stop = Stop(status=RunStatus.STOPPED, reason=measurement.reason, node="measure")
            return {"stop": stop}
        kept = shop.folder.store.put_model(measurement)
        note = own_notes[attempt["id"]]  # one that was beaten may lead after all
        field[place] = {**attempt, "measurement": kept, "note": note}
        break
    return settled(state, shop, field)


def select(state: State, shop: Workshop) -> State:
    """Keep the better of candidate and best. A failed candidate leaves the best as it is."""
    candidate, best = state.get("candidate"), state.get("best")
    if candidate is None or candidate["status"] != Status.PASSED:
        if best is None:
            raise RuntimeError("the graph is wired wrongly: select has nothing to select from")
        return {"candidate": None, "rivals": []}
    candidate = _verified(state, shop)
    measurement = shop.measurement(candidate)
    design = shop.design(shop.source(candidate))
    choice = _choose(shop, candidate, best, measurement, design)
    step = step_of(candidate, choice.decision, choice.reason).model_copy(
        update={
            "fingerprint": design.fingerprint,
            "time_us": measurement.candidate.median_us if measurement.candidate else None,
            "speedup": measurement.speedup,
            "roofline_fraction": measurement.roofline.fraction if measurement.roofline else None,
        }
    )
    best = candidate if choice.decision is Decision.ACCEPTED else best
    steps = record(shop, state, step, best)
    after: State = {**state, "best": best, "steps": steps}
    return {
        "candidate": None,
        "rivals": [],
        "best": best,
        "last": candidate,
        "steps": record_losers(after, shop, candidate, state.get("rivals", [])),
    }


def _choose(
    shop: Workshop,
    candidate: Attempt,
    best: Attempt | None,
    measurement: Measurement,
    design: Design,
) -> Choice:
    if best is None:
        return first(measurement)
    choice = by_time(measurement)
    if choice is not None:
        return choice
    return by_design(
        StepKind(candidate["kind"]),
        design,
        shop.design(shop.source(best)),
        measurement.reason,
    )


def _stop(verdict: Verdict, node: Node) -> State:
    """The end of the run for a failure that is not the candidate's; empty for one that is."""
    if verdict.status.is_candidates_fault:
        return {}
    told = (f"{verdict.status}: {verdict.evidence.summary}", *verdict.evidence.hints)
    reason = "; ".join(dict.fromkeys(told))
    return {"stop": Stop(status=RunStatus.STOPPED, reason=reason, node=node)}


def _failed(shop: Workshop, attempt: Attempt, verdict: Verdict) -> Attempt:
    """The attempt with the verdict that it failed by."""
    kept = shop.folder.store.put_model(verdict)
    return {**attempt, "status": verdict.status, "verdict": kept}


def _misses_nvcc(shop: Workshop, builds: Sequence[BuildResult]) -> bool:
    """Whether nvcc should have built the kernel too, and is not there."""
    asked = shop.settings.executor != "cuda" and shop.settings.nvcc_gate
    return asked and len(builds) == 1 and not has_nvcc()


def _disbelief(shop: Workshop, measurement: Measurement) -> Verdict:
    """The verdict on a kernel whose time is not believed, or that failed while being timed."""
    if measurement.verdict is not None:
        return measurement.verdict
    timed = measurement.candidate is not None
    return Verdict(
        status=Status.TOO_FAST_TO_BE_TRUE if timed else Status.LAUNCH_ERROR,
        executor=shop.executor.name,
        evidence=Evidence(summary=measurement.reason, check="measurement"),
    )


def _verified(state: State, shop: Workshop) -> Attempt:
    """The candidate, which must have passed: its own verdict says so, not only the state."""
    candidate = field_of(state)[0]
    if not candidate["verdict"] or not shop.verdict(candidate).passed:
        raise RuntimeError("the graph is wired wrongly: this candidate has not been verified")
    return candidate


def _tell_built(shop: Workshop, candidate: Attempt, build: BuildResult) -> None:
    failed = build.status is not Status.PASSED
    shop.emit(
        Built(
            candidate=candidate["id"],
            toolchain=build.toolchain,
            status=build.status,
            summary=failed_build(shop.settings.executor, build).evidence.summary if failed else "",
            seconds=build.seconds,
            cached=build.cached,
        )
    )


def _tell_verified(shop: Workshop, attempt: Attempt, verdict: Verdict) -> None:
    shop.emit(
        Verified(
            candidate=attempt["id"],
            status=verdict.status,
            summary=verdict.evidence.summary,
            seconds=verdict.seconds,
        )
    )


def _measured(candidate: Attempt, measurement: Measurement) -> Measured:
    timing, incumbent = measurement.candidate, measurement.incumbent
    return Measured(
        candidate=candidate["id"],
        time_us=timing.median_us if timing else None,
        incumbent_us=incumbent.median_us if incumbent else None,
        speedup=measurement.speedup,
        roofline_fraction=measurement.roofline.fraction if measurement.roofline else None,
        reason=measurement.reason,
    )
