"""The edit engine: unique anchors, all or nothing, and derived edits that round-trip."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from cutegen.edits import Edit, EditRefusedError, apply_edits, derive_edits, edit_size

SOURCE = "alpha\nbeta\ngamma\nbeta\ndelta\n"

texts = st.lists(
    st.one_of(st.sampled_from(["int x;", "  }", "", "for (;;) {", "µ→β"]), st.text(max_size=8)),
    max_size=30,
).map("\n".join)


@given(old=texts, new=texts)
@example(old="int x;\nint x;\n  }\nint x;", new="  }\nint x;\nint x;")  # anchors meet
def test_derived_edits_turn_one_text_into_the_other(old: str, new: str) -> None:
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    assume(old.strip())
    assume(old != new)
    edits = derive_edits(old, new)
    assert apply_edits(old, edits) == new


@given(old=texts, new=texts)
def test_every_derived_anchor_is_unique(old: str, new: str) -> None:
    old = old.replace("\r\n", "\n")
    assume(old.strip())
    assume(old != new.replace("\r\n", "\n"))
    assert all(old.count(edit.search) == 1 for edit in derive_edits(old, new))


def test_edits_are_found_in_the_original_whatever_their_order() -> None:
    edits = [Edit(search="delta", replace="alpha"), Edit(search="alpha", replace="delta")]
    expected = "delta\nbeta\ngamma\nbeta\nalpha\n"
    assert apply_edits(SOURCE, edits) == apply_edits(SOURCE, edits[::-1]) == expected


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        ([], "no edit"),
        ([Edit(search=" \n", replace="x")], "empty search text"),
        ([Edit(search="beta", replace="x")], r"occurs 2 times, at lines 2, 4;"),
        ([Edit(search="gamna\n", replace="x")], r"nearest lines are \(from line 3\):\ngamma"),
        ([Edit(search="alpha", replace="alpha")], "change nothing"),
        (
            [Edit(search="gamma\nbeta", replace="x"), Edit(search="beta\ndelta", replace="y")],
            "overlap at line 4",
        ),
        ([Edit(search="alpha", replace="x"), Edit(search="omega", replace="y")], "edit 2"),
    ],
)
def test_a_refusal_quotes_the_fault(edits: list[Edit], says: str) -> None:
    with pytest.raises(EditRefusedError, match=says):
        apply_edits(SOURCE, edits)


def test_windows_line_ends_do_not_hide_an_anchor() -> None:
    edit = Edit(search="gamma\r\nbeta", replace="one\r\ntwo")
    assert apply_edits(SOURCE.replace("\n", "\r\n"), [edit]) == "alpha\nbeta\none\ntwo\ndelta\n"


@pytest.mark.parametrize(("old", "new"), [("", "int x;\n"), (" \n", "int x;\n"), ("a\n", "a\n")])
def test_no_edits_are_derived_where_none_can_be_anchored(old: str, new: str) -> None:
    with pytest.raises(EditRefusedError):
        derive_edits(old, new)


def test_a_refused_edit_leaves_no_part_of_the_others() -> None:
    good, bad = Edit(search="alpha", replace="x"), Edit(search="absent", replace="y")
    with pytest.raises(EditRefusedError, match="edit 2 does not occur"):
        apply_edits(SOURCE, [good, bad])


def test_size_counts_changed_lines_not_anchors() -> None:
    edit = Edit(search="alpha\nbeta\ngamma", replace="alpha\nBETA\nnew\ngamma")
    assert edit_size([edit]) == 3


def test_overlapping_occurrences_make_an_anchor_ambiguous() -> None:
    with pytest.raises(EditRefusedError, match="occurs 2 times, at lines 1, 1"):
        apply_edits("aXaXa", [Edit(search="aXa", replace="b")])
