"""The command line: run, resume, evaluate, spec, doctor; ``cli_runs`` has the rest.

Standard output carries the answer (one JSON object with ``--json``), standard error the progress.
Exit codes: 0 good, 1 the kernel or the run failed, 2 usage, 3 environment, 4 a person is asked.
"""

import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Annotated, Any

import typer

from cutegen.agents.diagnostician import second_opinion
from cutegen.agents.models.choice import by_agent
from cutegen.agents.models.probe import probe
from cutegen.agents.models.resolve import DEFAULT_MODEL, resolve_model
from cutegen.answering import Exit, Mode, Stages
from cutegen.cli_models import Dollars, ModelNames, Record, Temperatures, Tokens, temperatures_of
from cutegen.cli_runs import add_run_commands, run_folder
from cutegen.doctor import Health, examine
from cutegen.events import Event
from cutegen.execution import resolve_executor
from cutegen.execution.protocol import EvaluationJob, MeasurementJob
from cutegen.graphs.following import drain
from cutegen.graphs.resuming import stream_resumed
from cutegen.graphs.running import stream_graph
from cutegen.graphs.settings import Budget
from cutegen.kernel import args_header, candidate_id
from cutegen.measurement.self_test import SelfTestState
from cutegen.measurement.timing import Measurement, MeasurementState
from cutegen.report.terminal import RunProgress, show_examination, show_result, show_verdict
from cutegen.result import RunResult, RunStatus
from cutegen.spec import KernelSpec, MathMode
from cutegen.status import Status
from cutegen.store import write_atomically
from cutegen.verification.verdict import Verdict

