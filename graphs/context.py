"""The run-time context: what a caller, or Studio, may choose.

Studio builds it from JSON, so every field is plain and has a default.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from cutegen.agents.ask import Chat
from cutegen.agents.models.choice import ModelChoice
from cutegen.agents.models.replay import ReplayChat
from cutegen.agents.models.resolve import DEFAULT_MODEL, resolve_model
from cutegen.execution import resolve_executor
from cutegen.execution.protocol import Executor
from cutegen.graphs.settings import Budget, Settings, StabilityPolicy
from cutegen.store import Ledger

_BUDGET = Budget()


def _about(title: str, description: str) -> dict[str, Any]:
    return {"title": title, "description": description}


@dataclass(kw_only=True, frozen=True)
class Context:
    """Choices for a run. Those that decide its result are copied into the state at its start."""

    model: str = field(
        default=DEFAULT_MODEL,
        metadata=_about("Model", "playbook, openai:NAME, human or replay:FILE."),
    )
    models: dict[str, str] = field(
        default_factory=dict,
        metadata=_about("Models of agents", "Agent to model, for agents that have their own."),
    )
    temperature: float | None = field(
        default=None, metadata=_about("Temperature", "For all agents; empty: the model's own.")
    )
    temperatures: dict[str, float] = field(
        default_factory=dict, metadata=_about("Temperatures", "Agent to temperature.")
    )
    executor: str = field(
        default="auto",
        metadata=_about("Executor", "auto, cuda or emulated: where kernels are judged."),
    )
    arch: str = field(
        default="",
        metadata=_about("Architecture", "nvcc target such as sm_90a; empty: the GPU's own."),
    )
    seed: int = field(default=0, metadata=_about("Seed", "Seeds inputs and fiber order."))
    runs_dir: str = field(
        default="runs", metadata=_about("Runs folder", "Each run gets a folder in it.")
    )
    spec_path: str = field(
        default="",
        metadata=_about("Spec", "KernelBench-format file, where the input names none."),
    )
    math_mode: str = field(
        default="fp32", metadata=_about("Math mode", "fp32, tf32, bf16 or fp16, for spec_path.")
    )
    allow_simplify: bool = field(
        default=False,
        metadata=_about("Allow simplifying", "A repair may lower the kernel's structure."),
    )
    nvcc_gate: bool = field(
        default=True,
        metadata=_about("nvcc gate", "On the emulator, also build with nvcc where it is found."),
    )
    steps: int = field(
        default=_BUDGET.steps, metadata=_about("Steps", "Most proposals of the two optimizers.")
    )
    repairs: int = field(
        default=_BUDGET.repairs, metadata=_about("Repairs", "Most repairs per proposal.")
    )
    syntheses: int = field(
        default=_BUDGET.syntheses, metadata=_about("Syntheses", "Most first kernels written.")
    )
    model_calls: int = field(
        default=_BUDGET.model_calls, metadata=_about("Model calls", "Most calls; 0: no limit.")
    )
    tokens: int = field(
        default=_BUDGET.tokens, metadata=_about("Tokens", "Most tokens; 0: no limit.")
    )
    usd: float = field(
        default=_BUDGET.usd, metadata=_about("US dollars", "Most to spend; 0: no limit.")
    )
    wall_s: float = field(
        default=_BUDGET.wall_s,
        metadata=_about("Wall time", "Most seconds of work; 0: no limit."),
    )
    window: int | None = field(
        default=None,
        metadata=_about("Window w", "Quiet structural rounds before profiling; empty: by class."),
    )
    least_rounds: int | None = field(
        default=None,
        metadata=_about("Least rounds m", "Structural rounds before profiling; empty: by class."),
    )
    epsilon: float | None = field(
        default=None,
        metadata=_about("Epsilon", "Gain that counts, as a fraction; empty: by class."),
    )

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


@dataclass(kw_only=True, frozen=True)
class LiveContext(Context):
    """A context that brings objects of this process; for Python callers only."""

    live_chat: Chat | None = None
    live_executor: Executor | None = None
    new_settings: Settings | None = None

    @property
    def renewed(self) -> Settings | None:
        """The settings that the caller brings."""
        return self.new_settings

    def chat(self, choice: ModelChoice, folder: Path) -> Chat:
        """The caller's model, or the one that the settings choose."""
        if self.live_chat is not None and choice.name == name_of(self.live_chat):
            return self.live_chat
        return super().chat(choice, folder)

    def judge(self, name: str) -> Executor:
        """The caller's executor, or the one that the settings name."""
        return self.live_executor or super().judge(name)


def name_of(thing: str | Chat | Executor) -> str:
    """The name of a model or an executor."""
    if isinstance(thing, str):
        return thing
    return str(getattr(thing, "name", None) or type(thing).__name__)


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
