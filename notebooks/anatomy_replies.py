"""What the agents answer in ``2_anatomy.py``: written by hand, so that every edge is taken."""

import json
from pathlib import Path

import cutegen

KERNEL = Path(cutegen.__file__).resolve().parents[1] / "tests" / "graphs" / "kernels" / "swish.cu"

FLAT = """\
  int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) gO(i) = swish(gX(i));"""
LOOP = """\
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += int64_t(gridDim.x) * kThreads)
    gO(i) = swish(gX(i));"""
SHORT = LOOP.replace("i < n;", "i < n - 1;")


def patch(intent: str, expected: str, search: str, replace: str) -> str:
    return (
        f"INTENT: {intent}\nEXPECTED: {expected}\n"
        f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n"
    )


def threads(before: int, after: int) -> tuple[str, str]:
    return f"constexpr int kThreads = {before};", f"constexpr int kThreads = {after};"


REPLIES = (
    ("synthesizer", f"INTENT: one element per thread\n```cuda\n{KERNEL.read_text()}```\n"),
    (
        "structural_optimizer",
        patch("a grid-stride loop", "any grid covers the tensor", FLAT, SHORT),
    ),
    (
        "diagnostician",
        "CAUSE: the loop ends one element early, so the last one is never written\n"
        "LINE: 14\nCHANGE: compare with n, not with n - 1\n",
    ),
    (
        "repairer",
        patch("the loop runs to the end", "all is written", "i < n - 1;", "i < n;"),
    ),
    (
        "structural_optimizer",
        patch("one comparison less", "a shorter loop", "i < n;", "i < n - 1;"),
    ),
    (
        "structural_optimizer",
        patch("smaller blocks", "more of them per multiprocessor", *threads(256, 128)),
    ),
    (
        "profile_tuner",
        patch("larger blocks", "fewer of them to schedule", *threads(256, 512)),
    ),
    ("profile_tuner", "OUT_OF_IDEAS: nothing is left to try\n"),
)


def write(file: Path) -> Path:
    """Write the replies as a recording, for ``replay:FILE``."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"agent": agent, "reply": reply}) for agent, reply in REPLIES)
    file.write_text("".join(f"{line}\n" for line in lines))
    return file
