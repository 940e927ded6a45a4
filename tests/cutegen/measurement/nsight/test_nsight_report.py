from pathlib import Path

from cutegen.measurement.nsight import metrics as m
from cutegen.measurement.nsight.report import parse_raw, parse_source

PAGES = Path(__file__).parent / "pages"
SOURCE = """"Kernel Name","scale(const float *, float *)"
"#","Address","Source","Warp Stall Sampling (All Samples)","# Samples","stall_long_sb","stall_wait"
"0","0x7f00","      LDC R1, c[0x0][0x28] ","2","2","0","2"
"1","0x7f10","      FADD R4, R4, 1 ","1,500","1,500","1,400","100"
"2","0x7f20","      STG.E [R2.64], R4 ","498","498","0","398"
"""


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
    assert parse_source("==ERROR== no such page\n") == ()


def test_the_hottest_instructions_come_first_with_why_warps_waited() -> None:
    hot = parse_source(SOURCE)
    assert [spot.instruction for spot in hot] == [
        "FADD R4, R4, 1",
        "STG.E [R2.64], R4",
        "LDC R1, c[0x0][0x28]",
    ]
    assert (hot[0].share, hot[0].reason) == (0.75, "long_sb")
