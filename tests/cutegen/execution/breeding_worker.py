"""A worker that is not confined, and starts processes of its own."""

import json
import subprocess

from cutegen.execution.serving import Message, confine, serve


def breed(request: Message) -> Message:
    del request
    return {"child": subprocess.Popen(["sleep", "600"]).pid}


def main(argument: str) -> None:
    settings = json.loads(argument)
    confine(settings)
    serve(settings["channel"], lambda: {"breed": breed}, (OSError,))
