"""Which models can be asked from here, without asking any."""

import os

from cutegen.doctor import Finding, Health

_KEY = "OPENAI_API_KEY"


def offered() -> Finding:
    """What ``--model`` may name here; ``probe`` then asks one."""
    service = f"openai:NAME once {_KEY} is set, or openai:NAME@URL"
    if os.environ.get(_KEY):
        where = os.environ.get("OPENAI_BASE_URL") or "api.openai.com"
        service = f"openai:NAME at {where} (try it: cutegen doctor --model openai:NAME)"
    return Finding(
        part="model",
        health=Health.OK,
        detail=f"playbook, human and replay:FILE need no service; {service}",
    )
