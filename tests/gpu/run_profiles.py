"""Profiles six planted kernels on this machine's GPU, with counters and without.

    python tests/gpu/run_profiles.py --out DIR [--budget-s 240] [--only NAME …]

``profiles.json`` in DIR grows with each kernel: raw samples, counters, both digests, and whether
they name the bottleneck that was planted (the static digest may also say that it cannot know).
Nsight Compute's report and pages lie in a folder per kernel. Started again with the same DIR, it
does what is missing.
"""

import argparse
import concurrent.futures
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from profile_plants import KERNELS, PLANTS  # noqa: E402 - its folder is known only now

from cutegen.execution.bench import architecture  # noqa: E402
from cutegen.execution.cuda import CudaExecutor  # noqa: E402
from cutegen.measurement.ceilings import Ceilings  # noqa: E402
from cutegen.measurement.environment import driver_version, git_commit  # noqa: E402
from cutegen.measurement.nsight.command import Access, counter_access, run  # noqa: E402
from cutegen.measurement.nsight.metrics import (  # noqa: E402
    CHOSEN,
    MULTIPROCESSORS,
    OCCUPANCY_LIMITS,
    STALL_PREFIX,
)
from cutegen.measurement.nsight.profiler import NsightCompute  # noqa: E402
from cutegen.measurement.nsight.report import KernelCounters  # noqa: E402
from cutegen.measurement.profile import Bottleneck, Profile  # noqa: E402
from cutegen.measurement.roofline import roofline  # noqa: E402
from cutegen.measurement.static import StaticProfiler  # noqa: E402
from cutegen.measurement.timing import Measurement, MeasurementState, Timing  # noqa: E402
from cutegen.toolchain.discovery import ToolNotFoundError, find_ncu  # noqa: E402

SAMPLES = 50
LEAST_S = 15.0
IMPORT_S = 60.0
MOST_REPORT_BYTES = 4 << 20
PAGES = {
    "source": ("--page", "source", "--csv", "--print-source", "cuda,sass"),
    "raw": ("--page", "raw", "--csv", "--print-units", "base"),
}


def machine() -> dict[str, Any]:
    """What the results depend on besides the kernels."""
    found: dict[str, Any] = {
        "gpu": torch.cuda.get_device_name(0),
        "driver": driver_version(),
        "arch": architecture(0),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "commit": git_commit(),
    }
    try:
        ncu = find_ncu()
    except ToolNotFoundError as error:
        return found | {"ncu": str(error)}
    access = counter_access(ncu.path)
    return found | {
        "ncu": ncu.describe(),
        "counters": access.model_dump(mode="json", exclude={"kernels"}),
    }


def measure(executor: CudaExecutor, name: str, ceilings: Ceilings) -> Measurement:
    """Cold-cache times of the kernel alone, and the roofline."""
    spec = PLANTS[name].spec(name)
    source = (KERNELS / f"{name}.cu").read_text(encoding="utf-8")
    with executor.timed(spec, source) as session:
        for _ in range(3):
            session.sample()
        timing = Timing(samples_us=tuple(session.sample() for _ in range(SAMPLES)))
    torch.cuda.empty_cache()
    return Measurement(
        state=MeasurementState.MEASURED,
        candidate=timing,
        roofline=roofline(spec, timing, ceilings),
    )


def keep_pages(folder: Path) -> None:
    """The report's pages as text; a report beyond the limit is left out."""
    report = folder / "report.ncu-rep"
    if not report.is_file():
        return
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    ncu = find_ncu().path
    for page, options in PAGES.items():
        _, text = run((ncu, "--import", report, *options), scratch, IMPORT_S)
        (folder / f"{page}.csv").write_text(text, encoding="utf-8")
    (scratch / "output.txt").unlink()
    scratch.rmdir()
    if report.stat().st_size > MOST_REPORT_BYTES:
        report.unlink()


