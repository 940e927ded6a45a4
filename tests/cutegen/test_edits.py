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


@given(old=texts, new=texts)
@example(old="int x;", new="int x;\n")  # no final line end, and one
@example(old="µ→β\nint x;", new="int x;\n日本\u2028語")
def test_what_was_applied_can_be_inverted(old: str, new: str) -> None:
    assume(old.strip() and new.strip() and old != new)
    assume("\r\n" not in old + new)
    changed = apply_edits(old, derive_edits(old, new))
    assert changed == new
    assert apply_edits(changed, derive_edits(changed, old)) == old


@given(
    lines=st.lists(
        st.text("abµ→ 語", min_size=1, max_size=6), min_size=3, max_size=20, unique=True
    ),
    data=st.data(),
)
def test_edits_of_single_lines_are_inverted_by_their_mirror_images(
    lines: list[str], data: st.DataObject
) -> None:
    source = "".join(f"<{line}>\n" for line in lines)
    picked = data.draw(st.lists(st.sampled_from(lines), min_size=1, unique=True))
    edits = [Edit(search=f"<{line}>\n", replace=f"[{line}]\n") for line in picked]
    changed = apply_edits(source, edits)
    assert changed.count("[") == len(picked)
    mirrored = [Edit(search=edit.replace, replace=edit.search) for edit in edits]
    assert apply_edits(changed, mirrored) == source


@given(old=texts, new=texts, where=st.integers(0, 10))
def test_one_refused_edit_refuses_all(old: str, new: str, where: int) -> None:
    assume(old.strip() and old != new)
    assume("\r\n" not in old + new)
    edits = list(derive_edits(old, new))
    edits.insert(where, Edit(search="\0 nowhere \0", replace="x"))
    with pytest.raises(EditRefusedError):
        apply_edits(old, edits)


@given(source=texts, start=st.integers(0, 200), length=st.integers(1, 60), replacement=st.text())
def test_an_anchor_is_taken_exactly_when_it_is_unique(
    source: str, start: int, length: int, replacement: str
) -> None:
    source, replacement = (text.replace("\r", "") for text in (source, replacement))
    anchor = source[start : start + length]
    assume(anchor.strip())
    assume(anchor != replacement)
    places = [at for at in range(len(source)) if source.startswith(anchor, at)]
    edit = Edit(search=anchor, replace=replacement)
    if len(places) == 1:
        at = places[0]
        assert apply_edits(source, [edit]) == source[:at] + replacement + source[at + len(anchor) :]
    else:
        with pytest.raises(EditRefusedError, match=f"occurs {min(len(places), 10)} times"):
            apply_edits(source, [edit])
