"""The command that says what this machine, and a model, can do."""

from typing import Annotated

import typer

from cutegen.answering import Exit, Mode
from cutegen.cli_options import AsJson


def add_doctor(app: typer.Typer) -> None:
    """Give ``app`` the command of this module."""
    app.command()(doctor)


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
    """Say what this machine, and a model, can do, and what to do about the rest.

    Example: `cutegen doctor --model openai:gpt-4o-mini`
    """
    from cutegen.doctor import Finding, Health, examine
    from cutegen.measurement.self_test import SelfTestState
    from cutegen.report.terminal import show_examination

    mode = Mode(as_json)
    examination = examine(self_test=self_test)
    if model is None:
        from cutegen.agents.models.offered import offered

        models: tuple[Finding, ...] = (offered(),)
    else:
        from cutegen.agents.models.probe import probe

        models = probe(model)
    mute = any(part.health is Health.MISSING for part in models)
    examination = examination.model_copy(update={"findings": examination.findings + models})
    if mode.as_json:
        mode.print_json(examination.model_dump_json())
    else:
        show_examination(mode.answers, examination)
    untrue = examination.clock is not None and examination.clock.state is not SelfTestState.PASSED
    good = examination.executors and not untrue and not mute
    raise typer.Exit(Exit.GOOD if good else Exit.ENVIRONMENT)
