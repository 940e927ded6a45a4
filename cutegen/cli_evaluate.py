"""Commands about a kernel that somebody wrote: judge it, and print what it must accept."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutegen.answering import Exit, Mode, Stages
from cutegen.cli_options import AsJson, ExecutorName, Math, Seed, SpecFile
from cutegen.math_mode import MathMode
from cutegen.status import Status

if TYPE_CHECKING:
    from cutegen.measurement.timing import Measurement
    from cutegen.verification.verdict import Verdict

_STATUSES = {Exit.ENVIRONMENT: Status.ENVIRONMENT.value}


def add_evaluate_commands(app: typer.Typer) -> None:
    """Give ``app`` the commands of this module."""
    app.command()(evaluate)
    app.command("spec")(show_spec)


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
    timeout_s: Annotated[float, typer.Option(help="Most seconds for one launch.", min=0.1)] = 60.0,
    as_json: AsJson = False,
) -> None:
    """Judge a kernel that you wrote, and time it where there is a GPU.

    Example: `cutegen evaluate swish.cu --spec tests/kernelbench/level1/25_Swish.py`
    """
    mode = Mode(as_json, _STATUSES)
    stages = Stages()
    with mode.faults_told():
        from cutegen.execution import resolve_executor
        from cutegen.execution.protocol import EvaluationJob, MeasurementJob
        from cutegen.kernel import candidate_id
        from cutegen.report.terminal import show_verdict
        from cutegen.spec import KernelSpec
        from cutegen.store import write_atomically
        from cutegen.verification.plan import plan_checks

        source = _source(kernel)
        stages.end("start")
        reference = KernelSpec.from_kernelbench(spec, math_mode=math, seed=seed)
        stages.end("spec")
        judge = resolve_executor(executor)
        with ThreadPoolExecutor(1) as pool:  # what is checked is found while the compiler works
            planned = pool.submit(plan_checks, reference, source)
            build = judge.build(reference, source)  # cached: what follows builds nothing
            planned.result()
        stages.end("build")
        verdict = judge.evaluate(
            EvaluationJob(
                spec=reference,
                source=source,
                seed=seed,
                timeout_s=timeout_s,
                taken_if_passed=True,
            )
        )
        stages.end("verdict")
        measurement = (
            judge.measure(MeasurementJob(spec=reference, source=source, seed=seed))
            if verdict.passed
            else None
        )
        stages.end("measurement")
        causes: list[dict[str, Any]] = []
        if model is not None and verdict.status.is_candidates_fault:
            from cutegen.agents.diagnostician import second_opinion
            from cutegen.agents.models.resolve import resolve_model

            opinion = second_opinion(resolve_model(model), reference, source, verdict)
            causes = [cause.model_dump(mode="json") for cause in opinion]
            stages.end("model")
        answer: dict[str, Any] = verdict.model_dump(mode="json") | {
            "measurement": measurement.model_dump(mode="json") if measurement else None,
            "causes": causes,
            "stages": stages.seconds,
            "toolchain_s": 0.0 if build.cached else round(build.seconds, 3),
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
            mode.answers.print(f"{model}: {cause['cause']}", markup=False)
        spent = ", ".join(f"{name} {taken:.1f} s" for name, taken in stages.seconds.items())
        mode.progress.print(spent, style="dim", highlight=False)
    raise typer.Exit(exit_of_verdict(verdict, measurement))


def _source(kernel: Path) -> str:
    try:
        return kernel.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{kernel} is no UTF-8 text; give a .cu file") from None


def show_spec(spec: SpecFile, math: Math = MathMode.FP32, as_json: AsJson = False) -> None:
    """Print the argument header that a kernel for this spec must accept.

    Example: `cutegen spec tests/kernelbench/level1/25_Swish.py`
    """
    mode = Mode(as_json)
    with mode.faults_told():
        from cutegen.kernel import args_header
        from cutegen.spec import KernelSpec

        found = KernelSpec.from_kernelbench(spec, math_mode=math)
        if mode.as_json:
            answer = found.model_dump(mode="json") | {"id": found.id, "header": args_header(found)}
            mode.print_json(json.dumps(answer))
        else:
            sys.stdout.write(args_header(found))


def exit_of_verdict(verdict: "Verdict", measurement: "Measurement | None") -> Exit:
    """GOOD only for a kernel that passed and whose time, if one was taken, is believed."""
    from cutegen.measurement.timing import MeasurementState

    if verdict.passed:
        refused = measurement is not None and measurement.state is MeasurementState.REFUSED
        return Exit.FAILED if refused else Exit.GOOD
    return Exit.FAILED if verdict.status.is_candidates_fault else Exit.ENVIRONMENT
