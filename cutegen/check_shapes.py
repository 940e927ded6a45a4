"""Chooses the shapes at which candidates are checked, scaled down from the timed ones.

A check must be small enough for the CPU emulator, and awkward enough to show what a lucky
shape hides: extents that no tile divides, a single row, and different extents for different
dimensions, so that a transposed index shows.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cutegen.exported import Extent

Shapes = tuple[tuple[int, ...], ...]
"""One shape per tensor input."""

MAX_ELEMENTS = 2**18
MAX_MULTIPLIES = 2**22


class Work(NamedTuple):
    """How much a run at some shapes would be."""

    elements: int
    multiplies: int

    @property
    def fits(self) -> bool:
        """Whether the emulator does it in about a second."""
        return self.elements <= MAX_ELEMENTS and self.multiplies <= MAX_MULTIPLIES


class _Plan(NamedTuple):
    """Extents to start from, by order of the symbols, for one, two, and more symbols."""

    name: str
    one: tuple[int, ...]
    two: tuple[int, ...]
    more: tuple[int, ...]
    prime: bool = True

    def start(self, count: int) -> tuple[int, ...]:
        wanted = {1: self.one, 2: self.two}.get(count, self.more)
        return tuple(wanted[index % len(wanted)] for index in range(count))


_PLANS = (
    _Plan("odd", (4099,), (37, 1021), (67, 131, 37, 29, 23, 19)),
    _Plan("aligned", (16384,), (64, 1024), (128, 64, 96, 32, 16, 8), prime=False),
    _Plan("thin", (1,), (1, 4099), (1, 97, 53, 19, 11, 5)),
    _Plan("prime", (32771,), (127, 509), (149, 83, 113, 17, 13, 7)),
)
_QUANTA = (1, 2, 4, 8, 16, 32, 64)  # extents a reference may ask to be multiples of
_SMALLEST = 2
_NEARBY = 64
_WARP = 32


class ShapeSearch(NamedTuple):
    """What the search for check shapes knows.

    ``extents`` holds, per tensor input, fixed extents and symbols; ``timed`` the extent of
    every symbol at the timed case; ``ranges`` the least and largest extent of a symbol
    where they are known; ``probe`` gives the work at some shapes, or None where the
    reference does not run.
    """

    extents: Sequence[Sequence[Extent]]
    timed: Mapping[str, int]
    ranges: Mapping[str, tuple[int, int]]
    probe: Callable[[Shapes], Work | None]

    def choose(self) -> dict[str, Shapes]:
        """Named check shapes, at most one per plan, all different; none if nothing scales."""
        symbols = [x for shape in self.extents for x in shape if isinstance(x, str)]
        symbols = list(dict.fromkeys(symbols))
        seen = {self._shapes(self.timed)}
        chosen: dict[str, Shapes] = {}
        for plan in _PLANS if symbols else ():
            for kept, quantum in _relaxations(symbols):
                free = [symbol for symbol in symbols if symbol != kept]
                shapes = self._fit(plan, quantum, free, seen)
                if shapes is not None:
                    chosen[plan.name] = shapes
                    seen.add(shapes)
                    break
        return chosen

    def _shapes(self, sizes: Mapping[str, int]) -> Shapes:
        return tuple(
            tuple(sizes[x] if isinstance(x, str) else x for x in shape) for shape in self.extents
        )

    def _fit(
        self, plan: _Plan, quantum: int, free: Sequence[str], seen: Container[Shapes]
    ) -> Shapes | None:
        """The plan's extents, halved one by one until the work fits and the shapes are new.

        None if the reference does not run there; the least there is if nothing fits.
        """
        wanted = dict(zip(free, plan.start(len(free)), strict=True))
        least: Shapes | None = None
        while True:
            sizes = {symbol: size for symbol, size in self.timed.items() if symbol not in wanted}
            for symbol in free:
                sizes[symbol] = self._size(symbol, wanted[symbol], quantum, plan, sizes.values())
            shapes = self._shapes(sizes)
            work = self.probe(shapes)
            if work is None:
                return least
            if shapes not in seen:
                least = shapes
                if work.fits:
                    return shapes
            shrinkable = [x for x in free if wanted[x] > _SMALLEST and sizes[x] > quantum]
            if not shrinkable:
                return least
            largest = max(shrinkable, key=lambda symbol: sizes[symbol])
            wanted[largest] = max(_SMALLEST, min(wanted[largest], sizes[largest]) // 2)

    def _size(
        self, symbol: str, wanted: int, quantum: int, plan: _Plan, used: Iterable[int]
    ) -> int:
        """An extent near ``wanted`` that is allowed and that no other symbol has."""
        lower, upper = self.ranges.get(symbol, (1, self.timed[symbol]))
        # Export knows no extent below 2, so that a lower limit of 2 says nothing.
        least = lower if lower > _SMALLEST else 1
        most = min(self.timed[symbol], upper)
        if wanted == 1:
            return max(least, min(quantum, most))
        start, taken = max(least, min(wanted, most)), set(used)
        multiples = range(1, most // quantum + 1)
        # Nearby numbers suffice: below every number lies a prime that is at least half of it.
        nearby = multiples[start // quantum // 4 : start // quantum + _NEARBY]
        for number in sorted(nearby, key=lambda number: abs(number * quantum - start)):
            size, multiple = number * quantum, number == 1 < quantum
            good = multiple or (_is_prime(number) if plan.prime else _is_round(number))
            if good and size >= least and size not in taken:
                return size
        return start


def _relaxations(symbols: Sequence[str]) -> Iterator[tuple[str, int]]:
    """What to give up, little by little: odd extents first, then scaling every symbol."""
    for kept in ("", *(symbols if len(symbols) > 1 else ())):
        for quantum in _QUANTA:
            yield kept, quantum


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % factor for factor in range(2, int(number**0.5) + 1))


def _is_round(number: int) -> bool:
    """What tiles divide: multiples of a warp, or of 8, and the small powers of two."""
    return number % (_WARP if number > _WARP else 8) == 0 or number in (2, 4)
