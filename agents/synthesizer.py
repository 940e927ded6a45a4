"""The synthesizer: a complete first kernel for a spec."""

from cutegen.agents.ask import Answer, Chat, ask
from cutegen.agents.reply import Unsupported, WholeKernel, parse_kernel
from cutegen.agents.request import SynthesisRequest


def synthesize(model: Chat, request: SynthesisRequest) -> Answer[WholeKernel | Unsupported]:
    """Ask for a whole kernel, or for the name of the operation that prevents one."""
    return ask(model, request, parse_kernel)
