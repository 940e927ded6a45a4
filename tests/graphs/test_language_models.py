"""Whole runs against a real HTTP server that speaks OpenAI's API, with everything that happens."""

import json
from pathlib import Path
from typing import Any

import pytest

from cutegen.agents.models.prices import price_of
from cutegen.events import AgentAsked, AgentSpeaks, AskedAgain, Event, read_events
from cutegen.graphs.resuming import resume_run
from cutegen.graphs.running import run_graph
from cutegen.graphs.settings import Budget
from cutegen.result import RunResult, RunStatus
from cutegen.spec import KernelSpec
from cutegen.store import Ledger

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


@pytest.fixture
def options(tiny: KernelSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    prices = tmp_path / "prices.toml"
    prices.write_text('[[price]]\nmodel = "small*"\ninput = 1000.0\noutput = 2000.0\n')
    monkeypatch.setenv("CUTEGEN_PRICES", str(prices))
    return {
        "spec": tiny,
        "model": "openai:small",
        "executor": "emulated",
        "nvcc_gate": False,
        "runs_dir": tmp_path / "runs",
    }


CALL_USD = (100 * 1000 + 10 * 2000) / 1e6


def test_a_run_survives_everything_a_service_does(
    service: Any,
    script: Any,
    options: dict[str, Any],
    waits: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cutegen.graphs.durable_model._SPEAKS_EVERY_S", 0.01)
    replies = [text for _, text in script.everything()]
    first, diagnosis, repair, structure, *rest = replies
    service.unknown = {"temperature"}
    service.reply(first[: len(first) // 2], finish_reason="length")  # cut
    service.fail(429, "slow down", Retry_After="3")
    service.reply(first, pause_s=0.02)  # slow
    service.fail(500, "oops")
    service.reply(diagnosis, usage=None)  # not counted
    service.reply(None)  # an empty choice
    service.reply(repair, drop_after=3)  # dropped
    service.reply(repair)
    service.reply(structure)
    for text in rest:
        service.reply(text)
    events: list[Event] = []
    result = run_graph(**options, temperature=0.5, on_event=events.append)

    assert result.status is RunStatus.SUCCEEDED, result.reason
    assert result.best is not None
    assert result.best.source == script.source.replace(script.flat, script.strided)
    assert not service.answers
    assert waits == [3.0, 0.5, 0.5]

    # the log: each call once, each fault told
    asked = [event for event in events if isinstance(event, AgentAsked)]
    assert len(asked) == len(replies) + 2 == result.model_calls
    again = [event.reason for event in events if isinstance(event, AskedAgain)]
    assert len(again) == 3
    assert "slow down" in again[0]
    assert "oops" in again[1]
    assert any(isinstance(event, AgentSpeaks) for event in events)
    assert list(read_events(result.run_dir / "log.jsonl")) == events

    # the cost: what was counted, and an estimate of what was not
    calls = Ledger(result.run_dir / "ledger.sqlite").calls()
    (guessed,) = [call for call in calls if call.usage.get("estimated")]
    assert guessed.agent == "diagnostician"
    assert result.uncounted_calls == 1
    assert result.tokens == 110 * (len(calls) - 1) + int(str(guessed.usage["total_tokens"]))
    cost = CALL_USD * (len(calls) - 1) + float(str(guessed.usage["cost_usd"]))
    assert result.cost_usd == pytest.approx(cost)
    assert sum(event.cost_usd or 0 for event in asked) == pytest.approx(cost)
    assert RunResult.load(result.run_dir).cost_usd == result.cost_usd


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ({"usd": 2.5 * CALL_USD}, "US dollars is spent"),
        ({"tokens": 300}, "300 tokens is spent (330)"),
        ({"model_calls": 3}, "3 model calls is spent (3)"),
    ],
)
def test_a_limit_stops_the_run_and_keeps_the_best(
    service: Any, script: Any, options: dict[str, Any], limit: dict[str, Any], reason: str
) -> None:
    service.reply(script.first()[1])
    for _ in range(9):
        service.reply("OUT_OF_IDEAS: none")
    result = run_graph(**options, budget=Budget(**limit))
    assert result.status is RunStatus.STOPPED
    assert reason in result.reason
    assert len(service.asked) == 3
    assert result.best is not None
    more = resume_run(result.run_dir, budget=Budget())
    assert more.status is RunStatus.SUCCEEDED


def test_a_service_that_stays_away_stops_the_run_where_it_is(
    service: Any, script: Any, options: dict[str, Any], waits: list[float]
) -> None:
    service.reply(script.first()[1])
    for _ in range(4):
        service.fail(503, "maintenance")
    result = run_graph(**options, budget=Budget(steps=1))
    assert result.status is RunStatus.STOPPED
    assert "maintenance" in result.reason
    assert result.best is not None
    assert len(waits) == 3
    service.reply("OUT_OF_IDEAS: none")
    assert resume_run(result.run_dir).status is RunStatus.SUCCEEDED
    assert len(service.asked) == 6  # the first kernel was not asked for again


def test_money_is_not_limited_where_prices_are_unknown(options: dict[str, Any]) -> None:
    """Said before a folder is made, and before the service is looked for."""
    unknown = options | {"model": "openai:nobody-knows-it"}
    with pytest.raises(ValueError, match="no table has one for openai:nobody-knows-it"):
        run_graph(**unknown, budget=Budget(usd=1.0))
    assert not options["runs_dir"].exists()


def test_agents_speak_to_models_of_their_own(
    service: Any, script: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    agent, text = script.first()
    file = tmp_path / "first.jsonl"
    file.write_text(json.dumps({"agent": agent, "reply": text}) + "\n")
    for _ in range(3):
        service.reply("OUT_OF_IDEAS: none")
    result = run_graph(
        **options,
        models={"synthesizer": f"replay:{file}", "profile_tuner": "openai:small-tuner"},
        temperature=0.2,
        temperatures={"profile_tuner": 0.9},
    )
    assert result.status is RunStatus.SUCCEEDED, result.reason
    assert [(asked["model"], asked["temperature"]) for asked in service.asked] == [
        ("small", 0.2),
        ("small", 0.2),
        ("small-tuner", 0.9),
    ]
    assert result.model.startswith("openai:small, synthesizer=replay:")
    assert result.cost_usd == pytest.approx(3 * CALL_USD)
    with pytest.raises(ValueError, match="'tuner' is no agent: use synthesizer"):
        run_graph(**options, models={"tuner": "playbook"})


def test_prices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cheap = price_of("openai:gpt-5-mini-2025-08-07")
    assert cheap is not None
    assert cheap.of(1_000_000, 1_000_000) == pytest.approx(2.25)
    assert price_of("openai:local-thing") is None
    free = price_of("playbook")
    assert free is not None
    assert free.of(5, 5) == 0.0
    own = tmp_path / "own.toml"
    own.write_text('[[price]]\nmodel = "gpt-5-mini*"\ninput = 1\noutput = 1\n')
    monkeypatch.setenv("CUTEGEN_PRICES", str(own))
    dear = price_of("openai:gpt-5-mini@http://proxy/v1")
    assert dear is not None
    assert dear.of(1_000_000, 0) == 1.0
    bad = tmp_path / "bad.toml"
    bad.write_text("price = 3")
    monkeypatch.setenv("CUTEGEN_PRICES", str(bad))
    with pytest.raises(ValueError, match="is no table of prices"):
        price_of("openai:x")
