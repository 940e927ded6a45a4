from pathlib import Path

from cutegen.measurement.nsight import metrics as m
from cutegen.measurement.nsight.command import Access, Counted
from cutegen.measurement.nsight.profiler import counted_or_why
from cutegen.measurement.nsight.report import bare_name, parse_raw, parse_source

PAGES = Path(__file__).parent / "pages"


def test_the_raw_page_of_an_h200_with_its_units() -> None:
    (kernel,) = parse_raw((PAGES / "torch_silu.raw.csv").read_text())
    assert kernel.name.startswith("void vectorized_elementwise_kernel")
    duration = kernel.counters[m.DURATION]
    assert (duration.value, duration.unit) == (32.064, "us")
    assert kernel.value(m.GRID) == 16384
    assert kernel.value(m.DRAM_THROUGHPUT) == 71.301096
    assert kernel.value("derived_tempMetric4") is None  # printed as nan
    assert "Process ID" not in kernel.counters


def test_what_is_no_table_has_no_kernels() -> None:
    assert parse_raw("==ERROR== ERR_NVGPUCTRPERM\n") == ()
    assert parse_source("==ERROR== no such page\n") == {}


def test_base_units_of_counted_kernels() -> None:
    (kernel,) = parse_raw((PAGES / "tensor.raw.csv").read_text())
    units = {name: kernel.counters[name].unit for name in (m.DURATION, m.DRAM_READ, m.CLOCK)}
    assert units == {m.DURATION: "ns", m.DRAM_READ: "byte", m.CLOCK: "hz"}
    assert not {name for name in m.CHOSEN if name not in kernel.counters}


def test_the_hottest_lines_come_first_with_why_warps_waited() -> None:
    hot = parse_source((PAGES / "transpose.source.csv").read_text())["transpose"]
    assert [spot.line for spot in hot] == [18, 12, 10, 11, 17]
    assert "tile[threadIdx.x][row]" in hot[0].text
    assert (hot[0].reason, round(hot[0].share, 3)) == ("short_sb", 0.378)
    assert hot[0].instruction.startswith("STG.E")


def test_what_was_inlined_counts_once_at_the_candidates_own_line() -> None:
    hot = parse_source((PAGES / "tensor.source.csv").read_text())["gemm_tiles"]
    assert hot[0].text == "warpgroup_wait<0>();"
    assert (hot[0].reason, hot[0].instruction[:16]) == ("barrier", "WARPGROUP.DEPBAR")
    assert sum(spot.share for spot in hot) <= 1
    assert hot[0].share > 0.4


def test_tables_of_a_page_may_differ_in_their_columns() -> None:
    page = (PAGES / "transpose.source.csv").read_text()
    wider = (
        '"File Path","/tmp/candidate.cu"\n"Function Name","second(float *)"\n'
        '"Line No","Source","Address","Source","Extra","# Samples","stall_wait","stall_math","B"\n'
        '"7","x += 1;","-","-","0","4","1","3","0"\n'
        '"","","0x10","FADD R1","0","4","1","3","0"\n'
    )
    columns = page.splitlines()[2].count(",")
    assert wider.splitlines()[2].count(",") != columns
    for pages in (page + wider, wider + page):
        hot = parse_source(pages)
        assert hot["transpose"] == parse_source(page)["transpose"]
        (spot,) = hot["second"]
        assert (spot.line, spot.share, spot.reason, spot.instruction) == (7, 1, "math", "FADD R1")


def test_names_of_kernels_are_told_from_what_surrounds_them() -> None:
    assert bare_name("void gemm<cute::C<(int)64>, half>(T1, T2)") == "gemm"
    assert bare_name("(anonymous namespace)::ns::scale(const float *)") == "scale"
    assert bare_name("void ns::scale<float>") == "scale"


def test_a_damaged_page_is_no_page_and_ends_nothing() -> None:
    rows = (PAGES / "tensor.raw.csv").read_text().splitlines()
    whole = Counted(access=Access.READ)

    def counted(page: list[str]) -> Counted:
        return counted_or_why(lambda: parse_raw("\n".join(page)) and whole)

    assert counted(rows) == whole
    names = next(place for place, row in enumerate(rows) if "Kernel Name" in row)
    units = rows[names + 1].rpartition(",")[0]
    damaged = counted([*rows[: names + 1], units, *rows[names + 2 :]])
    assert damaged.access is Access.FAILED
    assert "reads otherwise than known: ValueError" in damaged.reason


def test_a_damaged_source_page_leaves_other_lines() -> None:
    rows = (PAGES / "transpose.source.csv").read_text().splitlines()
    for place in range(40):
        short = rows[place].rpartition(",")[0]
        for page in (rows[:place], rows[place:], [*rows[:place], short, *rows[place + 1 :]]):
            parse_source("\n".join(page))
