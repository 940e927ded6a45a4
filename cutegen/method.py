"""How a run searches. Each switch turns one idea of the method off, so that it can be tested.

The defaults are the method itself: structure first and counters later, repairs by patch, every
step from the best kernel. The other values are for ablations.
"""

from cutegen.frozen import Frozen
from cutegen.switches import Profiling, RepairForm, Start


class Method(Frozen):
    """The switches of a run."""

    profiling: Profiling = "delayed"
    repair: RepairForm = "patch"
    start: Start = "best"

    @property
    def departures(self) -> str:
        """What differs from the method itself, in words; empty where nothing does."""
        given, usual = self.model_dump(), Method().model_dump()
        return ", ".join(
            f"{switch}={value}" for switch, value in given.items() if value != usual[switch]
        )
