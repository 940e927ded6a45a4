"""The moves between matrix-product designs."""

from cutegen.agents.models.playbook.design import Move
from cutegen.agents.models.playbook.effects import Effect

TILE = Move(
    "stage square tiles of both factors in shared memory",
    "each element is read from global memory once per tile instead of once per output",
    {"tiled": True},
)
REGISTERS = Move(
    "a register tile of 8x8 outputs per thread with TiledMMA, and 128-bit copies of the factors",
    "four FMAs per value read from shared memory instead of a half: up to several times faster",
    {"tiled": True, "registers": True},
)
TENSOR = Move(
    "products of 16x8x16 on tensor cores, fed by ldmatrix from swizzled tiles that cp.async brings "
    "in three stages",
    "an instruction does two thousand multiplications instead of one: up to ten times faster",
    {"tiled": True, "tensor": True, "block_m": 128, "block_n": 128, "block_k": 32, "stages": 3},
)
PREFETCH = Move(
    "double-buffer the tiles: load the next one while this one is multiplied",
    "the latency of global memory hides behind arithmetic, and one barrier per tile is enough",
    {"prefetch": True},
)


def square_tile(extent: int, before: int = 0) -> Move:
    """Square tiles of another extent; ``before`` is the present one."""
    return Move(
        f"tiles of {extent}x{extent}",
        "more reuse per load against fewer resident blocks",
        {"tile": extent},
        Effect.REUSE if 0 < before < extent else Effect.SMALLER,
    )


def depth_of(extent: int, before: int = 0) -> Move:
    """Another extent of the block tile along K; ``before`` is the present one."""
    return Move(
        f"a block tile {extent} deep in K",
        "fewer barriers per multiplication against less shared memory",
        {"block_k": extent},
        Effect.IN_FLIGHT if 0 < before < extent else Effect.SMALLER,
    )


def block_of(m: int, n: int) -> Move:
    """Another block tile."""
    return Move(
        f"block tiles of {m}x{n}",
        "more blocks to fill the machine with, against less reuse per block",
        {"block_m": m, "block_n": n},
        Effect.SMALLER,
    )


def small_block(m: int, n: int, depth: int) -> Move:
    """A block tile that asks for less in every way."""
    return Move(
        f"block tiles of {m}x{n}, {depth} deep in K",
        "a block that fits",
        {"block_m": m, "block_n": n, "block_k": depth},
        Effect.SMALLER,
    )


def stages_of(stages: int, before: int) -> Move:
    """Another number of tiles in shared memory; ``before`` is the present one."""
    return Move(
        f"{stages} stages of tiles",
        "more loads on their way against fewer resident blocks",
        {"stages": stages},
        Effect.IN_FLIGHT if stages > before else Effect.SMALLER,
    )
