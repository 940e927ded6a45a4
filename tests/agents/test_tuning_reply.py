"""The tuner's own forms of reply."""

import pytest

from cutegen.agents.reply import OutOfIdeas, Patch, ReplyError
from cutegen.agents.tuning_reply import StructureAtFault, Variants, parse_tuning

EDIT = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"
HEAD = "INTENT: fewer threads\nEXPECTED: more blocks\n"


def test_variants_of_constants_and_of_edits() -> None:
    reply = parse_tuning(
        f"{HEAD}\nVARIANT: kThreads = 128, kStages=4\n**VARIANT 2:** `kThreads: 64`\n"
        f"- VARIANT: half of the tile\n{EDIT}"
    )
    assert isinstance(reply, Variants)
    assert (reply.intent, reply.expected) == ("fewer threads", "more blocks")
    first, second, third = reply.variants
    assert first.constants == {"kThreads": 128, "kStages": 4}
    assert second.constants == {"kThreads": 64}
    assert (third.label, third.constants, len(third.edits)) == ("half of the tile", {}, 1)


def test_the_other_replies() -> None:
    assert isinstance(parse_tuning(HEAD + EDIT), Patch)
    assert parse_tuning("OUT_OF_IDEAS: none\n") == OutOfIdeas(reason="none")
    assert parse_tuning("STRUCTURE: it is\n") == StructureAtFault(evidence="it is")
    assert isinstance(parse_tuning(f"STRUCTURE: as it was\n{HEAD}{EDIT}"), Patch)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (HEAD + "VARIANT: kThreads = 1\n" * 5, "5 variants; send at most 4"),
        ("VARIANT: kThreads = 1\nVARIANT: kThreads = 2\n", "no `INTENT:`"),
        (HEAD + "VARIANT: fewer threads\n", "no edit blocks below it"),
        (HEAD + "VARIANT: kThreads = many\n", "no edit blocks below it"),
        (HEAD + "VARIANT: kThreads = 1, kThreads = 2\n", "each once"),
        (HEAD + "VARIANT: a tile\n" + EDIT + EDIT.replace("=======", ""), "close every block"),
        ("STRUCTURE:\n", "names no evidence"),
        ("so be it\n", "no SEARCH/REPLACE block"),
    ],
)
def test_faults_are_named(reply: str, reason: str) -> None:
    with pytest.raises(ReplyError, match=reason):
        parse_tuning(reply)
