"""The playbook in its five roles, through the functions that the graph calls."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from cutegen.agents.diagnostician import diagnose
from cutegen.agents.models.playbook.library import playbook_for
from cutegen.agents.models.playbook.matmul import MatmulDesign
from cutegen.agents.models.playbook.model import PlaybookChatModel
from cutegen.agents.profile_tuner import Tuning, propose_tuning
from cutegen.agents.repairer import repair
from cutegen.agents.reply import OutOfIdeas, Unsupported, WholeKernel
from cutegen.agents.request import (
    DiagnosisRequest,
    RepairRequest,
    StructuralRequest,
    SynthesisRequest,
    TuningRequest,
)
from cutegen.agents.structural_optimizer import propose_structure
from cutegen.agents.synthesizer import synthesize
from cutegen.agents.tuning_reply import StructureAtFault
from cutegen.history import Decision, Step, StepKind
from cutegen.kernel import candidate_id
from cutegen.measurement.profile import Bottleneck, Profile, Reading
from cutegen.spec import KernelSpec
from cutegen.status import Status
from cutegen.structure import fingerprint
from cutegen.verification.verdict import Evidence, Verdict

Asked = Callable[[KernelSpec], dict[str, Any]]


@pytest.fixture
def running_sum() -> KernelSpec:
    return KernelSpec.from_callable(
        lambda x: torch.cumsum(x, 1), [torch.randn(8, 8)], name="running_sum"
    )


@pytest.fixture
def convolution() -> KernelSpec:
    return KernelSpec.from_module(
        torch.nn.Conv2d(2, 2, 3), [torch.randn(1, 2, 8, 8)], name="convolution"
    )


def step(spec: KernelSpec, kind: StepKind, intent: str, source: str, decision: Decision) -> Step:
    return Step(
        index=0,
        kind=kind,
        agent="playbook",
        intent=intent,
        candidate=candidate_id(source, spec.id),
        decision=decision,
    )


def first_source(model: PlaybookChatModel, spec: KernelSpec, asked: Asked) -> str:
    answer = synthesize(model, SynthesisRequest(**asked(spec))).value
    assert isinstance(answer, WholeKernel)
    return answer.source


def climb(
    model: PlaybookChatModel, spec: KernelSpec, asked: Asked, decision: Decision
) -> tuple[list[str], list[str]]:
    """Intents and sources until the optimizer is out of ideas, when all end in ``decision``."""
    best = first_source(model, spec, asked)
    intents: list[str] = []
    sources = [best]
    history: tuple[Step, ...] = ()
    while True:
        request = StructuralRequest(
            **asked(spec), source=best, fingerprint=fingerprint(best), history=history
        )
        answer = propose_structure(model, request).value
        if isinstance(answer, OutOfIdeas):
            return intents, sources
        intents.append(answer.intent)
        sources.append(answer.source)
        history += (step(spec, StepKind.STRUCTURAL, answer.intent, answer.source, decision),)
        best = answer.source if decision is Decision.ACCEPTED else best


def test_the_elementwise_ladder(model: PlaybookChatModel, silu: KernelSpec, asked: Asked) -> None:
    intents, sources = climb(model, silu, asked, Decision.ACCEPTED)
    words = ("128 bits", "several independent", "streaming", "persistent")
    assert [word in intent for word, intent in zip(words, intents, strict=True)] == [True] * 4
    assert len(set(sources)) == len(sources)


def test_the_matmul_ladder(model: PlaybookChatModel, product: KernelSpec, asked: Asked) -> None:
    intents, sources = climb(model, product, asked, Decision.ACCEPTED)
    words = ("shared memory", "register tile", "double-buffer", "two to a multiprocessor", "halves")
    assert [word in intent for word, intent in zip(words, intents, strict=True)] == [True] * 5
    assert len(set(sources)) == len(sources)


def test_a_rejected_move_is_not_tried_again(
    model: PlaybookChatModel, product: KernelSpec, asked: Asked
) -> None:
    intents, _ = climb(model, product, asked, Decision.REJECTED)
    assert len(intents) == len(set(intents)) == 3


@pytest.mark.parametrize("name", ["silu", "product"])
def test_first_kernels_differ_until_none_is_left(
    model: PlaybookChatModel, name: str, asked: Asked, request: Any
) -> None:
    spec = request.getfixturevalue(name)
    failed: tuple[Step, ...] = ()
    sources = []
    answer = synthesize(model, SynthesisRequest(**asked(spec))).value
    while isinstance(answer, WholeKernel):
        sources.append(answer.source)
        failed += (step(spec, StepKind.SYNTHESIS, answer.intent, answer.source, Decision.FAILED),)
        answer = synthesize(model, SynthesisRequest(**asked(spec), failed=failed)).value
    assert len(sources) == len(set(sources)) >= 3
    assert isinstance(answer, Unsupported)
    assert answer.operation == spec.trace[0].op
    assert "have failed" in answer.reason


@pytest.mark.parametrize(
    ("name", "operation"), [("running_sum", "cumsum"), ("convolution", "conv2d")]
)
def test_an_operation_without_design_is_named(
    model: PlaybookChatModel, name: str, operation: str, asked: Asked, request: Any
) -> None:
    spec = request.getfixturevalue(name)
    answer = synthesize(model, SynthesisRequest(**asked(spec))).value
    assert isinstance(answer, Unsupported)
    assert operation in answer.operation


def test_only_the_synthesizer_says_unsupported(
    model: PlaybookChatModel, silu: KernelSpec, running_sum: KernelSpec, asked: Asked
) -> None:
    source = first_source(model, silu, asked)
    shown = {"source": source, "fingerprint": fingerprint(source)}
    profile = Profile(source="static", bottleneck=Bottleneck.MEMORY, evidence="80 % of the roof")
    verdict = Verdict(
        status=Status.WRONG_VALUES, executor="emulated", evidence=Evidence(summary="wrong")
    )
    failure = {"source": source, "verdict": verdict}
    common = asked(running_sum)
    answers = [
        propose_structure(model, StructuralRequest(**common, **shown)).value,
        propose_tuning(model, TuningRequest(**common, **shown, profile=profile)).value,
        diagnose(model, DiagnosisRequest(**common, **failure)).value,
        repair(model, RepairRequest(**common, **failure, causes=())).value,
    ]
    for answer in answers:
        assert isinstance(answer, OutOfIdeas)
        assert "cumsum" in answer.reason


def tune(
    model: PlaybookChatModel, spec: KernelSpec, asked: Asked, source: str, bottleneck: Bottleneck
) -> list[str]:
    """Intents of all tuning moves when none is accepted, those of one answer in one line."""
    profile = Profile(source="static", bottleneck=bottleneck, evidence="as the test says")
    history: tuple[Step, ...] = ()
    told: list[str] = []
    while True:
        request = TuningRequest(
            **asked(spec),
            source=source,
            fingerprint=fingerprint(source),
            profile=profile,
            history=history,
        )
        answer = propose_tuning(model, request).value
        if isinstance(answer, OutOfIdeas):
            return told
        assert isinstance(answer, Tuning)
        for variant in answer.variants:
            assert fingerprint(variant.source).same_structure(fingerprint(source))
            taken = step(spec, StepKind.TUNING, variant.intent, variant.source, Decision.REJECTED)
            history += (taken,)
        told.append(" | ".join(v.intent.rpartition(": ")[2] for v in answer.variants))


def test_the_bottleneck_orders_the_tuning(
    model: PlaybookChatModel, silu: KernelSpec, product: KernelSpec, asked: Asked
) -> None:
    _, sources = climb(model, silu, asked, Decision.ACCEPTED)
    bottlenecks = (Bottleneck.MEMORY, Bottleneck.SPILLS, Bottleneck.AT_THE_LIMIT)
    streams = {b: tune(model, silu, asked, sources[-1], b) for b in bottlenecks}
    assert streams[Bottleneck.MEMORY][:2] == [
        "8 vector loads in flight per thread | 2 vector loads in flight per thread",
        "16 blocks per multiprocessor | 4 blocks per multiprocessor",
    ]
    assert streams[Bottleneck.SPILLS][:2] == [
        "128 threads per block | 512 threads per block",
        "2 vector loads in flight per thread | 8 vector loads in flight per thread",
    ]
    assert streams[Bottleneck.AT_THE_LIMIT] == []
    _, sources = climb(model, product, asked, Decision.ACCEPTED)
    bottlenecks = (Bottleneck.LATENCY, Bottleneck.OCCUPANCY)
    tiles = {b: tune(model, product, asked, sources[3], b) for b in bottlenecks}
    deep, flat = "a block tile 32 deep in K", "a block tile 8 deep in K"
    assert tiles[Bottleneck.LATENCY][0] == f"{deep} | {flat}"
    assert tiles[Bottleneck.OCCUPANCY][0] == f"{flat} | {deep}"
    tuned = tune(model, product, asked, sources[-1], Bottleneck.COMPUTE)
    assert tuned[0].startswith("sums promoted every 2 tiles of K")


def test_tuning_never_returns_to_a_source_that_was_judged(
    model: PlaybookChatModel, product: KernelSpec, asked: Asked
) -> None:
    playbook = playbook_for(product)
    shallow = MatmulDesign(tiled=True, registers=True, prefetch=True)
    deep = shallow.model_copy(update={"block_k": 8})
    before, source = (playbook.render(design) for design in (shallow, deep))  # type: ignore[arg-type]  # a product's playbook has matmul designs
    history = (step(product, StepKind.STRUCTURAL, "prefetch", before, Decision.ACCEPTED),)
    request = TuningRequest(
        **asked(product),
        source=source,
        fingerprint=fingerprint(source),
        profile=Profile(source="static", bottleneck=Bottleneck.LATENCY, evidence="stalls"),
        history=history,
    )
    answer = propose_tuning(model, request).value
    assert isinstance(answer, Tuning)
    assert before not in [variant.source for variant in answer.variants]


def test_a_structure_that_no_number_cures_is_handed_back_once(
    model: PlaybookChatModel, product: KernelSpec, asked: Asked
) -> None:
    source = first_source(model, product, asked)
    sectors = Reading(
        metric="bytes per sector", value=4, unit="bytes", rule="32 are moved", rule_source="a test"
    )
    profile = Profile(
        source="ncu", bottleneck=Bottleneck.MEMORY, evidence="traffic", structural=(sectors,)
    )
    request = TuningRequest(
        **asked(product),
        source=source,
        fingerprint=fingerprint(source),
        profile=profile,
        may_hand_back=True,
    )
    assert propose_tuning(model, request).value == StructureAtFault(
        evidence="bytes per sector is 4 bytes: 32 are moved"
    )
    closed = request.model_copy(update={"may_hand_back": False})
    blind = request.model_copy(update={"may_hand_back": False, "profile": None})
    for other in (closed, blind):
        assert isinstance(propose_tuning(model, other).value, Tuning)


def test_the_same_request_gets_the_same_reply(
    model: PlaybookChatModel, silu: KernelSpec, asked: Asked
) -> None:
    request = SynthesisRequest(**asked(silu))
    first, second = (synthesize(m, request) for m in (model, PlaybookChatModel()))
    assert first.value == second.value
    assert model._llm_type == "cutegen-playbook"  # noqa: SLF001 - how LangChain identifies a model
