"""What decides the course of a run; kept in the state, so that a resumed run cannot drift."""

from cutegen.frozen import Frozen


class StabilityPolicy(Frozen):
    """When the structure counts as stable: see ``structure_is_stable``."""

    window: int  # w: the last so many structural rounds brought nothing
    least_rounds: int  # m: there were at least so many structural rounds
    epsilon: float  # ε: a gain of at most this fraction is no gain


class Budget(Frozen):
    """How much a run may try, and what it may cost.

    ``steps``, ``repairs`` and ``syntheses`` are the length of the search: reaching them ends it
    in the ordinary way. ``model_calls``, ``tokens`` and ``wall_s`` are limits on its cost, 0 for
    none: reaching one stops the run.
    """

    steps: int = 16  # proposals of the two optimizers
    repairs: int = 3  # per proposed candidate
    syntheses: int = 2  # first kernels written anew
    model_calls: int = 0
    tokens: int = 0
    wall_s: float = 3600.0  # spent inside nodes, in seconds


class Settings(Frozen):
    """Everything but the spec that a run's result depends on."""

    model: str
    executor: str  # "cuda" or "emulated": "auto" is resolved when the run starts
    arch: str
    seed: int = 0
    nvcc_gate: bool = True  # emulated runs: nvcc, where it is found, must build the kernel too
    budget: Budget = Budget()
    policy: StabilityPolicy
