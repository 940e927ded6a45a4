"""From addresses in an emulated library to lines of the candidate."""

import re
import shutil
import subprocess
from pathlib import Path

from cutegen.toolchain.emulated import CANDIDATE

_PLACE = re.compile(r"\{at:([0-9a-f,]{1,400})\}")
_TIMEOUT_S = 20.0
_MOST_ADDRESSES = 400


def name_places(text: str, library: Path) -> str:
    """Write ``line N`` for every ``{at:...}`` of a report.

    A place is a chain of addresses, the innermost call first. The candidate's own line is the
    first one on the way out, through calls and through what was inlined. Where binutils are
    missing, or nothing is found, it is ``a place in the headers``.
    """
    chains = [found.split(",") for found in _PLACE.findall(text)]
    lines = _candidate_lines(sorted({a for chain in chains for a in chain}), library)

    def name(match: re.Match[str]) -> str:
        known = (lines[address] for address in match[1].split(",") if lines.get(address))
        line = next(known, 0)
        return f"line {line}" if line else "a place in the headers"

    return _PLACE.sub(name, text)


def _candidate_lines(addresses: list[str], library: Path) -> dict[str, int]:
    """The innermost line of the candidate at each address; 0 where there is none."""
    tool = shutil.which("addr2line") if addresses else None
    if tool is None:
        return {}
    try:
        done = subprocess.run(
            [tool, "-a", "-i", "-e", library, *addresses[:_MOST_ADDRESSES]],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    lines: dict[str, int] = {}
    address = ""
    for row in done.stdout.splitlines():
        if row.startswith("0x"):
            address = f"{int(row, 16):x}"
            lines[address] = 0
        elif not lines[address]:
            where, _, line = row.split(" ")[0].rpartition(":")
            if Path(where).name == CANDIDATE and line.isdigit():
                lines[address] = int(line)
    return lines
