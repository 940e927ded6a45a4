"""The playbook as the tuner: numbers in the order that the profile asks for, or the way back."""

from typing import Any

from cutegen.agents.models.playbook.design import Move
from cutegen.agents.models.playbook.effects import rank
from cutegen.agents.models.playbook.library import NOT_OURS, Playbook
from cutegen.agents.models.playbook.writing import at_fault, out_of_ideas, variants
from cutegen.agents.request import TuningRequest
from cutegen.agents.tuning_reply import MOST_VARIANTS
from cutegen.measurement.profile import Bottleneck, Reading


def tuning_of(playbook: Playbook[Any], request: TuningRequest) -> str:
    """The first change of numbers that was not tried, in the order the profile asks for.

    Other values of the same numbers go along as variants. Where readings of the profile say that
    no number can cure them, the structure is handed back, if it may be.
    """
    design = playbook.design_of(request.source)
    profile = request.profile
    if design is None:
        return out_of_ideas(NOT_OURS)
    moves: list[Move] = list(design.tuning_moves())
    if profile is not None:
        if profile.bottleneck is Bottleneck.AT_THE_LIMIT:
            return out_of_ideas(f"the kernel is at the limit: {profile.evidence}")
        if profile.structural and request.may_hand_back:
            return at_fault("; ".join(map(_told, profile.structural)))
        moves.sort(key=lambda move: rank(move.effect, profile.bottleneck))
    sources = {move.intent: playbook.render(design.after(move)) for move in moves}
    left = [m for m in moves if not playbook.tried(m.intent, sources[m.intent], request.history)]
    alike = [move for move in left if move.changes.keys() == left[0].changes.keys()]
    if len(alike) < 2:  # noqa: PLR2004 - one is a patch
        return playbook.move(design, request.source, left, request.history)
    chosen = alike[:MOST_VARIANTS]
    numbers = ", ".join(name.replace("_", " ") for name in chosen[0].changes)
    return variants(
        f"another {numbers}",
        chosen[0].expected,
        request.source,
        {move.intent: sources[move.intent] for move in chosen},
    )


def _told(reading: Reading) -> str:
    unit = f" {reading.unit}" if reading.unit else ""
    return f"{reading.metric} is {reading.value:.4g}{unit}: {reading.rule}"