def profile(executor: CudaExecutor, name: str, out: Path, ceilings: Ceilings) -> dict[str, Any]:
    """One kernel's time, counters and digests."""
    began = time.monotonic()
    plant = PLANTS[name]
    spec = plant.spec(name)
    source = (KERNELS / f"{name}.cu").read_text(encoding="utf-8")
    build = executor.build(spec, source)
    measurement = measure(executor, name, ceilings)
    timed = time.monotonic()
    static = StaticProfiler(architecture(0))
    nsight = NsightCompute(static)
    counted = nsight.count(spec, build, keep=out / name)
    if counted.access is not Access.READ:
        sys.stdout.write(
            f"{name}: {counted.access.value}: {counted.reason}\n{counted.log[:2000]}\n"
        )
    counting = time.monotonic()
    keep_pages(out / name)
    without = static.profile(spec, source, build, measurement)
    told = nsight.digest(spec, counted, measurement, without)
    return {
        "expected": [kind.value for kind in plant.expected],
        "ncu": told.model_dump(mode="json"),
        "static": without.model_dump(mode="json"),
        "as_expected": as_expected(told, without, plant.expected),
        "measurement": measurement.model_dump(mode="json"),
        "access": counted.access.value,
        "reason": counted.reason,
        "log": counted.log[:4000],
        "counters": [kept(kernel) for kernel in counted.kernels],
        "resources": [kernel.model_dump(mode="json") for kernel in build.resources],
        "seconds": {
            "timing": round(timed - began, 1),
            "counting": round(counting - timed, 1),
            "pages": round(time.monotonic() - counting, 1),
        },
    }


def kept(kernel: KernelCounters) -> dict[str, Any]:
    """What the digest reads of a kernel's counters; the rest is in ``raw.csv``."""
    asked = {*CHOSEN, *OCCUPANCY_LIMITS.values(), MULTIPROCESSORS}
    record = kernel.model_dump(mode="json")
    record["counters"] = {
        name: [counter.value, counter.unit]
        for name, counter in kernel.counters.items()
        if name in asked or name.startswith(STALL_PREFIX)
    }
    return record


def as_expected(told: Profile, without: Profile, expected: tuple[Bottleneck, ...]) -> bool:
    """Counters name the bottleneck; without them it is named, or said to be unknown."""
    honest = without.bottleneck in (*expected, Bottleneck.UNKNOWN)
    return told.source == "ncu" and told.bottleneck in expected and honest


def main() -> int:
    """Profile what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--budget-s", type=float, default=240.0, help="seconds for everything")
    parser.add_argument("--only", nargs="*", default=list(PLANTS), help="names of kernels")
    options = parser.parse_args()
    end = time.monotonic() + options.budget_s
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "profiles.json"
    found: dict[str, Any] = {"kernels": {}}
    if path.is_file():
        found = json.loads(path.read_text(encoding="utf-8"))
    executor = CudaExecutor()
    with concurrent.futures.ThreadPoolExecutor(len(PLANTS)) as pool:  # compilers work side by side

        def build(name: str) -> str:
            source = (KERNELS / f"{name}.cu").read_text(encoding="utf-8")
            return executor.build(PLANTS[name].spec(name), source).status.value

        building = {name: pool.submit(build, name) for name in options.only}
        found["machine"] = machine()
        ceilings = executor.ceilings()
        found["ceilings"] = ceilings.model_dump(mode="json")
        for name in options.only:
            if found["kernels"].get(name, {}).get("as_expected"):
                continue
            if end - time.monotonic() < LEAST_S:
                sys.stdout.write(f"{name}: no budget was left; start the script again\n")
                continue
            building[name].result()
            found["kernels"][name] = profile(executor, name, options.out, ceilings)
            path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{found['machine']}\n")
    for name, record in found["kernels"].items():
        told, without = record["ncu"], record["static"]
        sys.stdout.write(
            f"{name:16} {'yes' if record['as_expected'] else 'NO ':4} ncu: {told['bottleneck']} "
            f"({told['source']}), static: {without['bottleneck']}; {record['seconds']}\n"
            f"    {told['evidence']}\n    {without['evidence']}\n"
        )
    done = all(found["kernels"].get(name, {}).get("as_expected") for name in options.only)
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
