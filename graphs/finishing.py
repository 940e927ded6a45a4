"""The last node: the winner measured once more, and the result written down."""

import platform
from typing import Literal, cast

import torch
from pydantic import JsonValue

from cutegen.events import Finished
from cutegen.execution.protocol import MeasurementJob
from cutegen.graphs.state import Attempt, State
from cutegen.graphs.workshop import Workshop
from cutegen.measurement.environment import git_commit
from cutegen.measurement.timing import Measurement, MeasurementState
from cutegen.result import BEST_FILE, RESULT_FILE, BestKernel, RunResult, RunStatus
from cutegen.store import write_atomically


def finish(state: State, shop: Workshop) -> State:
    """Write ``best.cu`` and ``result.json``."""
    best = state.get("best")
    measurement = _measured_again(shop, best) if best else None
    status, reason = _ending(state, shop.settings.budget.target)
    usage = shop.folder.ledger.usage()
    result = RunResult(
        status=status,
        run_id=shop.run_id,
        run_dir=shop.folder.path.resolve(),
        spec=shop.spec.id,
        spec_name=shop.spec.name,
        best=_best_kernel(shop, best, measurement) if best and measurement else None,
        steps=shop.history,
        reason=reason,
        executor=shop.settings.executor,
        model=shop.settings.model_names,
        method=shop.settings.method,
        seconds=round(state.get("wall_s", 0.0), 3),
        model_calls=usage.calls,
        tokens=usage.tokens,
        cost_usd=usage.cost_usd,
        uncounted_calls=usage.uncounted,
        environment=_environment(shop, best, measurement),
    )
    write_atomically(shop.folder.path / RESULT_FILE, result.model_dump_json(indent=2))
    shop.emit(
        Finished(
            status=status,
            reason=reason,
            best=best["id"] if best else "",
            speedup=result.best.speedup if result.best else None,
            steps=len(shop.history),
        )
    )
    return {"status": status, "reason": reason}


def _ending(state: State, target: float) -> tuple[RunStatus, str]:
    stop = state.get("stop")
    if stop:
        return RunStatus(stop["status"]), stop["reason"]
    if not state.get("best"):
        return RunStatus.FAILED, "no candidate was verified; the steps say why each one failed"
    if state.get("reached"):
        return RunStatus.SUCCEEDED, f"the best reaches {target:.0%} of the roofline, as asked"
    if not state.get("rounds_left"):
        return RunStatus.SUCCEEDED, "every step of the budget was used"
    return RunStatus.SUCCEEDED, f"{state.get('why', '')}, and nothing is left to tune"


def _measured_again(shop: Workshop, best: Attempt) -> Measurement:
    """The winner's measurement, on a GPU a new one in fresh processes."""
    known = shop.measurement(best)
    if known.state is not MeasurementState.MEASURED:
        return known
    job = MeasurementJob(spec=shop.spec, source=shop.source(best), seed=shop.settings.seed)
    again = shop.executor.measure(job)
    # a time that the winner cannot show again is not claimed, but a busy GPU refutes nothing
    return known if again.state is MeasurementState.UNMEASURED else again


def _best_kernel(shop: Workshop, best: Attempt, measurement: Measurement) -> BestKernel:
    source = shop.source(best)
    path = shop.folder.path.resolve() / BEST_FILE
    write_atomically(path, source)
    return BestKernel(
        id=best["id"],
        source_path=path,
        verdict=shop.verdict(best),
        speedup=measurement.speedup,
        speedup_reason=measurement.reason if measurement.speedup is None else "",
        timing=measurement.candidate,
        baselines=measurement.baselines,
        roofline=measurement.roofline,
        roofline_fraction=measurement.roofline.fraction if measurement.roofline else None,
        executor=cast("Literal['cuda', 'emulated']", shop.settings.executor),
    )


def _environment(
    shop: Workshop, best: Attempt | None, measurement: Measurement | None
) -> dict[str, JsonValue]:
    facts: dict[str, JsonValue] = {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "arch": shop.settings.arch,
        "seed": shop.settings.seed,
        "commit": git_commit(),
    }
    if best:
        facts |= shop.static_build(shop.source(best)).versions
    if measurement and measurement.environment:
        facts["measurement"] = measurement.environment
    return facts
