"""The run-time context: what a caller, or Studio, may choose.

Studio builds it from JSON, so every field is plain and has a default.
"""

from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from cutegen.agents.ask import Chat
from cutegen.agents.models.choice import ModelChoice
from cutegen.agents.models.replay import ReplayChat
from cutegen.agents.models.resolve import DEFAULT_MODEL, resolve_model
from cutegen.execution import resolve_executor
from cutegen.execution.protocol import Executor
from cutegen.graphs.form import MODEL, about, by_agent
from cutegen.graphs.settings import Budget, Settings, StabilityPolicy
from cutegen.math_mode import MathMode
from cutegen.method import Method
from cutegen.store import Ledger
from cutegen.switches import Profiling, RepairForm, Start

_BUDGET = Budget()


@dataclass(kw_only=True, frozen=True)
class Context:
    """Choices for a run. Those that decide its result are copied into the state at its start."""

    model: str = field(
        default=DEFAULT_MODEL,
        metadata=about("Model", "playbook, openai:NAME, human or replay:FILE.", MODEL),
    )
    models: dict[str, str] = field(
        default_factory=dict,
        metadata=about(
            "Models of agents",
            "Agent to model, for agents that have their own.",
            by_agent(type="string", **MODEL),
        ),
    )
    temperature: float | None = field(
        default=None,
        metadata=about("Temperature", "For all agents; empty: the model's own.", ge=0, le=2),
    )
    temperatures: dict[str, float] = field(
        default_factory=dict,
        metadata=about(
            "Temperatures",
            "Agent to temperature.",
            by_agent(type="number", minimum=0, maximum=2),
        ),
    )
    executor: str = field(
        default="auto",
        metadata=about(
            "Executor",
            "auto, cuda or emulated: where kernels are judged.",
            {"enum": ["auto", "cuda", "emulated"]},
        ),
    )
    arch: str = field(
        default="",
        metadata=about(
            "Architecture",
            "nvcc target such as sm_90a; empty: the GPU's own.",
            {"pattern": r"^(sm_\d+[af]?)?$"},
        ),
    )
    seed: int = field(
        default=0, metadata=about("Seed", "Seeds inputs and fiber order.", ge=0, le=2**32 - 1)
    )
    runs_dir: str = field(
        default="runs",
        metadata=about("Runs folder", "Each run gets a folder in it.", {"minLength": 1}),
    )
    spec_path: str = field(
        default="",
        metadata=about(
            "Spec",
            "KernelBench-format file, where the input names none.",
            {"pattern": r"^(.+\.py)?$"},
        ),
    )
    math_mode: str = field(
        default="fp32",
        metadata=about(
            "Math mode",
            "fp32, tf32, bf16 or fp16, for spec_path.",
            {"enum": [mode.value for mode in MathMode]},
        ),
    )
    allow_simplify: bool = field(
        default=False,
        metadata=about("Allow simplifying", "A repair may lower the kernel's structure."),
    )
    nvcc_gate: bool = field(
        default=True,
        metadata=about("nvcc gate", "On the emulator, also build with nvcc where it is found."),
    )
    steps: int = field(
        default=_BUDGET.steps,
        metadata=about("Steps", "Most proposals of the two optimizers.", ge=0, le=1000),
    )
    repairs: int = field(
        default=_BUDGET.repairs,
        metadata=about("Repairs", "Most repairs per proposal.", ge=0, le=100),
    )
    syntheses: int = field(
        default=_BUDGET.syntheses,
        metadata=about("Syntheses", "Most first kernels written.", ge=1, le=100),
    )
    target: float = field(
        default=_BUDGET.target,
        metadata=about(
            "Target", "Share of the roofline at which a run ends; 0: never.", ge=0, le=10
        ),
    )
    model_calls: int = field(
        default=_BUDGET.model_calls,
        metadata=about("Model calls", "Most calls; 0: no limit.", ge=0, le=1_000_000),
    )
    tokens: int = field(
        default=_BUDGET.tokens,
        metadata=about("Tokens", "Most tokens; 0: no limit.", ge=0, le=10**12),
    )
    usd: float = field(
        default=_BUDGET.usd,
        metadata=about("US dollars", "Most to spend; 0: no limit.", ge=0, le=1_000_000),
    )
    wall_s: float = field(
        default=_BUDGET.wall_s,
        metadata=about("Wall time", "Most seconds of work; 0: no limit.", ge=0, le=30 * 86400),
    )
    window: int | None = field(
        default=None,
        metadata=about(
            "Window w", "Quiet structural rounds before profiling; empty: by class.", ge=1, le=100
        ),
    )
    least_rounds: int | None = field(
        default=None,
        metadata=about(
            "Least rounds m", "Structural rounds before profiling; empty: by class.", ge=0, le=100
        ),
    )
    epsilon: float | None = field(
        default=None,
        metadata=about("Epsilon", "Gain that counts, as a fraction; empty: by class.", ge=0, le=1),
    )
    refusals: int | None = field(
        default=None,
        metadata=about("Refusals", "Declined turns that end the structure.", ge=1, le=100),
    )
    roofline: float | None = field(
        default=None,
        metadata=about("Roofline", "Share that ends the structure; empty: by class.", ge=0, le=1),
    )
    profiling: Profiling = field(
        default="delayed",
        metadata=about(
            "Profiling",
            "delayed: once the structure is stable; immediate: from the first verified kernel; "
            "never. For ablations.",
        ),
    )
    repair: RepairForm = field(
        default="patch",
        metadata=about("Repair", "patch: small edits; rewrite: the whole file. For ablations."),
    )
    start: Start = field(
        default="best",
        metadata=about(
            "Start",
            "best or last: the verified kernel that each step starts from. For ablations.",
        ),
    )

    @property
    def method(self) -> Method:
        """The switches that the fields spell out."""
        return Method(profiling=self.profiling, repair=self.repair, start=self.start)

    def check(self) -> None:
        """Refuse values that the form would not let through.

        Raises:
            ValueError: A value is of the wrong type or outside its range; the message says which.
        """
        values = {each.name: getattr(self, each.name) for each in fields(Context)}
        try:
            TypeAdapter(Context).validate_python(values)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ValueError(f"{where} = {first['input']!r}: {first['msg']}") from None

    @property
    def budget(self) -> Budget:
        """The budget that the fields spell out."""
        return Budget(**{name: getattr(self, name) for name in Budget.model_fields})

    def policy_over(self, default: StabilityPolicy) -> StabilityPolicy:
        """The stability policy: ``default`` except for the fields that are set."""
        chosen = {name: getattr(self, name) for name in StabilityPolicy.model_fields}
        return default.model_copy(
            update={name: value for name, value in chosen.items() if value is not None}
        )

    @property
    def named_models(self) -> frozenset[str]:
        """The models that are to be found by their names."""
        return frozenset({self.model, *self.models.values()})

    @property
    def renewed(self) -> Settings | None:
        """Settings that replace the run's own; a caller that takes up a run may bring them."""
        return None

    def chat(self, choice: ModelChoice, folder: Path) -> Chat:
        """The model that a run's settings choose; one object per run and process.

        Raises:
            ModelError: It cannot be used on this machine.
        """
        return _chat(choice, folder)

    def judge(self, name: str) -> Executor:
        """The executor that a run's settings name; one object per process.

        Raises:
            EnvironmentUnfitError: It cannot be used on this machine.
        """
        return _executor(name)


@lru_cache(maxsize=64)
def _chat(choice: ModelChoice, folder: Path) -> Chat:
    """A recording goes on after the calls that an earlier process had answered."""
    chat = resolve_model(choice.name, folder, choice.temperature)
    if isinstance(chat, ReplayChat):
        calls = Ledger(folder / "ledger.sqlite").calls()
        chat.skip(sum(call.agent in choice.agents for call in calls))
    return chat


@lru_cache(maxsize=8)
def _executor(name: str) -> Executor:
    return resolve_executor(name)
