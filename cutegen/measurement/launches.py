"""What one call puts on the stream, and whether that accounts for its time."""

from cutegen.frozen import Frozen
from cutegen.measurement.timing import Timing

_FACTOR = 2.0
_SLACK_US = 10.0  # a graph costs some microseconds to start


class LaunchedKernel(Frozen):
    """One kernel of a call: extents of grid and block, dynamic shared memory in bytes."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int


class Launches(Frozen):
    """One call, captured as a CUDA graph and replayed on a cold L2.

    ``others`` counts copies and the like; ``replay_us`` is the median device time. Where a
    call cannot be captured, ``reason`` says why and the rest is empty.
    """

    kernels: tuple[LaunchedKernel, ...] = ()
    others: dict[str, int] = {}
    replay_us: float = 0.0
    reason: str = ""


def unaccounted(launches: Launches, timing: Timing) -> str:
    """Why a time is not that of the work a call puts on the stream, or an empty string.

    Replayed from a graph, the same kernels take the same time, give or take the start of the
    graph. A timed call that was much shorter has left work out, or put it elsewhere.
    """
    if launches.reason:
        return ""
    if not launches.kernels:
        rest = ", ".join(f"{count} {kind}" for kind, count in launches.others.items())
        return f"a call puts no kernel on the launch stream ({rest or 'nothing at all'})"
    if launches.replay_us > _FACTOR * timing.median_us + _SLACK_US:
        names = ", ".join(kernel.name for kernel in launches.kernels)
        return (
            f"the kernels of one call ({names}) take {launches.replay_us:.1f} µs when they are "
            f"replayed, where timed calls took {timing.median_us:.1f} µs"
        )
    return ""
