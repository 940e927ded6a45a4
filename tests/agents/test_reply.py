"""Replies as models really write them: wrapped in prose, fences, bold marks and reasoning."""

import pytest

from cutegen.agents.reply import (
    Diagnosis,
    OutOfIdeas,
    Patch,
    ReplyError,
    Unsupported,
    WholeKernel,
    parse_diagnosis,
    parse_kernel,
    parse_patch,
)
from cutegen.agents.request import Cause
from cutegen.agents.revision import Revision, parse_revision
from cutegen.edits import Edit, EditRefusedError

KERNEL = """\
#include "cutegen_args.h"
extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {
  return cudaGetLastError();
}
"""
PLAIN = f"INTENT: plain\n```cuda\n{KERNEL}```\n"
HEADER = '```cpp\nextern "C" cudaError_t cutegen_launch(CutegenArgs const* a);\n```\n'
BLOCK = "<<<<<<< SEARCH\nint a;\n=======\nint b;\n>>>>>>> REPLACE\n"
PATCH = f"INTENT: rename\nEXPECTED: nothing\n{BLOCK}"
EDIT = Edit(search="int a;\n", replace="int b;\n")


@pytest.mark.parametrize(
    "reply",
    [
        PLAIN,
        PLAIN.rstrip(),
        PLAIN.replace("\n", "\r\n"),
        f"Here it is.\n\n{PLAIN}\nI hope that it helps.",
        PLAIN.replace("INTENT:", "**INTENT:**"),
        PLAIN.replace("INTENT:", "## Intent:"),
        PLAIN.replace("```cuda", "```cpp title=kernel.cu"),
        PLAIN.replace("```", "````"),
        f"<think>\n```cuda\n{KERNEL}// draft\n```\nNo.\n</think>\n{PLAIN}",
        f"```cuda\n{KERNEL}// the server cut the opening tag\n```\n</think>\n{PLAIN}",
        PLAIN.replace("```cuda", "<think>Now the code.</think>\n```cuda"),
        f"The header says:\n{HEADER}So:\n{PLAIN}",
        f"{PLAIN}Again:\n```cuda\n{KERNEL}```\n",
        f"{PLAIN}To build it:\n```bash\nnvcc kernel.cu\n```\n",
        f"{PLAIN}It is not UNSUPPORTED: nothing is.\n",
        f"INTENT: plain\n<kernel>\n{KERNEL}</kernel>\n",
        f'INTENT: plain\n<file name="k.cu">\n{KERNEL}</file>\nDone.',
        f"<answer>\n{PLAIN}</answer>\n",
        f"[THINK]```cuda\n{KERNEL}// draft\n```[/THINK]\n{PLAIN}",
        f"◁think▷```cuda\n{KERNEL}// draft\n```◁/think▷\n{PLAIN}",
        f"<reasoning>tiles?</reasoning>\n{PLAIN}",
    ],
)
def test_a_whole_kernel(reply: str) -> None:
    assert parse_kernel(reply) == WholeKernel(intent="plain", source=KERNEL)


@pytest.mark.parametrize(
    ("reply", "operation", "reason"),
    [
        ("UNSUPPORTED: aten.sort.default: no design sorts", "aten.sort.default", "no design sorts"),
        ("**UNSUPPORTED: aten::fft: too hard**", "aten::fft", "too hard"),
        ("UNSUPPORTED: complex64", "complex64", "not said"),
    ],
)
def test_an_unsupported_operation(reply: str, operation: str, reason: str) -> None:
    assert parse_kernel(reply) == Unsupported(operation=operation, reason=reason)


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ("", "empty"),
        (" \r\n", "empty"),
        ("<think>Let me see", "reasoning only"),
        ("I would use tiles.", "no ```cuda block"),
        (PLAIN.removesuffix("```\n"), "not closed"),
        (HEADER, "no ```cuda block defines `cutegen_launch`"),
        (PLAIN.replace("cutegen_launch", "launch"), "no ```cuda block defines"),
        (f"{PLAIN}Or:\n{PLAIN.replace('plain', 'other').replace('a)', 'b)')}", "2 blocks"),
        (PATCH, "send the whole file"),
        (f"```cuda\n{BLOCK}```", "send the whole file"),
    ],
)
def test_what_is_no_whole_kernel(reply: str, fault: str) -> None:
    with pytest.raises(ReplyError, match=fault):
        parse_kernel(reply)


