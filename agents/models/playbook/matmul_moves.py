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
HALVES = Move(
    "split the factors into halves instead of TF32: each row scaled by a power of two so that its "
    "largest element fits, the sums scaled back in the epilogue",
    "a half has the 11 bits of TF32 and tensor cores multiply it twice as fast: up to 2x",
    {"halves": True},
)
FUSED = Move(
    "split the factors where they are multiplied: the warps that multiply split A's rows into "
    "registers, and the next tile of B into shared memory while the tensor cores are busy",
    "the factors are read once, and their parts are never in global memory: up to four times less "
    "traffic where tiles are few",
    {"fused": True, "block_m": 128, "block_n": 128, "stages": 2},
)
MULTICAST = Move(
    "clusters of two blocks, one above the other: each loads half of their tile of B by TMA "
    "multicast",
    "a third less traffic from L2, which feeds more than 5 TB/s here: some percent",
    {"cluster": 2},
)
SPLIT = Move(
    "split K: several blocks share a tile of the result, and a second kernel adds their sums in "
    "order",
    "all multiprocessors have work where there are fewer tiles than these: up to as many times "
    "faster",
    {"split": True},
)


def wgmma_of(passes: int, shallow: bool) -> Move:
    """To Hopper's instructions, with the fewest passes that keep the accuracy asked for.

    Where K is ``shallow``, two small blocks share a multiprocessor: one stores while the other
    multiplies.
    """
    split = (
        "fp32 factors split into a big and a small TF32 part by a kernel before, three products of "
        "parts by wgmma, their sums promoted before truncation shows"
        if passes > 1
        else "products by wgmma"
    )
    changes = {"tiled": True, "wgmma": True, "tensor": False}
    if shallow:
        return Move(
            f"{split}; a producer warp keeps a ring of tiles full by TMA for a warpgroup, in "
            "blocks that stay, two to a multiprocessor",
            "tensor cores at their full rate instead of FMAs, and one block's stores behind the "
            "other's products",
            {**changes, "block_m": 64, "block_n": 128, "stages": 2, "resident": 2},
        )
    return Move(
        f"{split}; a producer warp keeps a ring of tiles full by TMA for two warpgroups, in blocks "
        "that stay",
        "tensor cores at their full rate instead of FMAs: 495 TFLOP/s of TF32, a third of it in "
        "three passes"
        if passes > 1
        else "tensor cores at their full rate, 990 TFLOP/s",
        {
            **changes,
            "block_m": 128,
            "block_n": 128 if passes > 1 else 256,
            "stages": 3 if passes > 1 else 4,
        },
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


def block_of(m: int, n: int, before: int = 0) -> Move:
    """Another block tile; ``before`` is the present extent along N where that alone changes."""
    larger = 0 < before < n
    return Move(
        f"block tiles of {m}x{n}",
        "more reuse per block, against fewer blocks to fill the machine with"
        if larger
        else "more blocks to fill the machine with, against less reuse per block",
        {"block_m": m, "block_n": n},
        Effect.REUSE if larger else Effect.SMALLER,
    )


def chain_of(tiles: int, before: int) -> Move:
    """Another number of tiles between promotions of the sums."""
    return Move(
        f"sums promoted every {tiles} tiles of K",
        "fewer additions outside the tensor cores, against longer chains that truncate",
        {"chain": tiles},
        Effect.REUSE if tiles > before else Effect.OTHER,
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
