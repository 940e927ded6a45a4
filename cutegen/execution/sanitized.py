"""The last check of a kernel that would be taken: compute-sanitizer finds nothing in it."""

import re

from pydantic import JsonValue

from cutegen.execution.sanitizer_log import SanitizerFinding
from cutegen.execution.sanitizers import TOOLS, SanitizerReport
from cutegen.measurement.timing import Measurement, MeasurementState
from cutegen.toolchain.protocol import Diagnostic
from cutegen.verification.verdict import Evidence, Verdict

# racecheck follows neither the barriers that TMA completes nor wgmma's own proxy
_BEYOND_RACECHECK = re.compile(r"mbarrier|\btma|TMA|wgmma|WGMMA|warpgroup|[Cc]luster")


def would_be_taken(measurement: Measurement) -> bool:
    """Whether there is a time, and it is better than the incumbent's."""
    if measurement.state is not MeasurementState.MEASURED or measurement.candidate is None:
        return False
    incumbent = measurement.incumbent
    return incumbent is None or measurement.candidate.median_us < incumbent.median_us


def tools_for(source: str) -> tuple[str, ...]:
    """The tools that understand what a source does."""
    beyond = _BEYOND_RACECHECK.search(source) is not None
    return tuple(tool for tool in TOOLS if not (beyond and tool == "racecheck"))


def with_report(measurement: Measurement, report: SanitizerReport, source: str) -> Measurement:
    """The measurement, with what the tools did; REFUSED with a verdict for what they found."""
    told: dict[str, JsonValue] = {
        "ran": list(report.ran),
        "skipped": {**report.skipped},
        "seconds": round(report.seconds, 2),
    }
    environment = {**measurement.environment, "sanitizers": told}
    if not report.findings:
        return measurement.model_copy(update={"environment": environment})
    verdict = _verdict(report.findings, source)
    return measurement.model_copy(
        update={
            "environment": environment,
            "state": MeasurementState.REFUSED,
            "reason": verdict.evidence.summary,
            "verdict": verdict,
        }
    )


def _verdict(findings: tuple[SanitizerFinding, ...], source: str) -> Verdict:
    """What to tell the diagnostician; the first finding is the verdict."""
    lines = source.split("\n")
    first = findings[0]
    return Verdict(
        status=first.status,
        executor="cuda",
        evidence=Evidence(
            summary=f"{first.tool}: {_sentence(first)}",
            check=f"compute-sanitizer/{first.tool}",
            diagnostics=tuple(
                Diagnostic(
                    severity="error",
                    message=f"{found.tool}: {found.summary}",
                    line=found.line,
                    source_line=lines[found.line - 1].strip()
                    if 0 < found.line <= len(lines)
                    else "",
                    detail="; ".join(found.details),
                )
                for found in findings
            ),
            hints=first.details,
        ),
    )


def _sentence(finding: SanitizerFinding) -> str:
    where = f" at line {finding.line}" if finding.line else ""
    return f"{finding.summary}{where}"
