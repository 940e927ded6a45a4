"""Faults in barriers, clusters and bulk copies."""

from conformance.cases.barriers import CASES
from conformance.mutant import Mutant, mutant
from cutegen.status import Status

_CASE = {case.name: case for case in CASES}


def _mutant(name: str, case: str, fault: str, expected: Status, *edits: tuple[str, str]) -> Mutant:
    return mutant(name, _CASE[case], fault, expected, *edits)


MUTANTS = (
    _mutant(
        "ring_producer_parity",
        "mbarrier_ring",
        "the producer waits for stages that nobody has filled yet to be emptied",
        Status.DEADLOCK,
        ("&empty[stage], phase ^ 1", "&empty[stage], phase"),
    ),
    _mutant(
        "ring_consumer_parity",
        "mbarrier_ring",
        "consumers wait for the phase before, and run ahead of the producer",
        Status.DEADLOCK,
        ("&full[stage], phase)", "&full[stage], phase ^ 1)"),
    ),
    _mutant(
        "ring_without_release",
        "mbarrier_ring",
        "consumers never give a stage back",
        Status.DEADLOCK,
        ("      ClusterBarrier::arrive(&empty[stage]);\n", ""),
    ),
    _mutant(
        "ring_wrong_count",
        "mbarrier_ring",
        "a barrier expects one arrival more than there are",
        Status.DEADLOCK,
        ("init(&empty[s], 96)", "init(&empty[s], 97)"),
    ),
    _mutant(
        "ring_early_release",
        "mbarrier_ring",
        "a stage counts as empty when one of three warps has read it",
        Status.RACE,
        ("init(&empty[s], 96)", "init(&empty[s], 32)"),
    ),
    _mutant(
        "ping_pong_without_return",
        "named_ping_pong",
        "the buffer is filled again without waiting for its reader",
        Status.DEADLOCK,
        ("      if (round > 0) NamedBarrier::sync(128, 2);\n", ""),
        ("      if (round + 1 < rounds) NamedBarrier::arrive(128, 2);\n", ""),
    ),
    _mutant(
        "ping_pong_wrong_count",
        "named_ping_pong",
        "threads of one named barrier expect different numbers of them",
        Status.DIVERGENCE,
        ("NamedBarrier::sync(128, 1);", "NamedBarrier::sync(96, 1);"),
    ),
    _mutant(
        "cluster_sum_without_sync",
        "cluster_sum",
        "sums of other blocks are read before they are whole",
        Status.RACE,
        ("  atomicAdd(&own, sum);\n  cluster_sync();\n", "  atomicAdd(&own, sum);\n"),
    ),
    _mutant(
        "cluster_rotate_off_by_one",
        "cluster_rotate",
        "the last block writes to one that the cluster does not have",
        Status.OUT_OF_BOUNDS,
        ("(rank + 1) % size", "rank + 1"),
    ),
    _mutant(
        "cluster_rotate_without_sync",
        "cluster_rotate",
        "tiles are read before the neighbour has written them",
        Status.RACE,
        (
            "  cluster_sync();\n  out[blockIdx.x * 128",
            "  __syncthreads();\n  out[blockIdx.x * 128",
        ),
    ),
    _mutant(
        "remote_inbox_unready",
        "remote_arrive",
        "the inbox is read without waiting for the other block",
        Status.UNINITIALIZED,
        ("    ClusterBarrier::wait(&ready, 0);\n", ""),
    ),
    _mutant(
        "bulk_too_many_bytes",
        "bulk_copies",
        "the barrier expects more bytes than the copy brings",
        Status.DEADLOCK,
        ("(barrier, columns * 4);", "(barrier, columns * 4 + 16);"),
    ),
    _mutant(
        "bulk_misaligned",
        "bulk_copies",
        "a bulk copy starts at an odd element",
        Status.MISALIGNED,
        ("copy(a + blockIdx.x * columns, &", "copy(a + blockIdx.x * columns + 1, &"),
    ),
    _mutant(
        "bulk_without_wait",
        "bulk_copies",
        "the row is read before it has come",
        Status.RACE,
        ("  wait_barrier(barrier, 0);\n", ""),
    ),
)
