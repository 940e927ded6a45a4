"""What will be checked of one candidate, decided before its memory is taken."""

from dataclasses import dataclass

from cutegen.spec import Case, KernelSpec
from cutegen.verification.known_edges import known_edge_cases
from cutegen.verification.tiles import Tiles, tiles_of


@dataclass(frozen=True)
class CheckPlan:
    """Cases at the edges of the candidate's tiles beside those of the spec, and its tiles."""

    edges: tuple[Case, ...]
    tiles: Tiles

    def cases(self, spec: KernelSpec) -> tuple[Case, ...]:
        """Every case that may be run, the timed one last."""
        return (*spec.checks, *self.edges, spec.timed)


def plan_checks(spec: KernelSpec, source: str) -> CheckPlan:
    """Read the candidate's tiles, and make cases of them; no source, usual tiles."""
    tiles = tiles_of(source)
    return CheckPlan(edges=known_edge_cases(spec, tiles), tiles=tiles)
