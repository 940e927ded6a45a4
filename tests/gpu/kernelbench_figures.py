"""Makes README's table and the plot of the KernelBench tasks from their JSON files.

    python tests/gpu/kernelbench_figures.py [--write] [FILE…]

Without files it reads tests/gpu/results/kernelbench. It prints the table; with ``--write`` it also
replaces the block between the two markers in README.md and draws docs/kernelbench.svg.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, geometric_mean, median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).parent / "results" / "kernelbench"
PLOT = ROOT / "docs" / "kernelbench.svg"
BEGIN = "<!-- kernelbench:begin -->"
END = "<!-- kernelbench:end -->"
HEADER = (
    "| task | shapes | eager | compile | kernel | over eager | over compile | roof | steps | |",
    "|---|---|---|---|---|---|---|---|---|---|",
)
FAMILIES = {"matmul family (1-18)": range(1, 19), "activations and rows (19-32)": range(19, 33)}


def times(record: dict[str, Any]) -> dict[str, float]:
    """Median times in milliseconds, of ``kernel``, ``eager`` and ``compile``; empty if refused."""
    measurement = record.get("measurement") or {}
    if measurement.get("state") != "MEASURED":
        return {}
    samples = {"kernel": measurement["candidate"], **measurement["baselines"]}
    return {name: median(timing["samples_us"]) / 1e3 for name, timing in samples.items()}


def number_of(record: dict[str, Any]) -> int:
    """The task's number."""
    return int(record["task"].split("_")[0])


def row(record: dict[str, Any]) -> str:
    """One line of the table; a task without a time says why."""
    shapes = " ".join(
        "x".join(map(str, tensor["shape"]))
        for tensor in record["tensors"]
        if tensor["role"] != "output"
    )
    verdict = (record.get("verdict") or {}).get("status", record["run"]["status"])
    name = record["task"].replace("_", " ").strip()
    steps = len(record["run"].get("steps", ()))
    found = times(record)
    if not found:
        measurement = record.get("measurement") or {}
        evidence = (record.get("verdict") or {}).get("evidence", {}).get("summary", "")
        reason = measurement.get("reason") or record["run"].get("reason") or evidence
        return f"| {name} | {shapes} | | | {reason or evidence} | | | | {steps} | {verdict} |"
    compiled = found.get("compile")
    over_compile = f"{compiled / found['kernel']:.2f}x" if compiled else ""
    roofline = record["measurement"]["roofline"]
    return (
        f"| {name} | {shapes} | {found['eager']:.3f} | {f'{compiled:.3f}' if compiled else ''} | "
        f"{found['kernel']:.3f} | {found['eager'] / found['kernel']:.2f}x | {over_compile} | "
        f"{roofline['fraction']:.0%} ({roofline['bound']}) | {steps or ''} | {verdict} |"
    )


def summary(records: Sequence[dict[str, Any]]) -> str:
    """The table, and below it the means of each family and what it was measured with."""
    ordered = sorted(records, key=number_of)
    lines = [*HEADER, *map(row, ordered), ""]
    for family, numbers in FAMILIES.items():
        of_family = [record for record in ordered if number_of(record) in numbers]
        found = [times(record) for record in of_family if times(record)]
        if not found:
            continue
        over = [each["eager"] / each["kernel"] for each in found]
        compiled = [each["compile"] / each["kernel"] for each in found if "compile" in each]
        line = f"{family}: {len(found)} of {len(of_family)} timed, over eager mean "
        line += f"{fmean(over):.2f}x, geometric {geometric_mean(over):.2f}x"
        if compiled:
            line += f"; over torch.compile geometric {geometric_mean(compiled):.2f}x"
        lines += [line + ".", ""]
    environments = [record["environment"] for record in ordered if record.get("environment")]
    if environments:
        last = environments[-1]
        lines.append(
            f"{last.get('gpu')}, driver {last['driver']}, CUDA {last['cuda']}, PyTorch "
            f"{last['torch']}, commit {str(last['commit'])[:10]}, method {last['method']}; medians "
            "in milliseconds, cold L2."
        )
    return "\n".join(lines)


def draw(records: Sequence[dict[str, Any]], path: Path) -> None:
    """Bars of the speed-up over eager and over torch.compile, one pair per task."""
    from matplotlib import rc_context  # noqa: PLC0415 - only for those who draw
    from matplotlib.figure import Figure  # noqa: PLC0415

    timed = [record for record in sorted(records, key=number_of) if times(record)]
    positions = range(len(timed))
    with rc_context({"svg.hashsalt": "cutegen", "svg.fonttype": "none", "font.size": 8}):
        figure = Figure(figsize=(9, 1 + 0.24 * len(timed)), layout="constrained")
        axes = figure.subplots()
        for offset, name, color in ((-0.2, "eager", "#3b6ea8"), (0.2, "compile", "#b0c4de")):
            values = [times(record).get(name, 0.0) / times(record)["kernel"] for record in timed]
            heights = [position + offset for position in positions]
            axes.barh(heights, values, 0.38, color=color, label=f"over {name}")
        for position, record in zip(positions, timed, strict=True):
            fraction = record["measurement"]["roofline"]["fraction"]
            axes.annotate(
                f"{fraction:.0%} of the roof",
                (0.02, position),
                va="center",
                color="white",
                fontsize=6,
            )
        axes.axvline(1.0, color="black", linewidth=0.8)
        axes.set_yticks(list(positions), [record["task"].replace("_", " ") for record in timed])
        axes.invert_yaxis()
        axes.set_xlabel("times as fast as PyTorch")
        axes.legend(loc="lower right", frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})


def replace_block(readme: str, table: str) -> str:
    """README's text with a new table between the markers.

    Raises:
        ValueError: The markers are not there, once each and in order.
    """
    before, begun, rest = readme.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not begun or not ended or BEGIN in after or END in after:
        raise ValueError(f"README.md needs these two lines, once each:\n{BEGIN}\n{END}")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main() -> int:
    """Print the table; write it into README.md and draw the plot when asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="JSON files of results")
    parser.add_argument("--write", action="store_true", help="rewrite README.md's block")
    options = parser.parse_args()
    files = options.files or sorted(RESULTS.glob("*.json"))
    records = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    records = [record for record in records if "task" in record]
    if not records:
        sys.stderr.write("there are no results: run run_kernelbench.py on a GPU first\n")
        return 1
    table = summary(records)
    sys.stdout.write(table + "\n")
    if options.write:
        readme = ROOT / "README.md"
        plotted = f"![speed-ups](docs/kernelbench.svg)\n\n{table}"
        readme.write_text(replace_block(readme.read_text("utf-8"), plotted), "utf-8")
        draw(records, PLOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
