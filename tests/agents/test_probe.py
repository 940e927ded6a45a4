"""``cutegen doctor --model``: what a service can do, found out by asking it."""

from typing import Any

import pytest

from cutegen.agents.models.choice import by_agent
from cutegen.agents.models.probe import probe
from cutegen.doctor import Health

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

EDIT = (
    "INTENT: twice the threads\n<<<<<<< SEARCH\nconstexpr int kThreads = 128;\n=======\n"
    "constexpr int kThreads = 256;\n>>>>>>> REPLACE\n"
)


def health(name: str) -> dict[str, Health]:
    return {finding.part: finding.health for finding in probe(name)}


def test_a_model_that_can_do_everything(service: Any) -> None:
    service.reply(EDIT)
    assert set(health("openai:gpt-4o").values()) == {Health.OK}


def test_a_model_that_can_do_little(service: Any) -> None:
    service.unknown = {"temperature", "stream"}
    service.reply("Sure! Here is the new file.", usage=None)
    assert health("openai:mystery") == {
        "model": Health.OK,
        "reply format": Health.DEGRADED,
        "streaming": Health.DEGRADED,
        "temperature": Health.DEGRADED,
        "token counts": Health.DEGRADED,
        "price": Health.DEGRADED,
    }


def test_a_model_that_edits_wrongly(service: Any) -> None:
    service.reply(EDIT.replace("256", "512"))
    assert health("openai:gpt-4o")["reply format"] is Health.DEGRADED


def test_a_model_that_is_not_there(service: Any) -> None:
    service.fail(404, "no such model")
    (finding,) = probe("openai:gone")
    assert finding.health is Health.MISSING
    assert "check the model's name" in finding.advice or "check the model's name" in finding.detail


def test_a_model_without_a_service() -> None:
    (finding,) = probe("playbook")
    assert finding.health is Health.OK
    assert probe("nonsense")[0].health is Health.MISSING


def test_options_of_single_agents() -> None:
    assert by_agent(["a", "repairer=b", "profile_tuner=c=d"]) == (
        "a",
        {"repairer": "b", "profile_tuner": "c=d"},
    )
    assert by_agent(["openai:x@http://h/v1?a=b"]) == ("openai:x@http://h/v1?a=b", {})
    with pytest.raises(ValueError, match="'tuner' is no agent"):
        by_agent(["tuner=x"])
