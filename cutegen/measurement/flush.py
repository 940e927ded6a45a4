"""How much to write so that none of a kernel's data is left in the L2 cache.

The candidate's worker imports this, so it needs the standard library only.
"""

_TIMES = 2  # an L2 of several slices, with a policy of its own, may keep lines past one capacity
_LEAST = 256 << 20  # bytes; so long a write also hides the host's launch latency


def flush_bytes(l2_bytes: int) -> int:
    """Bytes to write before a timed call on a device whose L2 cache holds ``l2_bytes``.

    Raises:
        ValueError: The device claims a cache of negative size.
    """
    if l2_bytes < 0:
        raise ValueError(f"an L2 cache of {l2_bytes} bytes: the device attribute was misread")
    return max(_TIMES * l2_bytes, _LEAST)
