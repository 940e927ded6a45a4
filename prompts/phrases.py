"""Nouns of the instrument as phrases of a prompt: the filters that the templates use."""

import re

from pydantic import JsonValue

from cutegen.history import Step, StepKind
from cutegen.measurement.occupancy import LIMITS
from cutegen.measurement.profile import Reading
from cutegen.measurement.work import count_work
from cutegen.spec import KernelSpec, TensorArg, TracedOp
from cutegen.status import Status

_LOG_LIMIT = 6000  # characters
_CELL_LIMIT = 200
_KIB = 1024


def tensor(arg: TensorArg) -> str:
    """A tensor in one phrase: ``x: float32[4096, 1000] (input)``."""
    return f"{arg.name}: {arg.dtype.value}{list(arg.shape)} ({arg.role})"


def operation(op: TracedOp) -> str:
    """A traced operation as an assignment."""
    arguments = [_operand(value) for value in op.args]
    arguments += [f"{name}={_operand(value)}" for name, value in op.kwargs.items()]
    return f"{op.name} = {op.op}({', '.join(arguments)})  # {op.dtype.value}{list(op.shape)}"


def _operand(value: JsonValue) -> str:
    if isinstance(value, dict):
        return str(value.get("ref", value.get("size", value)))
    if isinstance(value, list):
        return "[" + ", ".join(_operand(item) for item in value) + "]"
    return repr(value)


def work(spec: KernelSpec) -> str:
    """The work of one call at the timed shapes, from which the roof follows."""
    least = count_work(spec)
    moved = f"{_scaled(least.nbytes)}B, every tensor once"
    if not least.flops:
        return moved
    return (
        f"{moved}, and {_scaled(least.flops)}FLOP in products: "
        f"{least.flops / least.nbytes:.0f} FLOP per byte"
    )


def _scaled(number: float) -> str:
    for prefix in ("", "k", "M", "G"):
        if number < 1000:  # noqa: PLR2004 - the decimal prefixes
            return f"{number:.3g} {prefix}"
        number /= 1000
    return f"{number:.3g} T"


def machine(arch: str) -> str:
    """What one multiprocessor of an architecture holds; empty for one we know nothing of."""
    limits = LIMITS.get(arch.rstrip("af"))
    if limits is None:
        return ""
    return (
        f"one multiprocessor holds {limits.warps} warps, 65536 registers and "
        f"{limits.smem_bytes // _KIB} KiB of shared memory, {limits.smem_bytes_per_block // _KIB} "
        "of which one block may have"
    )


def reading(number: Reading) -> str:
    """A number of a profile, the rule it falls under, and what it would be at the limit."""
    limit = f"; at the limit: {number.at_the_limit}" if number.at_the_limit else ""
    return (
        f"{number.metric} = {number.value:.4g}{number.unit and ' '}{number.unit}: {number.rule} "
        f"({number.rule_source}){limit}"
    )


def intent(step: Step, reader: str) -> str:
    """What a step was for; of the tuner's, which speak of counters, other readers see less."""
    if _is_sealed(step, reader):
        return "other parameters"
    return step.intent or "none"


def expectation(step: Step, reader: str) -> str:
    """What a step was expected to bring, for the readers that may see it."""
    return "" if _is_sealed(step, reader) else step.expected


def _is_sealed(step: Step, reader: str) -> bool:
    """Whether a step was argued from a profile, which only the tuner is shown (DESIGN §4)."""
    return step.kind is StepKind.TUNING and reader != "profile_tuner"


def outcome(step: Step, reader: str) -> str:
    """What came of a step, in a few words."""
    parts = [step.decision.value]
    if step.status is not None and step.status is not Status.PASSED:
        parts.append(step.status.value)
    if step.time_us is not None:
        parts.append(f"{step.time_us:.1f} µs")
    if step.speedup is not None:
        parts.append(f"{step.speedup:.2f}x over PyTorch eager")
    if step.reason and not _is_sealed(step, reader):
        parts.append(step.reason)
    return "; ".join(parts)


def cell(text: str) -> str:
    """A text that fits into one cell of a table."""
    line = " ".join(text.split()).replace("|", "¦")
    return line if len(line) <= _CELL_LIMIT else f"{line[: _CELL_LIMIT - 1]}…"


def capitalised(text: str) -> str:
    """A text that begins a sentence; unlike Jinja's filter it leaves the rest as it is."""
    return text[:1].upper() + text[1:]


def fenced(text: str, language: str = "") -> str:
    """A text in a fence that no line of its own can close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def numbered(text: str) -> str:
    """A source with its line numbers in front."""
    lines = text.rstrip().split("\n")
    width = len(str(len(lines)))
    rows = (f"{number:{width}}  {line}".rstrip() for number, line in enumerate(lines, start=1))
    return "\n".join(rows)


def bounded(text: str) -> str:
    """The beginning and the end of a long text."""
    if len(text) <= _LOG_LIMIT:
        return text
    half = _LOG_LIMIT // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"
