"""How far a time is from the limit, and whether it can be true at all."""

from cutegen.measurement.ceilings import Ceilings
from cutegen.measurement.timing import Roofline, Timing
from cutegen.measurement.work import Work, count_work
from cutegen.spec import DType, KernelSpec, MathMode

GUARD = 0.9
_HALF_MODES = {DType.FLOAT16: MathMode.FP16, DType.BFLOAT16: MathMode.BF16}


def roofline(spec: KernelSpec, timing: Timing, ceilings: Ceilings) -> Roofline:
    """The limit of one call, and the fraction of it that a timing reaches.

    The floor is the larger of two times: every tensor moved once at copy bandwidth, and the
    products at the rate of the math mode (see ``Ceilings.flops_per_s``).
    """
    work = count_work(spec)
    memory_us = work.nbytes / ceilings.copy_bytes_per_s * 1e6
    mode = _mode(spec, work)
    rate = ceilings.flops_per_s(mode or spec.math_mode)
    compute_us = work.flops / rate * 1e6 if mode else 0.0
    floor_us = max(memory_us, compute_us)
    return Roofline(
        bytes_moved=work.nbytes,
        flops=work.flops,
        copy_bytes_per_s=ceilings.copy_bytes_per_s,
        flops_per_s=rate,
        floor_us=floor_us,
        bound="compute" if compute_us > memory_us else "memory",
        fraction=floor_us / timing.median_us,
    )


def refusal(spec: KernelSpec, timing: Timing, ceilings: Ceilings) -> str:
    """Why a time is too good to be true, or an empty string when it may be true.

    A time is refused below 0.9 times what certainly must happen: the inputs read from cold
    memory (the part of the output that fits L2 may still lie there when the kernel ends),
    and the operations at one and a half times the library's rate.
    """
    work = count_work(spec)
    nbytes = work.certain_reads + max(0, work.writes - ceilings.l2_bytes)
    mode = _mode(spec, work)
    floors = {
        f"moving {nbytes / 1e6:.1f} MB": nbytes / ceilings.copy_bytes_per_s * 1e6,
        f"{work.certain_flops / 1e9:.1f} GFLOP in {mode or spec.math_mode}": (
            work.certain_flops / ceilings.most_flops_per_s(mode) * 1e6 if mode else 0.0
        ),
    }
    what, floor_us = max(floors.items(), key=lambda item: item[1])
    if timing.median_us >= GUARD * floor_us:
        return ""
    return (
        f"{timing.median_us:.2f} µs is too fast to be true: {what} takes at least "
        f"{floor_us:.2f} µs on this {ceilings.device}, so the kernel left work out"
    )


def _mode(spec: KernelSpec, work: Work) -> MathMode | None:
    """Whose rate bounds the products; None when no ceiling is known for their type."""
    if work.dtype in _HALF_MODES:
        return _HALF_MODES[work.dtype]
    return spec.math_mode if work.dtype is DType.FLOAT32 else None
