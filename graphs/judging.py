"""The nodes in which candidates are judged: compile, verify, measure, select."""

from cutegen.events import Built, Measured, Verified
from cutegen.execution.evaluation import failed_build
from cutegen.execution.protocol import EvaluationJob, MeasurementJob
from cutegen.graphs.acceptance import Choice, Design, by_design, by_time, first
from cutegen.graphs.state import Attempt, Node, State, Stop
from cutegen.graphs.steps import record, step_of
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
    candidate = _candidate(state)
    source = shop.source(candidate)
    build = shop.executor.build(shop.spec, source)
    _tell_built(shop, candidate, build)
    if build.status is Status.PASSED:
        gate = shop.gate(source)
        if gate is not None:
            _tell_built(shop, candidate, gate)
            build = gate
        elif shop.settings.executor != "cuda" and shop.settings.nvcc_gate and not has_nvcc():
            candidate = {**candidate, "note": NO_NVCC}
    if build.status is Status.PASSED:
        return {"candidate": candidate}
    verdict = failed_build(shop.settings.executor, build)
    return _failed(state, shop, candidate, verdict, "compile")


def verify(state: State, shop: Workshop) -> State:
    """Climb the ladder of checks."""
    candidate = _candidate(state)
    verdict = shop.executor.evaluate(
        EvaluationJob(spec=shop.spec, source=shop.source(candidate), seed=shop.settings.seed)
    )
    shop.emit(
        Verified(
            candidate=candidate["id"],
            status=verdict.status,
            summary=verdict.evidence.summary,
            seconds=verdict.seconds,
        )
    )
    if not verdict.passed:
        return _failed(state, shop, candidate, verdict, "verify")
    return {
        "candidate": {
            **candidate,
            "status": verdict.status,
            "verdict": shop.folder.store.put_model(verdict),
        }
    }


def measure(state: State, shop: Workshop) -> State:
    """Time the verified candidate, interleaved with the best so far and with PyTorch."""
    candidate = _verified(state, shop)
    best = state.get("best")
    measurement = shop.executor.measure(
        MeasurementJob(
            spec=shop.spec,
            source=shop.source(candidate),
            incumbent=shop.source(best) if best else None,
            seed=shop.settings.seed,
        )
    )
    shop.emit(_measured(candidate, measurement))
    if measurement.state is MeasurementState.REFUSED:
        return _failed(state, shop, candidate, _disbelief(shop, measurement), "measure")
    if measurement.state is MeasurementState.UNMEASURED and shop.executor.name == "cuda" and best:
        # a GPU that cannot measure is broken; without a time the best may not be replaced
        stop = Stop(status=RunStatus.STOPPED, reason=measurement.reason, node="measure")
        return {"stop": stop}
    return {"candidate": {**candidate, "measurement": shop.folder.store.put_model(measurement)}}


def select(state: State, shop: Workshop) -> State:
    """Keep the better of candidate and best. A failed candidate leaves the best as it is."""
    candidate, best = state.get("candidate"), state.get("best")
    if candidate is None or candidate["status"] != Status.PASSED:
        if best is None:
            raise RuntimeError("the graph is wired wrongly: select has nothing to select from")
        return {"candidate": None}
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
    accepted = choice.decision is Decision.ACCEPTED
    return {
        "candidate": None,
        "best": candidate if accepted else best,
        "last": candidate,
        "steps": record(shop, state, step, candidate if accepted else best),
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


def _failed(
    state: State, shop: Workshop, candidate: Attempt, verdict: Verdict, node: Node
) -> State:
    """Record the candidate's failure; stop the run if it is not the candidate's."""
    summary = verdict.evidence.summary
    if not verdict.status.is_candidates_fault:
        reason = "; ".join(dict.fromkeys((f"{verdict.status}: {summary}", *verdict.evidence.hints)))
        return {"stop": Stop(status=RunStatus.STOPPED, reason=reason, node=node)}
    failed: Attempt = {
        **candidate,
        "status": verdict.status,
        "verdict": shop.folder.store.put_model(verdict),
    }
    step = step_of(failed, Decision.FAILED, summary)
    return {"candidate": failed, "steps": record(shop, state, step)}


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


def _candidate(state: State) -> Attempt:
    candidate = state.get("candidate")
    if candidate is None:
        raise RuntimeError("the graph is wired wrongly: there is no candidate to judge")
    return candidate


def _verified(state: State, shop: Workshop) -> Attempt:
    """The candidate, which must have passed: its own verdict says so, not only the state."""
    candidate = _candidate(state)
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
