# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Does the method earn its keep?
#
# The method makes three claims, and each has a switch that turns it off, so that it can be tested:
#
# | claim | switch | the method | without it |
# |---|---|---|---|
# | counters help once the structure has settled, and mislead before | `profiling` | `delayed` | `immediate`, `never` |
# | small patches keep what was won | `repair` | `patch` | `rewrite` |
# | a step starts from the best kernel | `start` | `best` | `last` |
#
# First a tiny ablation that runs here, then the figures of a GPU, if there are any.

# %% [markdown]
# ## What can be seen without a GPU
#
# The same spec, the same model (the deterministic playbook), the same budget of six proposals, three
# ways to show profiles. Nothing is timed here, so this says **nothing about which kernel is faster**.
# It shows what each run spends its proposals on.

# %%
import json
import sys
from pathlib import Path

import torch
from IPython.display import HTML, Markdown, display

import cutegen
from cutegen import Budget, KernelSpec, run_graph
from cutegen.history import Decision, Step, StepKind
from cutegen.report.dossier import read_run
from cutegen.report.fingerprint_diff import compare
from cutegen.report.markup import paragraph, section, table
from cutegen.report.notebook import style
from cutegen.report.trajectory import trajectory_svg


def swish(x):
    return x * torch.sigmoid(x)


spec = KernelSpec.from_callable(swish, [torch.rand(256, 1000)])
runs = {}
for profiling in ("delayed", "immediate", "never"):
    result = run_graph(
        spec,
        profiling=profiling,
        executor="emulated",
        nvcc_gate=False,
        budget=Budget(steps=6),
    )
    runs[profiling] = read_run(result.run_dir)


# %%
def count(run, kind, decision):
    return str(sum(step.kind is kind and step.decision is decision for step in run.steps))


def summary(run):
    opened = f"before step {run.openings[0].first}" if run.openings else "never"
    return (
        count(run, StepKind.STRUCTURAL, Decision.ACCEPTED),
        count(run, StepKind.TUNING, Decision.ACCEPTED),
        count(run, StepKind.TUNING, Decision.REJECTED),
        opened,
    )


headings = ("profiling", "structures won", "tunings won", "tunings rejected", "tuner's first turn")
rows = [(name, *summary(run)) for name, run in runs.items()]
display(HTML(section(table(headings, rows))))

# %% [markdown]
# Delayed: the proposals go into structure first.

# %%
runs["delayed"]

# %% [markdown]
# Immediate: the tuner has its turn on every structure, the first and plainest included. What it finds
# there has to be found again once the structure changes.

# %%
runs["immediate"]

# %% [markdown]
# What the two kernels differ in, in the end:

# %%
compare(runs["immediate"].best_chapter.step.fingerprint, runs["delayed"].best_chapter.step.fingerprint)

# %% [markdown]
# Two switches cannot be told from the method here. `start="last"` matters when a verified step is
# *slower* than the best, which takes a clock to know. `repair="rewrite"` matters when a model errs; the
# playbook hardly does.

# %% [markdown]
# ## What a GPU said
#
# `tests/gpu/run_ablation.py --out DIR` runs the three ways of profiling over eight specs on a GPU and
# writes `ablation.json`: each run's steps, samples and events. This reads yours, if it lies beside the
# notebook, else the one that is committed.

# %%
GPU = Path(cutegen.__file__).resolve().parents[1] / "tests" / "gpu"  # of the clone
found = [file for file in (Path("ablation.json"), GPU / "results" / "ablation.json") if file.exists()]
recorded = json.loads(found[0].read_text()) if found else None
if recorded is None:
    display(Markdown("**There are no GPU figures yet**, and so no answer: the claim is untested."))
else:
    sys.path.insert(0, str(GPU))
    from ablation_figures import ablation_table

    display(Markdown(f"{recorded['device'].get('gpu', 'GPU')}, driver {recorded['driver']}"))
    display(Markdown(ablation_table(recorded)))

# %% [markdown]
# A mean hides the course. The spec on which the ways differ most:

# %%
if recorded is not None:
    times = {}
    for one in recorded["runs"]:
        if one["time_us"]:
            times.setdefault(one["spec"], {})[one["mode"]] = one
    spread = {
        name: max(run["time_us"] for run in modes.values()) / min(run["time_us"] for run in modes.values())
        for name, modes in times.items()
    }
    widest = max(spread, key=spread.get)
    print(f"{widest}: the slowest way takes {spread[widest]:.2f}x the time of the fastest")
    for mode, one in times[widest].items():
        steps = [Step.model_validate(step) for step in one["steps"]]
        drawing = trajectory_svg(steps, href="")
        why = "; ".join(f"{'open' if is_open else 'closed'}: {why}" for is_open, why in one["edge"])
        display(HTML(section(style(), paragraph(f"{mode}, {one['time_us']:.1f} µs. {why}"), drawing)))

# %% [markdown]
# How to read such figures: the playbook is one model, and a deterministic one. It follows its own order
# of moves whatever a profile says, so it can show what each way **costs** in proposals and builds, and
# whether an early profile leads a search astray that has that order. Whether a *language model* is led
# astray takes the same script with a language model.
