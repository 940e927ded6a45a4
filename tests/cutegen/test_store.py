"""Artefacts and the ledger: by content, by several at once, and past a kill."""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cutegen.history import Decision, Step, StepKind
from cutegen.kernel import Candidate
from cutegen.store import Ledger, MissingObjectError, ModelCall, Store, write_atomically


def call(key: str, tokens: int = 0) -> ModelCall:
    usage = {"total_tokens": tokens} if tokens else {}
    return ModelCall(
        key=key, agent="repairer", step=1, attempt=0, prompt="p", reply=key, usage=usage, seconds=1
    )


def step(index: int, decision: Decision = Decision.ACCEPTED) -> Step:
    return Step(index=index, kind=StepKind.TUNING, agent="tuner", intent="", decision=decision)


def test_equal_contents_are_one_artefact(tmp_path: Path) -> None:
    store = Store(tmp_path / "objects")
    text = "__global__ void µ();\n"
    digest = store.put(text)
    assert store.put(text.encode()) == digest
    assert store.get_text(digest) == text
    assert store.get_model(store.put_model(step(3)), Step) == step(3)
    files = [path for path in (tmp_path / "objects").rglob("*") if path.is_file()]
    assert len(files) == 2
    with pytest.raises(MissingObjectError, match="whole run folder"):
        store.get("0" * 64)


def test_a_folder_can_be_moved(tmp_path: Path) -> None:
    digest = Store(tmp_path / "here" / "objects").put("source")
    Ledger(tmp_path / "here" / "ledger.sqlite").record_call(call("k"))
    moved = (tmp_path / "here").rename(tmp_path / "there")
    assert Store(moved / "objects").get_text(digest) == "source"
    assert Ledger(moved / "ledger.sqlite").calls() == (call("k"),)


def test_the_first_answer_stands(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    assert ledger.answered("k") is None
    ledger.record_call(call("k", tokens=5))
    ledger.record_call(call("k").model_copy(update={"reply": "another"}))
    assert ledger.answered("k") == call("k", tokens=5)
    ledger.record_call(call("l", tokens=2))
    usage = ledger.usage()
    assert (usage.calls, usage.tokens, usage.seconds) == (2, 7, 2.0)


def test_a_step_run_again_replaces_itself(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.record_step(step(1))
    ledger.record_step(step(0))
    ledger.record_step(step(1, Decision.REJECTED))
    assert ledger.steps() == (step(0), step(1, Decision.REJECTED))


def test_a_run_keeps_its_settings_and_candidates(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    assert ledger.settings("run") is None
    ledger.start("run", "spec", "{}")
    ledger.start("run", "spec", '{"seed": 1}')
    assert ledger.settings("run") == "{}"
    candidate = Candidate(id="c", source="s", author="synthesizer", intent="plain")
    ledger.record_candidate(candidate)
    assert ledger.candidate("c") == candidate
    with pytest.raises(MissingObjectError):
        ledger.candidate("d")


def test_many_writers_at_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "objects")

    def work(number: int) -> str:
        Ledger(tmp_path / "ledger.sqlite").record_call(call(f"k{number}", tokens=1))
        return store.put(f"text {number % 4}")

    with ThreadPoolExecutor(8) as pool:
        digests = list(pool.map(work, range(64)))
    assert len(set(digests)) == 4
    assert Ledger(tmp_path / "ledger.sqlite").usage().tokens == 64


def _write_for_ever(folder: Path) -> None:
    ledger, store = Ledger(folder / "ledger.sqlite"), Store(folder / "objects")
    for number in range(1_000_000):
        digest = store.put(f"{number} " * 1000)
        ledger.record_call(call(digest))
        write_atomically(folder / "result.json", f"{number} " * 10_000)


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[list[int]]:
    """Processes forked before anything is open; killed at the end in any case."""
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_write_for_ever, args=(tmp_path,)) for _ in range(2)]
    for process in processes:
        process.start()
    yield [process.pid for process in processes if process.pid]
    for process in processes:
        process.kill()
        process.join()


def test_a_kill_leaves_whole_artefacts(writers: list[int], tmp_path: Path) -> None:
    deadline = time.monotonic() + 30
    while not (tmp_path / "result.json").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)
    for pid in writers:
        os.kill(pid, signal.SIGKILL)
    ledger, store = Ledger(tmp_path / "ledger.sqlite"), Store(tmp_path / "objects")
    calls = ledger.calls()
    assert calls
    for known in calls:
        words = store.get_text(known.key).split()
        assert words == [words[0]] * 1000
    assert len((tmp_path / "result.json").read_text().split()) == 10_000
    ledger.record_call(call("after"))
    assert ledger.answered("after") is not None
