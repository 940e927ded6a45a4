"""The profile tuner: changes of parameters, with the profile at hand."""

from cutegen.agents.ask import Answer, Chat, ask
from cutegen.agents.reply import OutOfIdeas, Patch, ReplyError
from cutegen.agents.request import TuningRequest
from cutegen.agents.revision import Revision, revise
from cutegen.agents.tuning_reply import StructureAtFault, Variants, parse_tuning
from cutegen.edits import derive_edits
from cutegen.frozen import Frozen
from cutegen.retuning import with_constants
from cutegen.structure import describe_change, fingerprint

_NO_HAND_BACK = (
    "the structure cannot be handed back now: propose other parameters, or answer "
    "`OUT_OF_IDEAS: why`"
)


class Tuning(Frozen):
    """Variants of a kernel that differ in numbers; of several the fastest is to be kept."""

    variants: tuple[Revision, ...]


def propose_tuning(
    model: Chat, request: TuningRequest
) -> Answer[Tuning | StructureAtFault | OutOfIdeas]:
    """Ask for a change of parameters of a verified kernel; one of its structure is refused."""

    def parse(text: str) -> Tuning | StructureAtFault | OutOfIdeas:
        reply = parse_tuning(text)
        if isinstance(reply, OutOfIdeas):
            return reply
        if isinstance(reply, StructureAtFault):
            if not request.may_hand_back:
                raise ReplyError(_NO_HAND_BACK)
            return reply
        patches = [reply] if isinstance(reply, Patch) else _patches(reply, request.source)
        revisions = {r.source: r for r in (revise(patch, request.source) for patch in patches)}
        for revision in revisions.values():
            _keep_structure(request.source, revision)
        return Tuning(variants=tuple(revisions.values()))

    return ask(model, request, parse)


def _patches(reply: Variants, source: str) -> list[Patch]:
    """Each variant as a patch of the source that the tuner was shown."""
    return [
        Patch(
            intent=f"{reply.intent}: {variant.label}",
            expected=reply.expected,
            edits=variant.edits or derive_edits(source, with_constants(source, variant.constants)),
        )
        for variant in reply.variants
    ]


def _keep_structure(source: str, revision: Revision) -> None:
    """Refuse a change that is not one of parameters.

    Raises:
        ReplyError: The fingerprint's features differ.
    """
    old, new = fingerprint(source), fingerprint(revision.source)
    if not new.same_structure(old):
        raise ReplyError(
            f"`{revision.intent}` changes the structure ({describe_change(old, new)}), and you "
            "tune parameters only: change numbers and what follows from them"
        )
