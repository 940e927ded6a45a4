"""CUDA events of PyTorch, whose own stubs leave them untyped."""

import torch


def timing_event() -> torch.cuda.Event:
    """An event that takes the time when it is recorded."""
    event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call] # torch's stub
    assert isinstance(event, torch.cuda.Event)
    return event


def elapsed_us(start: torch.cuda.Event, stop: torch.cuda.Event) -> float:
    """Time between two events that have happened, in microseconds."""
    return float(start.elapsed_time(stop)) * 1e3
