"""Which changes of numbers to try first, by what a profile says holds the kernel back."""

from collections.abc import Mapping
from enum import StrEnum

from cutegen.measurement.profile import Bottleneck


class Effect(StrEnum):
    """What a move changes for the machine."""

    IN_FLIGHT = "more bytes on their way at once"
    REUSE = "more arithmetic per value loaded"
    SMALLER = "less of a multiprocessor per block"
    OTHER = "another granularity"


ORDER: Mapping[Bottleneck, tuple[Effect, ...]] = {
    # the memory system is fed by requests, whether it is their number or their latency that limits
    Bottleneck.MEMORY: (Effect.IN_FLIGHT, Effect.REUSE, Effect.OTHER, Effect.SMALLER),
    Bottleneck.LATENCY: (Effect.IN_FLIGHT, Effect.SMALLER, Effect.OTHER, Effect.REUSE),
    # arithmetic waits for shared memory and barriers before it waits for anything else
    Bottleneck.COMPUTE: (Effect.REUSE, Effect.OTHER, Effect.IN_FLIGHT, Effect.SMALLER),
    Bottleneck.TENSOR: (Effect.REUSE, Effect.IN_FLIGHT, Effect.OTHER, Effect.SMALLER),
    # smaller tiles are more blocks
    Bottleneck.LAUNCH: (Effect.SMALLER, Effect.OTHER, Effect.IN_FLIGHT, Effect.REUSE),
    # registers and shared memory of a block decide how many fit beside each other
    Bottleneck.OCCUPANCY: (Effect.SMALLER, Effect.OTHER, Effect.IN_FLIGHT, Effect.REUSE),
    Bottleneck.SPILLS: (Effect.SMALLER, Effect.OTHER, Effect.REUSE, Effect.IN_FLIGHT),
}
"""A bottleneck that is not listed leaves moves in the order of their design."""


def rank(effect: Effect, bottleneck: Bottleneck) -> int:
    """Where a move with this effect comes among others; equal ranks keep their order."""
    order = ORDER.get(bottleneck, ())
    return order.index(effect) if effect in order else len(order)
