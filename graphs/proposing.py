"""The nodes in which agents speak: synthesize, diagnose, repair, and the two optimizers."""

from cutegen.agents.ask import LostStep
from cutegen.agents.diagnostician import diagnose as ask_diagnostician
from cutegen.agents.profile_tuner import Tuning, propose_tuning
from cutegen.agents.repairer import repair as ask_repairer
from cutegen.agents.reply import Diagnosis, OutOfIdeas, Unsupported
from cutegen.agents.request import (
    DiagnosisRequest,
    RepairRequest,
    StructuralRequest,
    SynthesisRequest,
    TuningRequest,
)
from cutegen.agents.revision import Revision
from cutegen.agents.structural_optimizer import propose_structure
from cutegen.agents.synthesizer import synthesize as ask_synthesizer
from cutegen.agents.tuning_reply import StructureAtFault
from cutegen.events import Diagnosed, NothingProposed, Profiled
from cutegen.graphs.gate import handed_back
from cutegen.graphs.standing import open_predicate
from cutegen.graphs.state import Attempt, State, Stop
from cutegen.graphs.steps import nothing_proposed, propose
from cutegen.graphs.variants import propose_variants
from cutegen.graphs.workshop import Workshop
from cutegen.history import Decision, Step, StepKind
from cutegen.measurement.profile import Profile
from cutegen.result import RunStatus

SYNTHESIZER = "synthesizer"
REPAIRER = "repairer"
STRUCTURAL_OPTIMIZER = "structural_optimizer"
PROFILE_TUNER = "profile_tuner"
DIAGNOSTICIAN = "diagnostician"


def synthesize(state: State, shop: Workshop) -> State:
    """Ask for a first kernel, with what earlier ones came to in mind."""
    failed = tuple(step for step in shop.history if step.decision is Decision.FAILED)
    request = SynthesisRequest(
        spec=shop.spec, header=shop.header, arch=shop.settings.arch, failed=failed
    )
    value = ask_synthesizer(shop.chat(SYNTHESIZER), request).value
    update: State = {"syntheses": state.get("syntheses", 0) + 1, "candidate": None}
    if isinstance(value, Unsupported):
        reason = f"{value.operation}: {value.reason}"
        update["stop"] = Stop(status=RunStatus.UNSUPPORTED, reason=reason, node="synthesize")
        return update
    if isinstance(value, LostStep):
        return update | nothing_proposed(
            shop,
            state,
            agent=SYNTHESIZER,
            kind=StepKind.SYNTHESIS,
            decision=Decision.FAILED,
            reason=value.reason,
        )
    return update | propose(
        shop, state, value.source, agent=SYNTHESIZER, kind=StepKind.SYNTHESIS, intent=value.intent
    )


def diagnose(state: State, shop: Workshop) -> State:
    """Ask why the candidate failed."""
    candidate = _failed_candidate(state)
    request = DiagnosisRequest(
        spec=shop.spec,
        header=shop.header,
        arch=shop.settings.arch,
        source=shop.source(candidate),
        verdict=shop.verdict(candidate),
        history=shop.history,
    )
    value = ask_diagnostician(shop.chat(DIAGNOSTICIAN), request).value
    if isinstance(value, OutOfIdeas):
        shop.emit(NothingProposed(agent=DIAGNOSTICIAN, reason=value.reason))
        return {"candidate": {**candidate, "hopeless": True}}
    if isinstance(value, LostStep):  # the repairer still has the verdict to go by
        shop.emit(NothingProposed(agent=DIAGNOSTICIAN, reason=value.reason))
        value = Diagnosis(causes=())
    else:
        first = value.causes[0]
        shop.emit(Diagnosed(candidate=candidate["id"], cause=first.cause, causes=len(value.causes)))
    return {"candidate": {**candidate, "diagnosis": shop.folder.store.put_model(value)}}


def repair(state: State, shop: Workshop) -> State:
    """Ask for a small patch of the failed candidate."""
    candidate = _failed_candidate(state)
    diagnosis = shop.folder.store.get_model(candidate["diagnosis"], Diagnosis)
    request = RepairRequest(
        spec=shop.spec,
        header=shop.header,
        arch=shop.settings.arch,
        source=shop.source(candidate),
        verdict=shop.verdict(candidate),
        causes=diagnosis.causes,
        history=shop.history,
        rewrite=shop.settings.method.repair == "rewrite",
    )
    value = ask_repairer(
        shop.chat(REPAIRER), request, allow_simplify=shop.settings.allow_simplify
    ).value
    repairs = candidate["repairs"] + 1
    if isinstance(value, Revision):
        update = propose(
            shop,
            state,
            value.source,
            agent=REPAIRER,
            kind=StepKind(candidate["kind"]),
            intent=value.intent,
            expected=value.expected,
            parent=candidate["id"],
            repairs=repairs,
        )
    else:
        hopeless = isinstance(value, OutOfIdeas)
        update = nothing_proposed(
            shop,
            state,
            agent=REPAIRER,
            kind=StepKind.REPAIR,
            decision=Decision.NO_PROPOSAL if hopeless else Decision.FAILED,
            reason=value.reason,
        )
        candidate = {**candidate, "hopeless": hopeless}
    if not update["candidate"]:  # the candidate at hand is still the failed one
        update["candidate"] = {**candidate, "repairs": repairs}
    return update


