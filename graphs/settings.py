"""What decides the course of a run; kept in the state, so that a resumed run cannot drift."""

from cutegen.agents.models.choice import ModelChoice
from cutegen.agents.request import AGENTS
from cutegen.frozen import Frozen
from cutegen.method import Method


class StabilityPolicy(Frozen):
    """When the structure counts as stable: see ``structure_is_stable``."""

    window: int  # w: the last so many structural rounds brought nothing
    least_rounds: int  # m: there were at least so many structural rounds
    epsilon: float  # ε: a gain of at most this fraction is no gain
    refusals: int = 2  # how often the structural optimizer says that it has no more ideas
    roofline: float = 0.95  # from this share on, no other structure is looked for


class Budget(Frozen):
    """How much a run may try, and what it may cost.

    ``steps``, ``repairs``, ``syntheses`` and ``target`` are the length of the search: reaching
    them ends it in the ordinary way. ``model_calls``, ``tokens``, ``usd`` and
    ``wall_s`` are limits on its cost, 0 for
    none: reaching one stops the run.
    """

    steps: int = 16  # proposals of the two optimizers
    repairs: int = 3  # per proposed candidate
    syntheses: int = 2  # first kernels written anew
    target: float = 0.99  # share of the roofline at which nothing more is tried; 0: never
    model_calls: int = 0
    tokens: int = 0
    usd: float = 0.0  # US dollars, by the table of prices
    wall_s: float = 3600.0  # spent inside nodes, in seconds


class Settings(Frozen):
    """Everything but the spec that a run's result depends on."""

    model: str
    models: dict[str, str] = {}  # of single agents, in place of ``model``
    temperature: float | None = None  # the model's own if None
    temperatures: dict[str, float] = {}
    executor: str  # "cuda" or "emulated": "auto" is resolved when the run starts
    arch: str
    seed: int = 0
    allow_simplify: bool = False  # a repair may lower the structure
    nvcc_gate: bool = True  # emulated runs: nvcc, where it is found, must build the kernel too
    budget: Budget = Budget()
    policy: StabilityPolicy
    method: Method = Method()

    def choice(self, agent: str) -> ModelChoice:
        """The model that an agent speaks to."""
        alone = ModelChoice(
            name=self.models.get(agent, self.model),
            temperature=self.temperatures.get(agent, self.temperature),
            agents=(),
        )
        same = (
            name
            for name in AGENTS
            if self.models.get(name, self.model) == alone.name
            and self.temperatures.get(name, self.temperature) == alone.temperature
        )
        return alone.model_copy(update={"agents": tuple(same)})

    @property
    def model_names(self) -> str:
        """The models in a few words."""
        own = (f"{agent}={name}" for agent, name in self.models.items())
        return ", ".join((self.model, *own))
