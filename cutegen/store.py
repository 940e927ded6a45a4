"""A run's memory: content-addressed artefacts, and a ledger of what must not happen twice.

A run folder is self-contained: ``objects/`` and ``ledger.sqlite`` hold everything that the
graph's state names by id, so the folder can be carried to another machine and taken up there.
"""

import hashlib
import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, JsonValue

from cutegen.frozen import Frozen
from cutegen.history import Step
from cutegen.kernel import Candidate

ModelT = TypeVar("ModelT", bound=BaseModel)

_BUSY_S = 30.0
_AGAIN_S = 0.01
_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT PRIMARY KEY, spec TEXT NOT NULL, settings TEXT NOT NULL, started REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS model_calls (
    key TEXT PRIMARY KEY, agent TEXT NOT NULL, step INTEGER NOT NULL, attempt INTEGER NOT NULL,
    prompt TEXT NOT NULL, reply TEXT NOT NULL, finish_reason TEXT NOT NULL,
    usage TEXT NOT NULL, seconds REAL NOT NULL, answered REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS candidates (id TEXT PRIMARY KEY, candidate_json TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS steps (
    step INTEGER PRIMARY KEY, kind TEXT NOT NULL, agent TEXT NOT NULL, candidate TEXT NOT NULL,
    decision TEXT NOT NULL, step_json TEXT NOT NULL
);
"""
_SELECT_CALLS = (
    "SELECT key, agent, step, attempt, prompt, reply, finish_reason, usage, seconds"
    " FROM model_calls"
)


class MissingObjectError(LookupError):
    """A run folder lacks an artefact that its state names."""


class Store:
    """Artefacts by the SHA-256 of their bytes, one file each."""

    def __init__(self, folder: Path) -> None:
        """Keep artefacts under ``folder``, which is made when first needed."""
        self._folder = folder

    def put(self, content: bytes | str) -> str:
        """Keep bytes or text (as UTF-8), and return their id. Writing twice is harmless."""
        data = content.encode() if isinstance(content, str) else content
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data)
        return digest

    def put_model(self, model: BaseModel) -> str:
        """Keep a model as JSON."""
        return self.put(model.model_dump_json())

    def get(self, digest: str) -> bytes:
        """The bytes of an id.

        Raises:
            MissingObjectError: The folder holds no such artefact.
        """
        try:
            return self._path(digest).read_bytes()
        except FileNotFoundError as error:
            raise MissingObjectError(
                f"{self._folder} lacks the artefact {digest[:12]}: copy the whole run folder"
            ) from error

    def get_text(self, digest: str) -> str:
        """The text of an id."""
        return self.get(digest).decode()

    def get_model(self, digest: str, kind: type[ModelT]) -> ModelT:
        """The model of an id."""
        return kind.model_validate_json(self.get(digest))

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest[2:]


class ModelCall(Frozen):
    """A model call that was answered. ``prompt`` is the id of the prompt's text.

    ``usage`` holds counts of tokens, ``estimated`` where the server sent none, and ``cost_usd``,
    which is null where the model's price is not known.
    """

    key: str
    agent: str
    step: int
    attempt: int
    prompt: str
    reply: str
    finish_reason: str = ""
    usage: dict[str, JsonValue] = {}
    seconds: float


class Usage(Frozen):
    """What the answered model calls of a run add up to."""

    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    cost_usd: float | None = 0.0
    uncounted: int = 0


class Ledger:
    """What a run has done, in SQLite: one connection per operation, so any thread may ask."""

    def __init__(self, file: Path) -> None:
        """Use the database ``file``, which is made when needed."""
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as database:
            _write_ahead(database)
            database.executescript(_SCHEMA)

    def start(self, run_id: str, spec: str, settings: str) -> None:
        """Note the run's spec id and settings (JSON); a run that is noted stays as it is."""
        with self._open() as database:
            database.execute(
                "INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?)",
                (run_id, spec, settings, time.time()),
            )

    def settings(self, run_id: str) -> str | None:
        """The settings that the run was started with; None before its start."""
        with self._open() as database:
            row = database.execute(
                "SELECT settings FROM runs WHERE run_id = ?", (run_id,)
            ).fetchone()
        return str(row["settings"]) if row else None

    def answered(self, key: str) -> ModelCall | None:
        """The call of that key, if it was answered before."""
        with self._open() as database:
            row = database.execute(f"{_SELECT_CALLS} WHERE key = ?", (key,)).fetchone()
        return _model_call(row) if row else None

    def record_call(self, call: ModelCall) -> None:
        """Keep an answer; it is durable on return. The first answer of a key stands."""
        with self._open() as database:
            database.execute(
                "INSERT OR IGNORE INTO model_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    call.key,
                    call.agent,
                    call.step,
                    call.attempt,
                    call.prompt,
                    call.reply,
                    call.finish_reason,
                    json.dumps(call.usage),
                    call.seconds,
                    time.time(),
                ),
            )

    def calls(self) -> tuple[ModelCall, ...]:
        """Every answered call, in the order of the answers."""
        with self._open() as database:
            rows = database.execute(f"{_SELECT_CALLS} ORDER BY answered, rowid").fetchall()
        return tuple(map(_model_call, rows))

    def usage(self) -> Usage:
        """What has been spent on models so far."""
        calls = self.calls()
        tokens = [call.usage.get("total_tokens") for call in calls]
        return Usage(
            calls=len(calls),
            tokens=sum(count for count in tokens if isinstance(count, int)),
            seconds=sum(call.seconds for call in calls),
            cost_usd=_total([call.usage.get("cost_usd", 0.0) for call in calls]),
            uncounted=sum(bool(call.usage.get("estimated")) for call in calls),
        )

    def record_candidate(self, candidate: Candidate) -> None:
        """Keep who proposed a source; the first to propose it stands."""
        with self._open() as database:
            database.execute(
                "INSERT OR IGNORE INTO candidates VALUES (?, ?)",
                (candidate.id, candidate.model_dump_json()),
            )

    def candidate(self, identity: str) -> Candidate:
        """The candidate of an id.

        Raises:
            MissingObjectError: No such candidate was proposed in this run.
        """
        with self._open() as database:
            row = database.execute(
                "SELECT candidate_json FROM candidates WHERE id = ?", (identity,)
            ).fetchone()
        if row is None:
            raise MissingObjectError(f"{self._file} knows no candidate {identity}")
        return Candidate.model_validate_json(row["candidate_json"])

    def record_step(self, step: Step) -> None:
        """Keep a step under its index; a node that is run again replaces what it wrote."""
        with self._open() as database:
            database.execute(
                "INSERT OR REPLACE INTO steps VALUES (?, ?, ?, ?, ?, ?)",
                (
                    step.index,
                    step.kind,
                    step.agent,
                    step.candidate,
                    step.decision,
                    step.model_dump_json(),
                ),
            )

    def steps(self) -> tuple[Step, ...]:
        """Every step, in order."""
        with self._open() as database:
            rows = database.execute("SELECT step_json FROM steps ORDER BY step").fetchall()
        return tuple(Step.model_validate_json(row[0]) for row in rows)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """One transaction: committed at the end, rolled back by an exception."""
        database = sqlite3.connect(self._file, timeout=_BUSY_S)
        database.row_factory = sqlite3.Row
        try:
            with database:
                yield database
        finally:
            database.close()


def _write_ahead(database: sqlite3.Connection) -> None:
    """Keep a log of writes, so that readers and a writer do not wait for each other.

    While another connection does the same to a new database, SQLite refuses at once, whatever
    time limit the connection has; so it is asked again until that limit.
    """
    end = time.monotonic() + _BUSY_S
    while True:
        try:
            database.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(_AGAIN_S)
        else:
            return


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file so that every reader, even after a kill, sees all of it or the old one."""
    data = content.encode() if isinstance(content, str) else content
    descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(fresh).chmod(0o644)  # mkstemp lets nobody else read
        Path(fresh).replace(path)
    except BaseException:
        Path(fresh).unlink(missing_ok=True)
        raise


def _total(costs: Sequence[JsonValue]) -> float | None:
    """The sum of costs; unknown if one of them is."""
    known = [float(cost) for cost in costs if isinstance(cost, int | float)]
    return sum(known) if len(known) == len(costs) else None


def _model_call(row: sqlite3.Row) -> ModelCall:
    return ModelCall.model_validate({**dict(row), "usage": json.loads(row["usage"])})