def structural_optimizer(state: State, shop: Workshop) -> State:
    """Ask for one change of a verified kernel's design."""
    source = shop.source(_base(state, shop))
    request = StructuralRequest(
        spec=shop.spec,
        header=shop.header,
        arch=shop.settings.arch,
        source=source,
        fingerprint=shop.design(source).fingerprint,
        history=shop.history,
        evidence=said.reason if (said := handed_back(_counted(state, shop))) else "",
    )
    value = propose_structure(shop.chat(STRUCTURAL_OPTIMIZER), request).value
    return _optimized(state, shop, value, STRUCTURAL_OPTIMIZER, StepKind.STRUCTURAL)


def profile(state: State, shop: Workshop) -> State:
    """Explain where a verified kernel's time goes. Refuses while the predicate is false."""
    open_predicate(_counted(state, shop), shop.settings)
    best = _base(state, shop)
    if state.get("profile_of") == best["id"]:  # counting takes seconds, and nothing has changed
        kept = state["profile"]
        found = shop.folder.store.get_model(kept, Profile)
    else:
        found = shop.profile(shop.source(best), shop.measurement(best))
        kept = shop.folder.store.put_model(found)
    shop.emit(
        Profiled(
            candidate=best["id"],
            source=found.source,
            bottleneck=found.bottleneck,
            evidence=found.evidence,
            profile=kept,
        )
    )
    return {"profile": kept, "profile_of": best["id"]}


def profile_tuner(state: State, shop: Workshop) -> State:
    """Ask for a change of parameters, with the profile at hand where the run makes any."""
    source = shop.source(_base(state, shop))
    profiled = _profile(state, shop)
    request = TuningRequest(
        spec=shop.spec,
        header=shop.header,
        arch=shop.settings.arch,
        source=source,
        fingerprint=shop.design(source).fingerprint,
        profile=profiled,
        history=shop.history,
        may_hand_back=profiled is not None and handed_back(_counted(state, shop)) is None,
    )
    value = propose_tuning(shop.chat(PROFILE_TUNER), request).value
    return _optimized(state, shop, value, PROFILE_TUNER, StepKind.TUNING)


def _optimized(
    state: State,
    shop: Workshop,
    value: Revision | Tuning | StructureAtFault | OutOfIdeas | LostStep,
    agent: str,
    kind: StepKind,
) -> State:
    update: State = {"rounds": state.get("rounds", 0) + 1}
    if isinstance(value, (Revision, Tuning)):
        variants = value.variants if isinstance(value, Tuning) else (value,)
        parent = _base(state, shop)["id"]
        return update | propose_variants(
            shop, state, variants, agent=agent, kind=kind, parent=parent
        )
    decision, reason = _declined(value)
    return update | nothing_proposed(
        shop, state, agent=agent, kind=kind, decision=decision, reason=reason
    )


def _declined(value: StructureAtFault | OutOfIdeas | LostStep) -> tuple[Decision, str]:
    """What a turn without a proposal comes to, and why there is none."""
    match value:
        case StructureAtFault():
            return Decision.HANDED_BACK, value.evidence
        case OutOfIdeas():
            return Decision.NO_PROPOSAL, value.reason
        case LostStep():
            return Decision.FAILED, value.reason


def _counted(state: State, shop: Workshop) -> tuple[Step, ...]:
    """The steps that the predicate reads."""
    return shop.history[state.get("counted_from", 0) :]


def _profile(state: State, shop: Workshop) -> Profile | None:
    if shop.settings.method.profiling == "never":
        return None
    return shop.folder.store.get_model(state["profile"], Profile)


def _base(state: State, shop: Workshop) -> Attempt:
    """The verified kernel that the next step starts from."""
    last = shop.settings.method.start == "last"
    best = state.get("last") if last else state.get("best")
    if best is None:
        raise RuntimeError("the graph is wired wrongly: an optimizer runs before any kernel passed")
    return best


def _failed_candidate(state: State) -> Attempt:
    candidate = state.get("candidate")
    if candidate is None or not candidate["verdict"]:
        raise RuntimeError("the graph is wired wrongly: nothing has failed that could be mended")
    return candidate
