"""The start of a run: its folder, its settings, the first state."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from cutegen.agents.models.choice import check_agents
from cutegen.agents.models.prices import PRICES, price_of
from cutegen.execution.bench import architecture
from cutegen.graphs.context import Context
from cutegen.graphs.policies import policy_of
from cutegen.graphs.settings import Settings
from cutegen.graphs.state import State
from cutegen.graphs.workshop import RunFolder
from cutegen.result import SPEC_FILE
from cutegen.spec import KernelSpec
from cutegen.store import write_atomically
from cutegen.toolchain.nvcc import DEFAULT_ARCH

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def start_run(
    context: Context, run_id: str, *, spec: KernelSpec | None = None, path: str | None = None
) -> State:
    """Make the run's folder and the state that its graph starts from.

    What an earlier call with this run id put into the folder, spec and settings, stands.

    Args:
        context: The caller's choices.
        run_id: Name of the folder.
        spec: What to implement; read from ``path``, or else the context's, if None.
        path: A KernelBench-format file.

    Raises:
        ValueError: ``run_id`` cannot be the name of a folder, or no spec is named, or the
            folder is a run of another one.
        SpecError: The file is refused, with the reason.
        EnvironmentUnfitError: The executor asked for cannot be used here.
    """
    if not _RUN_ID.fullmatch(run_id):
        raise ValueError(f"{run_id!r} is no run id: use letters, digits, dots, dashes")
    place = Path(context.runs_dir) / run_id
    kept = _kept_spec(place)
    if kept is None:
        kept = spec or _spec_from_file(path or context.spec_path, context)
    elif spec is not None and spec.id != kept.id:
        raise ValueError(
            f"{place} is a run of another spec, {kept.name}: choose another run id or runs folder"
        )
    folder = RunFolder(place)
    text = kept.model_dump_json()
    settings = folder.ledger.settings(run_id)
    if settings is None:
        settings = settle(kept, context).model_dump_json()
        write_atomically(folder.path / SPEC_FILE, text)
        folder.ledger.start(run_id, kept.id, settings)
    return {
        "run_id": run_id,
        "spec": folder.store.put(text),
        "settings": json.loads(settings),
        "candidate": None,
        "best": None,
        "last": None,
        "rivals": [],
        "steps": [],
        "stop": None,
    }


def settle(spec: KernelSpec, context: Context) -> Settings:
    """Turn a context's choices into settings: what was ``auto`` or empty is now decided.

    Raises:
        ValueError: A choice is none, or outside its range.
        EnvironmentUnfitError: The executor asked for cannot be used here.
    """
    context.check()
    check_agents(context.models)
    check_agents(context.temperatures)
    if context.usd:
        _check_prices((context.model, *context.models.values()))
    executor = context.judge(context.executor).name
    return Settings(
        model=context.model,
        models=context.models,
        temperature=context.temperature,
        temperatures=context.temperatures,
        executor=executor,
        arch=context.arch or own_architecture(executor),
        seed=context.seed,
        allow_simplify=context.allow_simplify,
        nvcc_gate=context.nvcc_gate,
        budget=context.budget,
        policy=context.policy_over(policy_of(spec.kernel_class)),
        method=context.method,
    )


def _check_prices(models: Iterable[str]) -> None:
    for model in models:
        if price_of(model) is None:
            raise ValueError(
                f"a limit in US dollars needs a price, and no table has one for {model}: put it "
                f"into a file that {PRICES} names (see agents/models/prices.toml)"
            )


def own_architecture(executor: str) -> str:
    """The GPU's nvcc target; without a GPU, the one that kernels are written for."""
    return architecture(0) if executor == "cuda" else DEFAULT_ARCH


def _kept_spec(place: Path) -> KernelSpec | None:
    file = place / SPEC_FILE
    return KernelSpec.model_validate_json(file.read_text()) if file.exists() else None


def _spec_from_file(path: str, context: Context) -> KernelSpec:
    if not path:
        raise ValueError(
            'name a KernelBench-format file: input {"spec_path": "…"}, or the context\'s spec_path'
        )
    return KernelSpec.from_kernelbench(path, math_mode=context.math_mode, seed=context.seed)
