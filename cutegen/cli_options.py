"""Options that several commands have, and what they mean."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cutegen.math_mode import MathMode
from cutegen.switches import Profiling, RepairForm, Start

if TYPE_CHECKING:
    from cutegen.graphs.context import Context
    from cutegen.graphs.settings import Budget

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
ExecutorName = Annotated[str, typer.Option("--executor", help="auto, cuda or emulated.")]
RunsDir = Annotated[Path, typer.Option("--runs-dir", help="Where run folders are kept.")]
Run = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run folder, or a run's name in --runs-dir.")
]
SpecFile = Annotated[
    Path,
    typer.Argument(
        help="A KernelBench-format file: Model, get_inputs, get_init_inputs.",
        exists=True,
        dir_okay=False,
    ),
]
SpecFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="SPEC",
        help="KernelBench-format files, folders of them, or patterns such as 'level1/*.py'.",
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", help="Runs at work side by side; by the number of cores if 0.", min=0
    ),
]
Arch = Annotated[
    str, typer.Option("--arch", help="nvcc target, such as sm_90a; the GPU's own if empty.")
]
Simplify = Annotated[
    bool,
    typer.Option(
        "--allow-simplify/--no-allow-simplify",
        help="A repair may give up structure, such as stages or tensor cores.",
    ),
]
Math = Annotated[MathMode, typer.Option("--math", help="The arithmetic that a kernel may use.")]
Seed = Annotated[int, typer.Option("--seed", help="Seeds inputs and fiber order.")]
Steps = Annotated[int | None, typer.Option("--steps", help="Most optimization steps.", min=0)]
Target = Annotated[
    float | None,
    typer.Option("--target", help="Share of the roofline at which a run ends; 0: never.", min=0),
]
WallTime = Annotated[float | None, typer.Option("--wall-s", help="Most seconds.", min=1)]
ModelNames = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="playbook (the default), openai:NAME, openai:NAME@URL, human or replay:FILE. Once for "
        "all agents, and AGENT=MODEL for one of them.",
    ),
]
Temperatures = Annotated[
    list[str] | None,
    typer.Option("--temperature", help="A number, or AGENT=NUMBER for one agent."),
]
Tokens = Annotated[int | None, typer.Option("--tokens", help="Most tokens.", min=1)]
Dollars = Annotated[float | None, typer.Option("--usd", help="Most US dollars.", min=0.000001)]
ProfilingMode = Annotated[
    Profiling,
    typer.Option("--profiling", help="Ablation: when the tuner sees a profile, if ever."),
]
RepairMode = Annotated[
    RepairForm, typer.Option("--repair", help="Ablation: repairs as edits, or as whole files.")
]
StartMode = Annotated[
    Start, typer.Option("--start", help="Ablation: the kernel that each step starts from.")
]
Progress = Annotated[
    bool | None,
    typer.Option(
        "--progress/--quiet", help="Tell what is going on; by default only to a terminal."
    ),
]
Record = Annotated[
    Path | None,
    typer.Option("--record", help="Record the model's answers, for replay:FILE.", dir_okay=False),
]


def models_of(options: Sequence[str] | None) -> tuple[str, dict[str, str]]:
    """The model for all agents, and those of single ones.

    Raises:
        ValueError: One of them is no agent's.
    """
    from cutegen.agents.models.choice import by_agent
    from cutegen.agents.models.resolve import DEFAULT_MODEL

    common, own = by_agent(options or ())
    return common or DEFAULT_MODEL, own


def temperatures_of(options: Sequence[str]) -> tuple[float | None, dict[str, float]]:
    """Temperatures: for all agents, and for single ones.

    Raises:
        ValueError: One of them is no number, or no agent's.
    """
    from cutegen.agents.models.choice import by_agent

    common, own = by_agent(options)
    try:
        return float(common) if common else None, {name: float(text) for name, text in own.items()}
    except ValueError:
        raise ValueError(
            f"--temperature {' '.join(options)}: give a number, or AGENT=NUMBER"
        ) from None


def budget_of(
    steps: int | None,
    wall_s: float | None,
    tokens: int | None,
    usd: float | None,
    target: float | None,
) -> "Budget":
    """The budget that the options spell out; the rest is the default's."""
    from cutegen.graphs.settings import Budget

    given = {"steps": steps, "wall_s": wall_s, "tokens": tokens, "usd": usd, "target": target}
    return Budget(**{name: value for name, value in given.items() if value is not None})


def context_of(
    *,
    model: Sequence[str] | None,
    temperature: Sequence[str] | None,
    executor: str,
    runs_dir: Path,
    math: MathMode,
    seed: int,
    arch: str,
    budget: "Budget",
    allow_simplify: bool,
    profiling: Profiling,
    repair: RepairForm,
    start: Start,
) -> "Context":
    """The context that the options of `run` and `suite` spell out.

    Raises:
        ValueError: A model or a temperature is no agent's, or a temperature is no number.
    """
    from cutegen.graphs.context import Context

    common, models = models_of(model)
    warmth, temperatures = temperatures_of(temperature or ())
    return Context(
        model=common,
        models=models,
        temperature=warmth,
        temperatures=temperatures,
        executor=executor,
        arch=arch,
        seed=seed,
        runs_dir=str(runs_dir),
        math_mode=math.value,
        allow_simplify=allow_simplify,
        profiling=profiling,
        repair=repair,
        start=start,
        **budget.model_dump(),
    )


def run_folder(run: Path, runs_dir: Path) -> Path:
    """The folder of a run that was named by path or by name.

    Raises:
        FileNotFoundError: There is none.
    """
    folder = run if run.is_dir() else runs_dir / run
    if not folder.is_dir():
        raise FileNotFoundError(f"no run {run}: `cutegen runs list` shows those in {runs_dir}")
    return folder
