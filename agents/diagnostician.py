"""The diagnostician: why a candidate failed, as ranked causes."""

from cutegen.agents.ask import Answer, Chat, ask
from cutegen.agents.reply import Diagnosis, OutOfIdeas, parse_diagnosis
from cutegen.agents.request import Cause, DiagnosisRequest
from cutegen.kernel import args_header
from cutegen.spec import KernelSpec
from cutegen.toolchain.nvcc import DEFAULT_ARCH
from cutegen.verification.verdict import Verdict


def diagnose(model: Chat, request: DiagnosisRequest) -> Answer[Diagnosis | OutOfIdeas]:
    """Ask for causes, most likely first, each with a line and the smallest change to test it."""
    return ask(model, request, parse_diagnosis)


def second_opinion(
    model: Chat, spec: KernelSpec, source: str, verdict: Verdict, arch: str = DEFAULT_ARCH
) -> tuple[Cause, ...]:
    """What a model thinks is wrong with a kernel outside any run; empty when it cannot tell."""
    request = DiagnosisRequest(
        spec=spec, header=args_header(spec), arch=arch, source=source, verdict=verdict
    )
    answer = diagnose(model, request).value
    return answer.causes if isinstance(answer, Diagnosis) else ()
