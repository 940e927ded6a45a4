"""Check cases at the edges of a candidate's own tiles: one element, a tile less or more one.

The shapes of a spec are chosen before there is a candidate. Mistakes of predication show at
its tiles, so these cases are made of the tile extents that its source names.
"""

from collections.abc import Callable, Mapping, Sequence

from cutegen.cases import Cases
from cutegen.check_shapes import Shapes
from cutegen.reference import built_module
from cutegen.spec import Case, KernelSpec
from cutegen.verification.tiles import Tile, Tiles

_GIVEN = "given"  # the user chose the shapes: others may not be what the reference is for
_BATCHES = Tile(name="batch", extent=2)
_EDGES: tuple[tuple[str, Callable[[int], int]], ...] = (
    ("edge-one", lambda _: 1),
    ("edge-tile-minus-1", lambda tile: tile - 1),
    ("edge-tile-plus-1", lambda tile: tile + 1),
    ("edge-three-tiles", lambda tile: 3 * tile),
)

_History = tuple[int, ...]
"""One extent in all cases, the timed one first: equal histories are one symbol."""


def edge_cases(spec: KernelSpec, tiles: Tiles) -> tuple[Case, ...]:
    """Cases that the reference runs at, all different from the spec's own; perhaps none.

    An extent that is the same in all of the spec's cases stays as it is, and extents that
    agree in all of them stay equal. None grows beyond the timed one.
    """
    cases = (spec.timed, *spec.checks)
    if not spec.checks or any(case.name.startswith(_GIVEN) for case in spec.checks):
        return ()
    maker = Cases(
        built_module(spec.reference), spec.arguments, spec.timed.of("parameter", "buffer")
    )
    inputs = _histories(cases, "input")
    cut_by = _tiles_of_extents(inputs, _histories(cases, "output"), tiles)
    seen = {_input_shapes(case) for case in cases}
    found: list[Case] = []
    for name, size in _EDGES:
        extents = {
            history: max(1, min(size(tile.extent), history[0])) for history, tile in cut_by.items()
        }
        shapes = tuple(
            tuple(extents.get(history, history[0]) for history in tensor) for tensor in inputs
        )
        work = maker.work(shapes) if shapes not in seen else None
        if work is None or not work.fits:
            continue
        seen.add(shapes)
        (case,) = maker.given([shapes])
        found.append(case.model_copy(update={"name": name}))
    return tuple(found)


def _histories(cases: Sequence[Case], role: str) -> tuple[tuple[_History, ...], ...]:
    """Per tensor of a role, the history of every extent."""
    by_tensor = zip(*(case.of(role) for case in cases), strict=True)
    return tuple(
        tuple(zip(*(tensor.shape for tensor in in_all_cases), strict=True))
        for in_all_cases in by_tensor
    )


def _tiles_of_extents(
    inputs: Sequence[Sequence[_History]], outputs: Sequence[Sequence[_History]], tiles: Tiles
) -> Mapping[_History, Tile]:
    """The tile that probably cuts each extent which can vary."""
    free = {history for tensor in inputs for history in tensor if len(set(history)) > 1}
    if len(free) == 1:
        return dict.fromkeys(free, tiles.flat)
    cut_by: dict[_History, Tile] = {}
    for history in free:
        from_the_last = [
            len(tensor) - 1 - place
            for tensor in outputs
            for place, other in enumerate(tensor)
            if other == history
        ]
        if not from_the_last:
            cut_by[history] = tiles.depth or tiles.smallest or tiles.flat
        elif min(from_the_last) > 1:
            cut_by[history] = _BATCHES
        else:
            cut_by[history] = tiles.of_dimension(min(from_the_last))
    return cut_by


def _input_shapes(case: Case) -> Shapes:
    return tuple(tensor.shape for tensor in case.of("input"))
