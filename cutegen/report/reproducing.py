"""How to come to the same run again: the exact commands, and what they need."""

import shlex
from collections.abc import Mapping

from pydantic import JsonValue

from cutegen.report.dossier import Dossier

_DEFAULT_MODEL = "playbook"


def commands(dossier: Dossier) -> tuple[str, ...]:
    """Shell commands, in order; a run that was taken up elsewhere has a second one."""
    settings, spec = dossier.settings, dossier.spec
    if not settings or spec is None:
        return ()
    first = dossier.takeovers[0] if dossier.takeovers else None
    executor = _first_executor(dossier) or str(settings.get("executor", "auto"))
    words = ["cutegen", "run", f"{dossier.spec.name if dossier.spec else dossier.run_id}.py"]
    words += ["--executor", executor, "--math", spec.math_mode.value]
    words += _models(settings)
    words += ["--arch", str(settings.get("arch", "")), "--seed", str(settings.get("seed", 0))]
    words += _budget(settings.get("budget"))
    if settings.get("allow_simplify"):
        words.append("--allow-simplify")
    words += ["--run-id", dossier.run_id]
    told = [_joined(words)]
    if first is not None:
        told.append(_joined(["cutegen", "resume", dossier.run_id, "--executor", first.executor]))
    return tuple(told)


def reference_text(dossier: Dossier) -> str:
    """The KernelBench-format source that the spec was read from; empty where it was a callable."""
    reference = dossier.spec.reference if dossier.spec else None
    return reference.text if reference is not None and reference.kind == "source" else ""


def _first_executor(dossier: Dossier) -> str:
    starts = (event for event in dossier.events if event.event == "run-started")
    return next((event.executor for event in starts), "")


def _models(settings: Mapping[str, JsonValue]) -> list[str]:
    words = ["--model", str(settings.get("model", _DEFAULT_MODEL))]
    own, warmth = settings.get("models"), settings.get("temperatures")
    for agent, name in own.items() if isinstance(own, Mapping) else ():
        words += ["--model", f"{agent}={name}"]
    if settings.get("temperature") is not None:
        words += ["--temperature", str(settings["temperature"])]
    for agent, value in warmth.items() if isinstance(warmth, Mapping) else ():
        words += ["--temperature", f"{agent}={value}"]
    return words


def _budget(budget: JsonValue) -> list[str]:
    if not isinstance(budget, Mapping):
        return []
    words = ["--steps", str(budget.get("steps", 0))]
    for name, option in (("wall_s", "--wall-s"), ("tokens", "--tokens"), ("usd", "--usd")):
        value = budget.get(name)
        if isinstance(value, int | float) and value:
            words += [option, f"{value:g}"]
    return words


def _joined(words: list[str]) -> str:
    return shlex.join(words)