@pytest.mark.parametrize(
    "reply",
    [
        PATCH,
        PATCH.rstrip(),
        PATCH.replace("\n", "\r\n"),
        f"```\n{PATCH}```\n",
        f"INTENT: rename\nEXPECTED: nothing\n\n```cuda\n{BLOCK}```\nDone.",
        f"**INTENT**: rename\n\n- **EXPECTED:** nothing\n\n{BLOCK}",
        f"<thinking>{BLOCK}</thinking>{PATCH}",
        PATCH.replace("<<<<<<< SEARCH", "<<<<<<<SEARCH").replace("=======", "========"),
        f"{PATCH}OUT_OF_IDEAS: after this one\n",
        f"<answer>\n{PATCH}</answer>",
        f"First I think of this:\n```cuda\n{KERNEL}```\nbut better:\n{PATCH}",
    ],
)
def test_a_patch(reply: str) -> None:
    assert parse_patch(reply) == Patch(intent="rename", expected="nothing", edits=(EDIT,))


def test_several_edits_in_one_fence_and_a_deletion() -> None:
    deletion = "<<<<<<< SEARCH\nint c;\n=======\n>>>>>>> REPLACE\n"
    patch = parse_patch(f"INTENT: two\n```\n{BLOCK}{deletion}```")
    assert isinstance(patch, Patch)
    assert patch.edits == (EDIT, Edit(search="int c;\n", replace=""))


def test_out_of_ideas() -> None:
    expected = OutOfIdeas(reason="the copy is at the roof")
    assert parse_patch("OUT_OF_IDEAS: the copy is at the roof") == expected
    assert parse_patch("Well.\n**OUT_OF_IDEAS:** the copy is at the roof") == expected
    assert parse_diagnosis("OUT_OF_IDEAS: the copy is at the roof") == expected


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ("", "empty"),
        (PLAIN, "whole file"),
        ("INTENT: rename", "no SEARCH/REPLACE block"),
        (BLOCK, "no `INTENT:` line"),
        (PATCH.replace("=======\n", ""), "incomplete"),
        (PATCH.removesuffix(">>>>>>> REPLACE\n"), "incomplete"),
        (f"{PATCH}<<<<<<< SEARCH\nint c;\n", "close every block"),
        ("INTENT: x\n--- a\n+++ b\n@@ -1,2 +1,2 @@\n-int a;\n+int b;\n", "unified diff"),
    ],
)
def test_what_is_no_patch(reply: str, fault: str) -> None:
    with pytest.raises(ReplyError, match=fault):
        parse_patch(reply)


TWO = (
    Cause(cause="the guard is off by one", line=5, smallest_change="write < for <="),
    Cause(cause="the grid rounds down"),
)


@pytest.mark.parametrize(
    "reply",
    [
        (
            "CAUSE: the guard is off by one\nLINE: 5\nCHANGE: write < for <=\n"
            "CAUSE: the grid rounds down\n"
        ),
        (
            "1. **CAUSE:** the guard is off by one\n   **LINE:** 5-6\n"
            "   **CHANGE:** write < for <=\n\n2. **CAUSE:** the grid rounds down\n"
        ),
        (
            "I see.\n\n```\nCAUSE: the guard\n  is off by one\nLINE: line 5\nCHANGE: write <\n"
            "for <=\n```\n\n```\nCAUSE 2: the grid rounds down\nLINE: unknown\n```\nThat is all."
        ),
        (
            "### Cause:\nthe guard is off by one\nLine: 5\nChange: write < for <=\r\n"
            "### Cause: the grid rounds down"
        ),
    ],
)
def test_a_diagnosis(reply: str) -> None:
    assert parse_diagnosis(reply) == Diagnosis(causes=TWO)


@pytest.mark.parametrize("reply", ["The guard is off.", "CAUSE:\n", "CAUSE:\nLINE: 5"])
def test_what_is_no_diagnosis(reply: str) -> None:
    with pytest.raises(ReplyError, match="cause"):
        parse_diagnosis(reply)


def test_a_revision_has_the_new_source_and_the_edits() -> None:
    revision = parse_revision(PATCH, "int x;\nint a;\n")
    assert revision == Revision(
        intent="rename",
        expected="nothing",
        source="int x;\nint b;\n",
        edits=(EDIT,),
        changed_lines=2,
    )


def test_the_last_line_of_a_source_can_be_edited_without_its_line_end() -> None:
    revision = parse_revision(PATCH, "int x;\nint a;")
    assert isinstance(revision, Revision)
    assert revision.source == "int x;\nint b;\n"


def test_a_revision_of_a_text_that_is_not_there() -> None:
    with pytest.raises(EditRefusedError, match="does not occur"):
        parse_revision(PATCH, "int x;\n")


def test_an_anchor_that_occurs_three_times_is_asked_for_again_with_its_lines() -> None:
    with pytest.raises(EditRefusedError, match="occurs 3 times, at lines 1, 3, 5; add lines"):
        parse_revision(PATCH, "int a;\nint x;\nint a;\nint y;\nint a;\n")
