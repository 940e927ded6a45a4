"""A run's answered model calls as a recording that ``replay:FILE`` plays."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cutegen.agents.models.replay import RecordedCall, write_recording
from cutegen.graphs.workshop import RunFolder


@contextmanager
def recorded(folder: Path, file: str | Path | None) -> Iterator[None]:
    """Record the run in ``folder`` at the end of the block, however it ends.

    The ledger holds every answer since the run began, whichever process asked for it, so a
    recording is always whole.

    Args:
        folder: The run's.
        file: The recording; None for none.
    """
    try:
        yield
    finally:
        if file is not None:
            write_recording(Path(file), recording_of(folder))


def recording_of(folder: Path) -> tuple[RecordedCall, ...]:
    """The calls of a run, in the order in which they were answered."""
    kept = RunFolder(folder)
    return tuple(
        RecordedCall(
            agent=call.agent,
            prompt=json.loads(kept.store.get_text(call.prompt)),
            reply=call.reply,
            finish_reason=call.finish_reason,
            usage={
                name: count
                for name, count in call.usage.items()
                if isinstance(count, int) and name.endswith("_tokens")
            },
        )
        for call in kept.ledger.calls()
    )
