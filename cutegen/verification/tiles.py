"""The tiles of a candidate, as its source names them: where a wrong element lies in them."""

import re
from collections.abc import Mapping
from functools import lru_cache

from cutegen.cuda_syntax import CudaSource
from cutegen.frozen import Frozen

_ROWS = re.compile(r"(?:^|[a-z_])B?M$|[Tt]ileM|TILE_M|[Rr]ows?(?![a-z])|ROWS?(?![A-Z])")
_COLUMNS = re.compile(r"(?:^|[a-z_])B?N$|[Tt]ileN|TILE_N|[Cc]ol(umn)?s?(?![a-z])|COLS?(?![A-Z])")
_DEPTH = re.compile(r"(?:^|[a-z_])B?K$|[Tt]ileK|TILE_K|[Dd]epth|DEPTH")
_LEAST, _MOST = 2, 1024  # extents outside are flags, capacities and sizes of whole tensors
_VECTOR = 16  # the most elements that one access moves
_USUAL = 32  # a warp: every kernel has some grain of that size


class Tile(Frozen):
    """A named extent."""

    name: str
    extent: int


class Tiles(Frozen):
    """What the source says of its tiles; a part that it does not name is None.

    ``flat`` is how many elements a block of a one-dimensional kernel handles at least.
    """

    rows: Tile | None = None
    columns: Tile | None = None
    depth: Tile | None = None
    largest: Tile | None = None
    smallest: Tile | None = None
    flat: Tile = Tile(name="warp", extent=_USUAL)

    def of_dimension(self, from_the_last: int) -> Tile:
        """The tile along an output's dimension, counted from the last, which is 0."""
        named = {0: self.columns, 1: self.rows}.get(from_the_last)
        return named or self.largest or self.flat


@lru_cache(maxsize=8)
def tiles_of(source: str) -> Tiles:
    """Read the constants that the author chose, and the sizes of the launched blocks."""
    parsed = CudaSource(source)
    chosen = {
        name: extent for name, extent in parsed.parameters.items() if _LEAST <= extent <= _MOST
    }
    threads = max((launch.threads or 0 for launch in parsed.launches), default=0)
    return _tiles(chosen, threads)


def _tiles(chosen: Mapping[str, int], threads: int) -> Tiles:
    tiles = sorted(
        (Tile(name=name, extent=extent) for name, extent in chosen.items()),
        key=lambda tile: (-tile.extent, tile.name),
    )
    vector = max((tile.extent for tile in tiles if tile.extent <= _VECTOR), default=1)
    grain = max(threads, max((tile.extent for tile in tiles), default=0))
    return Tiles(
        rows=_named(tiles, _ROWS),
        columns=_named(tiles, _COLUMNS),
        depth=_named(tiles, _DEPTH),
        largest=tiles[0] if tiles else None,
        smallest=tiles[-1] if tiles else None,
        flat=Tile(name="threads times vector", extent=grain * vector)
        if grain
        else Tile(name="warp", extent=_USUAL),
    )


def _named(tiles: list[Tile], pattern: re.Pattern[str]) -> Tile | None:
    return next((tile for tile in tiles if pattern.search(tile.name)), None)


def where_in_tiles(index: tuple[int, ...], tiles: Tiles) -> str:
    """An element's place in the tiles of the last two dimensions, as a sentence; or nothing."""
    if not index or (tiles.largest is None and len(index) > 1):
        return ""
    if len(index) == 1:
        tile = tiles.flat
        number, offset = divmod(index[0], tile.extent)
        return f"element {index[0]} is number {offset} of tile {number} ({tile.name} {tile.extent})"
    row, column = tiles.of_dimension(1), tiles.of_dimension(0)
    place = (divmod(index[-2], row.extent), divmod(index[-1], column.extent))
    return (
        f"element {list(index)} lies in tile ({place[0][0]}, {place[1][0]}) of "
        f"{row.extent}x{column.extent} ({row.name} by {column.name}), there at "
        f"({place[0][1]}, {place[1][1]})"
    )
