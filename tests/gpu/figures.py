"""Makes README's tables of figures from the JSON files of the ``run_*.py`` beside it.

    python tests/gpu/figures.py [--write] [FILE…]

Without files it reads tests/gpu/results. It prints the table; with ``--write`` it also replaces
the block between the two markers in README.md.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from ablation_figures import ablation_table
from product_figures import products_table

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).parent / "results"
BEGIN = "<!-- figures:begin -->"
END = "<!-- figures:end -->"
HEADER = (
    "| task | shapes | eager | compile | kernel | p20-p80 | speed-up | rate | limit | verdict |",
    "|---|---|---|---|---|---|---|---|---|---|",
)


def summary(records: Sequence[dict[str, Any]]) -> str:
    """The table, and below it the device and versions it was measured with."""
    rows = [row(record) for record in records if "task" in record]
    notes = []
    for record in records:
        if "ceilings" in record:
            ceilings = record["ceilings"]
            notes.append(
                f"{ceilings['device']}: device-to-device copy "
                f"{ceilings['copy_bytes_per_s'] / 1e12:.2f} TB/s (read and write), PyTorch's fp32 "
                f"product {ceilings['library_flops_per_s']['fp32'] / 1e12:.1f} TFLOP/s, TF32 "
                f"{ceilings['library_flops_per_s']['tf32'] / 1e12:.0f}."
            )
    environments = [
        record["environment"]
        for record in records
        if record.get("environment") and record.get("part") not in SECTIONS
    ]
    if environments:
        last = environments[-1]
        notes.append(
            f"Driver {last['driver']}, CUDA {last['cuda']}, PyTorch {last['torch']}, commit "
            f"{str(last['commit'])[:10]}, method {last['method']}; medians."
        )
    tables = [
        SECTIONS[record["part"]](record) for record in records if record.get("part") in SECTIONS
    ]
    return "\n\n".join(["\n".join([*HEADER, *rows, "", *notes]), *tables])


def timing_table(record: dict[str, Any]) -> str:
    """The clock's own test: known times, the same kernel twice, and TF32 in an fp32 spec."""
    lines = [
        f"self-test of the clock: {record['self_test']['state']} {record['self_test']['reason']}",
        *(
            f"- {trial['name']}: {trial['measured_us']:.2f} µs, expected {trial['low_us']:.2f} to "
            f"{trial['high_us']:.2f}"
            for trial in record["self_test"]["trials"]
        ),
        "",
        "| the same kernel twice | median | runs | one worker | two workers | of these | faster |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, case in record["repeats"].items():
        found = case["summary"]
        same, fresh = found["same_worker"], found["two_workers"]
        lines.append(
            f"| {name} | {shown(found['median_us'])} | {found['runs']} | "
            f"{same['mean']:.4f} ± {same['mean_error']:.4f} | "
            f"{fresh['mean']:.4f} ± {fresh['mean_error']:.4f} | "
            f"{fresh['low']:.4f} to {fresh['high']:.4f} | "
            f"{same['taken_for_faster'] + fresh['taken_for_faster']} |"
        )
    lines += ["", "| product of 4096 x 4096 | verdict | expected |", "|---|---|---|"]
    lines += [
        f"| {name} | {case['verdict']['status']} | {case['expected']} |"
        for name, case in record["precision"].items()
    ]
    return "\n".join(lines)


def side_by_side_table(record: dict[str, Any]) -> str:
    """Source to verdict: CuTeGen beside KernelBench's own evaluation of the same kernel."""
    lines = [
        "| Swish 4096x393216, source to verdict | CuTeGen | its build | KernelBench | ratio |",
        "|---|---|---|---|---|",
    ]
    for name, case in record["kernels"].items():
        ours, peer = case.get("ours", {}), case.get("peer", {})
        if "seconds" in ours and "seconds" in peer:
            lines.append(
                f"| {name} | {ours['seconds']:.1f} s ({ours['status']}) | "
                f"{ours['stages']['build']:.1f} s | {peer['seconds']:.1f} s "
                f"({'correct' if peer['correct'] else 'not correct'}) | "
                f"{peer['seconds'] / ours['seconds']:.1f}x |"
            )
        else:
            lines.append(f"| {name} | {ours.get('error', '')} | | {peer.get('error', '')} | |")
    return "\n".join(lines)


def row(record: dict[str, Any]) -> str:
    """One line of the table; a task without a time says why."""
    shapes = " ".join(
        "x".join(map(str, tensor["shape"]))
        for tensor in record["tensors"]
        if tensor["role"] != "output"
    )
    name = f"{record['task']} ({record['spec']['math_mode']})"
    verdict = (record.get("verdict") or {}).get("status", record["run"]["status"])
    measurement = record.get("measurement") or {}
    if measurement.get("state") != "MEASURED":
        reason = measurement.get("reason") or record["run"].get("reason") or "no time"
        return f"| {name} | {shapes} | | | {reason} | | | | | {verdict} |"
    kernel = measurement["candidate"]["samples_us"]
    eager = measurement["baselines"]["eager"]["samples_us"]
    compiled = measurement["baselines"].get("compile")
    roofline, time_us = measurement["roofline"], median(kernel)
    p20, *_, p80 = quantiles(kernel, n=5)
    rate = (
        f"{roofline['flops'] / time_us / 1e6:.1f} TFLOP/s"
        if roofline["bound"] == "compute"
        else f"{roofline['bytes_moved'] / time_us / 1e6:.2f} TB/s"
    )
    return (
        f"| {name} | {shapes} | {shown(median(eager))} | "
        f"{shown(median(compiled['samples_us'])) if compiled else ''} | {shown(time_us)} | "
        f"{shown(p20)}-{shown(p80)} | {median(eager) / time_us:.2f}x | {rate} | "
        f"{roofline['fraction']:.0%} ({roofline['bound']}) | {verdict} |"
    )


def shown(microseconds: float) -> str:
    """A time with a unit that suits it."""
    if microseconds >= 1000:
        return f"{microseconds / 1000:.3f} ms"
    return f"{microseconds:.1f} µs"


SECTIONS = {
    "timing": timing_table,
    "side_by_side": side_by_side_table,
    "products": products_table,
    "ablation": ablation_table,
}


def replace_block(readme: str, table: str) -> str:
    """README's text with a new table between the markers.

    Raises:
        ValueError: The markers are not there, once each and in order.
    """
    if (
        readme.count(BEGIN) != 1
        or readme.count(END) != 1
        or readme.index(BEGIN) > readme.index(END)
    ):
        raise ValueError(f"README.md needs these two lines, once each:\n{BEGIN}\n{END}")
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main() -> int:
    """Print the table; write it into README.md when asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="JSON files of results")
    parser.add_argument("--write", action="store_true", help="rewrite README.md's block")
    options = parser.parse_args()
    files = options.files or sorted(RESULTS.glob("*.json"))
    if not files:
        sys.stderr.write(f"there are no results in {RESULTS}: run run_issue_a.py on a GPU first\n")
        return 1
    table = summary([json.loads(path.read_text(encoding="utf-8")) for path in files])
    sys.stdout.write(table + "\n")
    if options.write:
        readme = ROOT / "README.md"
        readme.write_text(
            replace_block(readme.read_text(encoding="utf-8"), table), encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
