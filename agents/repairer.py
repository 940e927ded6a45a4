"""The repairer: mends a candidate and keeps its structure, by small anchored edits.

For an ablation it sends whole files instead, which no budget of lines bounds.
"""

from cutegen.agents.ask import Answer, Chat, ask
from cutegen.agents.reply import OutOfIdeas, ReplyError
from cutegen.agents.request import RepairRequest
from cutegen.agents.revision import Revision, parse_revision, parse_rewrite
from cutegen.agents.structure_guard import lowered_structure

DEFAULT_BUDGET = 60
"""Lines a repair may remove and add together; a larger change is a redesign, not a repair."""


def repair(
    model: Chat,
    request: RepairRequest,
    *,
    budget: int = DEFAULT_BUDGET,
    allow_simplify: bool = False,
) -> Answer[Revision | OutOfIdeas]:
    """Ask for a repair, and refuse one that is too large or lowers the structure.

    Args:
        model: The chat model.
        request: The faulty source, its verdict and the diagnosed causes.
        budget: Most lines that may be removed and added together.
        allow_simplify: Accept a repair that lowers the structure.
    """

    def parse(text: str) -> Revision | OutOfIdeas:
        read = parse_rewrite if request.rewrite else parse_revision
        revision = read(text, request.source)
        if isinstance(revision, OutOfIdeas):
            return revision
        if not request.rewrite and revision.changed_lines > budget:
            raise ReplyError(
                f"the repair changes {revision.changed_lines} lines, and at most {budget} are "
                "allowed: change only what the diagnosis calls for"
            )
        loss = "" if allow_simplify else lowered_structure(request.source, revision.source)
        if loss:
            raise ReplyError(
                f"the repair lowers the structure ({loss}): mend the fault and keep the design"
            )
        return revision

    return ask(model, request, parse)
