"""The ablation's table: what each way of profiling came to, spec by spec, and over all of them."""

from collections.abc import Sequence
from statistics import geometric_mean
from typing import Any

MODES = ("delayed", "immediate", "never")
HEADER = (
    "| spec | best, delayed | immediate | never | speed-up | proposals to best | builds | wall |",
    "|---|---|---|---|---|---|---|---|",
)


def ablation_table(record: dict[str, Any]) -> str:
    """One row per spec that was run in every mode; triples are in the order of the modes."""
    runs = {(run["spec"], run["mode"]): run for run in record["runs"] if run["time_us"]}
    specs = [spec for spec in dict.fromkeys(name for name, _ in runs) if _is_whole(runs, spec)]
    rows = [_row(spec, [runs[spec, mode] for mode in MODES]) for spec in specs]
    return "\n".join([*HEADER, *rows, "", *_summary(runs, specs, record)])


def _is_whole(runs: dict[tuple[str, str], Any], spec: str) -> bool:
    return all((spec, mode) in runs for mode in MODES)


def _row(spec: str, runs: Sequence[dict[str, Any]]) -> str:
    times = " | ".join(f"{run['time_us']:.1f} µs" for run in runs)
    speedups = " / ".join(f"{run['speedup']:.2f}x" if run["speedup"] else "?" for run in runs)
    to_best = " / ".join(f"{run['proposals_to_best']} of {run['proposals']}" for run in runs)
    builds = " / ".join(str(run["builds"]) for run in runs)
    walls = " / ".join(f"{run['wall_s']:.0f}" for run in runs)
    return f"| {spec} | {times} | {speedups} | {to_best} | {builds} | {walls} s |"


def _summary(
    runs: dict[tuple[str, str], Any], specs: Sequence[str], record: dict[str, Any]
) -> list[str]:
    """Over all specs: best time relative to delayed profiling, and what it cost."""
    lines = []
    for mode in MODES if specs else ():
        ratio = geometric_mean(
            runs[spec, mode]["time_us"] / runs[spec, "delayed"]["time_us"] for spec in specs
        )
        proposals = sum(runs[spec, mode]["proposals"] for spec in specs)
        to_best = sum(runs[spec, mode]["proposals_to_best"] for spec in specs)
        builds = sum(runs[spec, mode]["builds"] for spec in specs)
        lines.append(
            f"- {mode}: {ratio:.3f}x the time of delayed profiling (geometric mean over "
            f"{len(specs)} specs), {to_best} proposals to the best kernels of {proposals} made, "
            f"{builds} builds."
        )
    missing = len({run["spec"] for run in record["runs"]}) - len(specs)
    if missing:
        lines.append(f"- {missing} specs have not been run in every mode.")
    return [*lines, f"- At most {record['steps']} proposals a run; commit {record['commit'][:10]}."]
