"""What ``langgraph dev`` keeps threads in: SQLite beside its own files, written at every step.

Without it the server pickles all threads every ten seconds, and forgets what came after when
it is killed. The graphs themselves are exported without a saver, for the server brings this one.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

THREADS = "CUTEGEN_THREADS"
_DEFAULT = Path(".langgraph_api") / "checkpoints.sqlite"  # git ignores that folder


@asynccontextmanager
async def sqlite_saver() -> AsyncIterator[AsyncSqliteSaver]:
    """The saver of one event loop of the server; ``CUTEGEN_THREADS`` names another file."""
    file = Path(os.environ.get(THREADS) or _DEFAULT)
    file.parent.mkdir(parents=True, exist_ok=True)
    async with AsyncSqliteSaver.from_conn_string(str(file)) as saver:
        await saver.setup()
        yield saver
