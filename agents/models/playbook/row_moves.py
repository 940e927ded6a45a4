"""The moves between designs for row reductions."""

from cutegen.agents.models.playbook.design import Move
from cutegen.agents.models.playbook.effects import Effect

VECTORIZE = Move(
    "move 128 bits per instruction along the row, element by element only where it is not aligned",
    "a quarter of the memory instructions: much nearer the copy bandwidth",
    {"vectorized": True},
)
ONLINE = Move(
    "reduce online: what two readings of the row computed one after the other, one reads at once",
    "a reading less: the row comes from memory twice instead of three times",
    {"online": True},
)
REREAD = Move(
    "reduce in two readings of the kept row instead of online",
    "the second reading costs no DRAM, and the arithmetic of each is simpler",
    {"online": False},
    alternative=True,
)
REGISTERS = Move(
    "keep the row in registers: read it once, with all loads on their way at once",
    "every byte is read once and written once, which is the least there can be",
    {"vectorized": True, "registers": True, "batch": 1},
)
BATCH = Move(
    "issue several independent vector loads per thread before the first is used",
    "64 bytes on their way per thread hide the latency of DRAM",
    {"batch": 4},
)
STREAM = Move(
    "store with a streaming cache hint, since nobody reads the result here",
    "lines of the result leave L2 first, and the row that is still needed stays",
    {"streaming": True},
)
RING = Move(
    "a persistent grid: a tile of shared memory is refilled from the next row once it is written",
    "loads never pause: while one row is written the next one is already on its way",
    {"ring": True},
)


GROUP = Move(
    "several rows per block: what all rows share is loaded once for them",
    "a load from L2 for every row and column becomes one for several rows",
    {"group": 4},
)


def group_of(count: int, before: int) -> Move:
    """Another number of rows per block; ``before`` is the present one."""
    return Move(
        f"{count} rows per block",
        "more loads on their way and fewer of what is shared, against fewer blocks",
        {"group": count},
        Effect.IN_FLIGHT if count > before else Effect.SMALLER,
    )


def keep(cluster: int, threads: int, depth: int) -> Move:
    """Keep the row in the shared memory of a cluster of blocks; of one block for 1."""
    where = (
        f"distributed over the shared memory of a cluster of {cluster} blocks"
        if cluster > 1
        else "in the shared memory of its block"
    )
    return Move(
        f"keep the row {where}, fetched by bulk copies that arrive on barriers",
        "every byte is read once and written once, and all loads of a row are on their way at once",
        {
            "vectorized": True,
            "shared": True,
            "batch": 1,
            "cluster": cluster,
            "threads": threads,
            "depth": depth,
        },
    )


def threads_of(count: int, before: int = 0) -> Move:
    """Another size of block; ``before`` is the present one."""
    return Move(
        f"{count} threads per block",
        "more warps to hide latency with, against longer reductions and fewer blocks",
        {"threads": count},
        Effect.SMALLER if count < before else Effect.OTHER,
    )


def batch_of(count: int, before: int = 0) -> Move:
    """Another number of loads in flight; ``before`` is the present one."""
    return Move(
        f"{count} vector loads in flight per thread",
        f"{16 * count} bytes on their way per thread",
        {"batch": count},
        Effect.IN_FLIGHT if count > before else Effect.SMALLER,
    )


def depth_of(count: int, before: int = 0) -> Move:
    """Tiles of another size for each warp; ``before`` is the present one."""
    return Move(
        f"tiles of {count} vectors per lane",
        "fewer and larger bulk copies against an earlier start of the work on each",
        {"depth": count},
        Effect.OTHER if count > before else Effect.SMALLER,
    )


def cluster_of(count: int) -> Move:
    """The row over another number of blocks."""
    return Move(
        f"the row over a cluster of {count} blocks",
        "smaller blocks, so that several clusters share the multiprocessors: one reads while "
        "another reduces or writes",
        {"cluster": count},
        Effect.IN_FLIGHT,
    )
