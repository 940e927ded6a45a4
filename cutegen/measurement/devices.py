"""Names of GPUs that mean the same in every process, whichever GPUs it sees."""

import os

VISIBLE = "CUDA_VISIBLE_DEVICES"


def visible_names(count: int) -> tuple[str, ...]:
    """The first ``count`` devices of this process, as ``CUDA_VISIBLE_DEVICES`` calls them."""
    listed = [name.strip() for name in os.environ.get(VISIBLE, "").split(",") if name.strip()]
    return tuple(listed[i] if i < len(listed) else str(i) for i in range(count))


def lasting_name(device: int) -> str:
    """The name of a device: its index among all, or its UUID where the variable gives that."""
    return visible_names(device + 1)[device]
