"""README's table of the playbook's products, from what ``run_products.py`` wrote."""

from pathlib import Path
from statistics import median
from typing import Any

LEVEL_1 = Path(__file__).resolve().parents[1] / "kernelbench" / "level1"


def products_table(record: dict[str, Any]) -> str:
    """One line per design: the task, its times, and what holds of them.

    A key of ``designs`` is ``TASK/LEVEL``: the design's place on the playbook's ladder.
    """
    lines = [
        "| product, the playbook's last design | eager | kernel | over eager | limit | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for key, judged in sorted(record["designs"].items(), key=_order):
        name, verdict = _title(key.partition("/")[0]), judged["verdict"]["status"]
        measured = judged["measurement"] or {}
        if measured.get("state") != "MEASURED":
            reason = measured.get("reason") or judged["verdict"]["evidence"]["summary"]
            lines.append(f"| {name} | | {reason} | | | {verdict} |")
            continue
        kernel = median(measured["candidate"]["samples_us"])
        eager = median(measured["baselines"]["eager"]["samples_us"])
        roofline = measured["roofline"]
        lines.append(
            f"| {name} | {eager / 1000:.3f} ms | {kernel / 1000:.3f} ms | {eager / kernel:.2f}x | "
            f"{roofline['fraction']:.0%} ({roofline['bound']}) | {verdict} |"
        )
    machine = record["machine"]
    lines += ["", f"{machine['gpu']}, CUDA {machine['cuda']}, commit {machine['commit'][:10]}."]
    return "\n".join(lines)


def _order(item: tuple[str, Any]) -> tuple[int, str]:
    task = item[0].partition("/")[0]
    return (int(task), "") if task.isdigit() else (1000, task)


def _title(task: str) -> str:
    """The name of the task's file, its number first."""
    if not task.isdigit():
        return task
    (file,) = LEVEL_1.glob(f"{task}_*.py")
    return file.stem.strip("_").replace("_", " ")
