"""Trying the confinement of workers on this machine, with a process that tries to break out."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import ValidationError

import cutegen
from cutegen.frozen import Frozen

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[2]); "
    "from cutegen.execution.confinement import main; main(sys.argv[1])"
)
_TIMEOUT_S = 30.0


class Held(Frozen):
    """What is in force (0 for what the machine lacks), and which attempts came to nothing."""

    landlock: int
    seccomp: int
    memory: int
    refused: dict[str, bool]


def probe() -> Held:
    """Confine a fresh process as a worker is confined, and have it try.

    Raises:
        OSError: The process cannot be started.
        RuntimeError: It ended without an answer; the message holds what it said.
    """
    root = str(Path(cutegen.__file__).resolve().parents[1])
    with TemporaryDirectory(prefix="cutegen-probe-") as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-S", "-c", _BOOT, folder, root],
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
                start_new_session=True,
                check=False,
            )
            return Held.model_validate_json(done.stdout)
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"it did not end within {_TIMEOUT_S:g} s") from error
        except ValidationError as error:
            raise RuntimeError(done.stderr.strip()[-500:] or "it said nothing") from error
