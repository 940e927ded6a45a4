"""Diffs: numbers and anchors of lines, folded stretches, marked words, hostile sources."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from cutegen.report.code import lines_of, plain_lines, source_html
from cutegen.report.diff import changed_lines, diff_html

OLD = "".join(f"int a{i} = {i};\n" for i in range(1, 31))
NEW = OLD.replace("int a15 = 15;", "int a15 = 16;\nint more = 1;").replace("int a16 = 16;\n", "")


def rows(page: str) -> list[tuple[str, str, str]]:
    """Kind, anchor and text of each line."""
    found = re.findall(r'<div class="line ([^"]*)" id="([^"]*)">.*?<code>(.*?)</code>', page)
    return [(kind, anchor, Markup(code).striptags()) for kind, anchor, code in found]


def test_both_sides_of_a_change_have_their_numbers() -> None:
    page = diff_html(OLD, NEW, anchor="s3")
    changed = [row for row in rows(page) if not row[0].startswith("ctx")]
    assert changed == [
        ("del", "s3-L15", "int a15 = 15;"),
        ("del", "s3-L16", "int a16 = 16;"),
        ("ins", "s3-R15", "int a15 = 16;"),
        ("ins", "s3-R16", "int more = 1;"),
    ]
    assert changed_lines(OLD, NEW) == (2, 2)


def test_unchanged_stretches_are_folded_but_there() -> None:
    page = diff_html(OLD, NEW)
    assert "11 unchanged lines" in page
    context = [anchor for kind, anchor, _ in rows(page) if kind == "ctx new"]
    assert len(context) == 28
    assert page.count("<details") == 2


def test_the_changed_words_are_marked() -> None:
    page = diff_html("x = alpha + 1;\n", "x = beta + 1;\n")
    assert re.findall(r"<mark>(.*?)</mark>", page) == ["alpha", "beta"]
    assert "<mark>" not in diff_html("x = 1;\n", "while (true) {}\n")


def test_equal_sources_and_empty_ones() -> None:
    assert "unchanged" in diff_html(OLD, OLD)
    assert [row[0] for row in rows(diff_html("", "a\nb"))] == ["ins", "ins"]
    assert rows(diff_html("", "")) == []


def test_a_source_is_text_whatever_it_says() -> None:
    hostile = 'char const* s = "</code></script><script>alert(1)</script>";\n// <img src=x>\n'
    for page in (
        diff_html("", hostile),
        diff_html(hostile, hostile + "x"),
        source_html(hostile, "b"),
    ):
        assert "<script" not in page
        assert "<img" not in page
    assert "&lt;/script&gt;" in source_html(hostile, "b")


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=" \n\r\t\x0c\u2028ab<>&\"'/*#(){};0x", max_size=60))
def test_colouring_loses_no_character_and_no_line(source: str) -> None:
    told = ["".join(text for _, text in tokens) for tokens in lines_of(source)]
    assert told == plain_lines(source)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["a = 1;", "b = 2;", "", "c(a, b);"]), max_size=14),
    st.lists(st.sampled_from(["a = 1;", "b = 3;", "", "c(b, a);"]), max_size=14),
)
def test_a_diff_holds_both_versions_whole_and_in_order(old: list[str], new: list[str]) -> None:
    before, after = "\n".join(old), "\n".join(new)
    found = rows(diff_html(before, after))
    left = [text for kind, _, text in found if kind in {"del", "ctx old"}]
    right = [text for kind, _, text in found if kind in {"ins", "ctx new"}]
    squeeze = [" ".join(line.split()) for line in plain_lines(before)]
    assert [" ".join(line.split()) for line in left] == squeeze
    assert [" ".join(line.split()) for line in right] == [
        " ".join(x.split()) for x in plain_lines(after)
    ]
