"""Makes docs/emulator.md's tables of the committed results: conformance_figures.py [--write]."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from conformance.cases import CASES  # noqa: E402 - the line above finds it

RESULTS = HERE / "results" / "conformance.json"
PAGE = HERE.parents[1] / "docs" / "emulator.md"
NOT_ASKED = "not asked yet"
BEGIN, END = "<!-- conformance:begin -->", "<!-- conformance:end -->"


def tables(found: dict[str, Any], unasked: Mapping[str, str] | None = None) -> str:
    """Counts, the cases by technique, and what either machine said of each mutant.

    ``unasked`` has the technique of every case that no GPU has been asked yet, by name.
    """
    unasked = unasked or {}
    facts, cases, mutants = found["facts"], found["cases"], found["mutants"]
    agreed = [record for record in cases.values() if record.get("agree")]
    bitwise = sum(record["bitwise"] for record in agreed)
    apart = max((record["apart"] for record in agreed if not record["bitwise"]), default=0.0)
    answers = Counter(record["gpu"]["answer"] for record in mutants.values() if "gpu" in record)
    rows = [
        (
            f"On an {facts['gpu']} (driver {facts['driver']}, CUDA {facts['cuda']}, commit "
            f"{str(facts['commit'])[:10]}) {len(agreed)} of {len(cases)} cases agree with the "
            f"emulator and the exact answer: {bitwise} by equal bits, {len(agreed) - bitwise} "
            f"within the bound, of which the two machines use {apart:.0%} at most between them."
            + "".join(f" {name} was asked at commit {commit}." for name, commit in later(found))
            + "".join(f" {name} is {NOT_ASKED}." for name in unasked)
        ),
        "",
        f"Of {len(mutants)} mutants the H200 gave: "
        + ", ".join(f"{count} {answer}" for answer, count in answers.most_common())
        + ".",
        "",
        "| case | technique | elements that differ | error, GPU | error, emulator | agree |",
        "|---|---|---|---|---|---|",
        *(case_row(name, record) for name, record in cases.items()),
        *(f"| {name} | {what} | | | | {NOT_ASKED} |" for name, what in unasked.items()),
        "",
        "Errors are in units of what is allowed.",
        "",
        "| mutant of | fault | emulator | the GPU |",
        "|---|---|---|---|",
        *(mutant_row(record) for record in mutants.values()),
    ]
    return "\n".join(rows)


def later(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Cases that were asked in a run of their own, with its commit."""
    return [
        (name, str(record["facts"]["commit"])[:10])
        for name, record in found["cases"].items()
        if "facts" in record
    ]


def case_row(name: str, record: dict[str, Any]) -> str:
    """One line; a case that could not be compared says why."""
    if "error" in record:
        return f"| {name} | | | | {record['error']} | no |"
    gpu, emulator = (shown(record[who]) for who in ("gpu", "emulator"))
    different = (
        f"{record['different_elements']} of {record['elements']}" if "elements" in record else ""
    )
    agree = "yes" if record["agree"] else "no"
    return f"| {name} | {record['technique']} | {different} | {gpu} | {emulator} | {agree} |"


def shown(outcome: dict[str, Any]) -> str:
    """An error with two digits, or the status that there is instead."""
    if outcome["status"] != "PASSED":
        return str(outcome["status"])
    return f"{outcome['error']:.2g}"


def mutant_row(record: dict[str, Any]) -> str:
    """What was broken, and what either said."""
    if "error" in record:
        return f"| | {record['error']} | | |"
    return (
        f"| {record['of']} | {record['fault']} | {record['emulator']['status']} | "
        f"{record['gpu']['answer']} |"
    )


def replace_block(page: str, text: str) -> str:
    """The page with a new text between the markers."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def main() -> int:
    """Print the tables; write them into the page when asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=RESULTS)
    parser.add_argument("--write", action="store_true", help="rewrite docs/emulator.md's block")
    options = parser.parse_args()
    if not options.file.exists():
        sys.stderr.write(f"{options.file} does not exist: run run_conformance.py on a GPU first\n")
        return 1
    found = json.loads(options.file.read_text(encoding="utf-8"))
    unasked = {case.name: case.technique for case in CASES if case.name not in found["cases"]}
    text = tables(found, unasked)
    sys.stdout.write(text + "\n")
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(replace_block(page, text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