app = typer.Typer(
    help="Turn a PyTorch module into a verified, fast CuTe kernel.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


SpecFile = Annotated[
    Path,
    typer.Argument(
        help="A KernelBench-format file: Model, get_inputs, get_init_inputs.",
        exists=True,
        dir_okay=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
ExecutorName = Annotated[str, typer.Option("--executor", help="auto, cuda or emulated.")]
_RUN_STATUSES = {Exit.USAGE: RunStatus.FAILED.value, Exit.ENVIRONMENT: RunStatus.STOPPED.value}
_VERDICT_STATUSES = {Exit.ENVIRONMENT: Status.ENVIRONMENT.value}

RunsDir = Annotated[Path, typer.Option("--runs-dir", help="Where run folders are kept.")]
Math = Annotated[MathMode, typer.Option("--math", help="The arithmetic that a kernel may use.")]
Seed = Annotated[int, typer.Option("--seed", help="Seeds inputs and fiber order.")]
Steps = Annotated[int | None, typer.Option("--steps", help="Most optimization steps.", min=0)]
WallTime = Annotated[float | None, typer.Option("--wall-s", help="Most seconds.", min=1)]


@app.command()
def run(
    spec: SpecFile,
    *,
    model: ModelNames = None,
    temperature: Temperatures = None,
    executor: ExecutorName = "auto",
    runs_dir: RunsDir = Path("runs"),
    math: Math = MathMode.FP32,
    seed: Seed = 0,
    run_id: Annotated[str | None, typer.Option(help="Name of the run folder.")] = None,
    arch: Annotated[
        str, typer.Option(help="nvcc target, such as sm_90a; the GPU's own if empty.")
    ] = "",
    steps: Steps = None,
    wall_s: WallTime = None,
    tokens: Tokens = None,
    usd: Dollars = None,
    allow_simplify: Annotated[
        bool, typer.Option(help="A repair may give up structure, such as stages or tensor cores.")
    ] = False,
    record: Record = None,
    as_json: AsJson = False,
) -> None:
    """Make a kernel for a spec: write it, verify it, make it faster.

    With `--model human` it ends (exit code 4) wherever a model would be asked, and says in which
    file the prompt lies; go on with `cutegen resume RUN --reply FILE`.

    Example: `cutegen run tests/kernelbench/level1/25_Swish.py`
    """
    mode = Mode(as_json, _RUN_STATUSES)
    with mode.faults_told():
        common, models = by_agent(model or ())
        warmth, temperatures = temperatures_of(temperature or ())
        _follow(
            mode,
            stream_graph(
                KernelSpec.from_kernelbench(spec, math_mode=math, seed=seed),
                model=common or DEFAULT_MODEL,
                models=models,
                temperature=warmth,
                temperatures=temperatures,
                executor=executor,
                budget=_budget(steps, wall_s, tokens, usd),
                runs_dir=runs_dir,
                run_id=run_id,
                seed=seed,
                arch=arch,
                allow_simplify=allow_simplify,
                record=record,
            ),
        )


@app.command()
def resume(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run folder, or a run's name in --runs-dir.")
    ],
    *,
    runs_dir: RunsDir = Path("runs"),
    model: ModelNames = None,
    temperature: Temperatures = None,
    executor: Annotated[str | None, typer.Option(help="Another executor than the run's.")] = None,
    steps: Steps = None,
    wall_s: WallTime = None,
    tokens: Tokens = None,
    usd: Dollars = None,
    reply: Annotated[
        Path | None,
        typer.Option(
            help="The answer to the prompt that a run with `--model human` waits at; - reads it "
            "from standard input.",
            allow_dash=True,
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    record: Record = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run: killed, emulated and now on a GPU, or waiting for a person's reply.

    Example: `cutegen resume runs/20260101-swish --executor cuda`
    """
    mode = Mode(as_json, _RUN_STATUSES)
    with mode.faults_told():
        # the run's own budget, unless another one is asked for
        limits = (steps, wall_s, tokens, usd)
        budget = None if all(limit is None for limit in limits) else _budget(*limits)
        common, models = by_agent(model or ())
        warmth, temperatures = temperatures_of(temperature or ())
        folder = run_folder(run, runs_dir)
        text = None if reply is None else _read(reply)
        _follow(
            mode,
            stream_resumed(
                folder,
                model=common or None,
                models=models or None,
                temperature=warmth,
                temperatures=temperatures or None,
                executor=executor,
                budget=budget,
                reply=text,
                record=record,
            ),
        )


@app.command()
def evaluate(
    kernel: Annotated[Path, typer.Argument(help="A .cu file.", exists=True, dir_okay=False)],
    *,
    spec: Annotated[
        Path,
        typer.Option("--spec", help="The KernelBench-format file.", exists=True, dir_okay=False),
    ],
    model: Annotated[
        str | None, typer.Option(help="Ask this model why a kernel failed: as for `run`.")
    ] = None,
    executor: ExecutorName = "auto",
    runs_dir: Annotated[
        Path | None, typer.Option(help="Keep the answer in `evaluations` in this folder.")
    ] = None,
    math: Math = MathMode.FP32,
    seed: Seed = 0,
    timeout_s: Annotated[float, typer.Option(help="Most seconds for one launch.")] = 60.0,
    as_json: AsJson = False,
) -> None:
    """Judge a kernel that you wrote, and time it where there is a GPU.

    Example: `cutegen evaluate swish.cu --spec tests/kernelbench/level1/25_Swish.py`
    """
    mode = Mode(as_json, _VERDICT_STATUSES)
    stages = Stages()
    with mode.faults_told():
        source = kernel.read_text()
        reference = KernelSpec.from_kernelbench(spec, math_mode=math, seed=seed)
        stages.end("spec")
        judge = resolve_executor(executor)
        judge.build(reference, source)  # kept in the cache, so what follows builds nothing
        stages.end("build")
        verdict = judge.evaluate(
            EvaluationJob(spec=reference, source=source, seed=seed, timeout_s=timeout_s)
        )
        stages.end("verdict")
        measurement = (
            judge.measure(MeasurementJob(spec=reference, source=source, seed=seed))
            if verdict.passed
            else None
        )
        stages.end("measurement")
        causes = (
            second_opinion(resolve_model(model), reference, source, verdict)
            if model is not None and verdict.status.is_candidates_fault
            else ()
        )
        answer: dict[str, Any] = verdict.model_dump(mode="json") | {
            "measurement": measurement.model_dump(mode="json") if measurement else None,
            "causes": [cause.model_dump(mode="json") for cause in causes],
            "stages": stages.seconds,
        }
        if runs_dir is not None:
            kept = runs_dir / "evaluations" / f"{candidate_id(source, reference.id)}.json"
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(kept, json.dumps(answer | {"source": source}, indent=2))
    if mode.as_json:
        mode.print_json(json.dumps(answer))
    else:
        show_verdict(mode.answers, verdict, measurement)
        for cause in causes:
            mode.answers.print(f"{model}: {cause.cause}", markup=False)
    raise typer.Exit(exit_of_verdict(verdict, measurement))


@app.command("spec")
def show_spec(spec: SpecFile, math: Math = MathMode.FP32, as_json: AsJson = False) -> None:
    """Print the argument header that a kernel for this spec must accept.

    Example: `cutegen spec tests/kernelbench/level1/25_Swish.py`
    """
    mode = Mode(as_json)
    with mode.faults_told():
        found = KernelSpec.from_kernelbench(spec, math_mode=math)
        if mode.as_json:
            answer = found.model_dump(mode="json") | {"id": found.id, "header": args_header(found)}
            mode.print_json(json.dumps(answer))
        else:
            sys.stdout.write(args_header(found))


@app.command()
def doctor(
    model: Annotated[
        str | None, typer.Option(help="Ask this model a small question, and judge its answer.")
    ] = None,
    *,
    self_test: Annotated[
        bool, typer.Option("--self-test", help="Also time kernels whose time is known.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what this machine, and a model, can do, and what to do about the rest."""
    mode = Mode(as_json)
    examination = examine(self_test=self_test)
    probed = () if model is None else probe(model)
    examination = examination.model_copy(update={"findings": examination.findings + probed})
    if mode.as_json:
        mode.print_json(examination.model_dump_json())
    else:
        show_examination(mode.answers, examination)
    untrue = examination.clock is not None and examination.clock.state is not SelfTestState.PASSED
    mute = any(part.health is Health.MISSING for part in probed)
    good = examination.executors and not untrue and not mute
    raise typer.Exit(Exit.GOOD if good else Exit.ENVIRONMENT)


def exit_of_verdict(verdict: Verdict, measurement: Measurement | None) -> Exit:
    """GOOD only for a kernel that passed and whose time, if one was taken, is believed."""
    if verdict.passed:
        refused = measurement is not None and measurement.state is MeasurementState.REFUSED
        return Exit.FAILED if refused else Exit.GOOD
    return Exit.FAILED if verdict.status.is_candidates_fault else Exit.ENVIRONMENT


add_run_commands(app)


def main() -> None:
    """Entry point of the ``cutegen`` program."""
    app()


def _budget(
    steps: int | None, wall_s: float | None, tokens: int | None, usd: float | None
) -> Budget:
    given = {"steps": steps, "wall_s": wall_s, "tokens": tokens, "usd": usd}
    return Budget(**{name: value for name, value in given.items() if value is not None})


def _read(file: Path) -> str:
    return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")


def _follow(mode: Mode, events: Generator[Event, None, RunResult]) -> None:
    result = drain(events, RunProgress(mode.progress).show)
    if mode.as_json:
        mode.print_json(result.model_dump_json())
    else:
        show_result(mode.answers, result)
    raise typer.Exit(_exit_of_run(result))


def _exit_of_run(result: RunResult) -> Exit:
    match result.status:
        case RunStatus.SUCCEEDED:
            return Exit.GOOD
        case RunStatus.WAITING:
            return Exit.WAITING
        case RunStatus.STOPPED if result.best is None:
            return Exit.ENVIRONMENT
        case RunStatus.STOPPED:
            return Exit.GOOD
    return Exit.FAILED
