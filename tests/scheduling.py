"""Which of several workers runs which test: what shares a build, a run or a server stays together.

Elsewhere each worker would build the same library, or wait idly while another one builds it.
(xdist's own groups, ``--dist loadgroup``, do nothing under pytest 9.2.)
"""

import re

from xdist.scheduler import LoadScopeScheduling

_TOGETHER = frozenset(
    {
        "tests/cutegen/emulator/test_atoms.py",
        "tests/cutegen/emulator/test_emulated_kernels.py",
        "tests/cutegen/emulator/test_hopper.py",
        "tests/cutegen/report/test_browser.py",
        "tests/cutegen/test_cli_runs.py",
        "tests/graphs/test_dev_server.py",
        "tests/graphs/test_durability.py",
    }
)
_UNIT = re.compile(r"tests/conformance/test_\w+\.py::\w+\[(?P<unit>\w+)-")


class SharedBuilds(LoadScopeScheduling):
    """A scope is a file of ``_TOGETHER``, a unit of the conformance suite, or a single test.

    Large scopes go first, so that none is left over for one worker at the end.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if file in _TOGETHER:
            return file
        return unit["unit"] if (unit := _UNIT.match(nodeid)) else nodeid
