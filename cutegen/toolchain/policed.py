"""Builds under the source policy: what a candidate may not do is refused, with its line."""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from cutegen import source_policy
from cutegen.source_policy import Violation, check_object, check_source
from cutegen.status import Status
from cutegen.toolchain.protocol import BuildResult, Diagnostic

OBJECT = "candidate.o"


def policy_key(*, police: bool) -> str:
    """What a build's cache key says of the policy: another policy judges anew."""
    return _policy_digest() if police else "not policed"


@cache
def _policy_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(source_policy.__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def refuse_source(source: str, toolchain: str) -> BuildResult | None:
    """FORBIDDEN, with every violation in the text; None when there is none."""
    violations = check_source(source)
    return _forbidden(violations, source, toolchain) if violations else None


def refuse_object(
    result: BuildResult, path: Path, source: str, *, also: frozenset[str] = frozenset()
) -> BuildResult:
    """The result of a build, or FORBIDDEN for what the built object imports."""
    if result.status is not Status.PASSED:
        return result
    violations = check_object(path, source, also=also)
    if not violations:
        return result
    refused = _forbidden(violations, source, result.toolchain)
    return refused.model_copy(update={"log": result.log, "seconds": result.seconds})


def _forbidden(violations: Sequence[Violation], source: str, toolchain: str) -> BuildResult:
    lines = source.split("\n")
    return BuildResult(
        status=Status.FORBIDDEN,
        toolchain=toolchain,
        diagnostics=tuple(
            Diagnostic(
                severity="error",
                message=f"{violation.what}: {violation.advice}",
                line=violation.line,
                source_line=lines[violation.line - 1].strip() if violation.line else "",
            )
            for violation in violations
        ),
    )
