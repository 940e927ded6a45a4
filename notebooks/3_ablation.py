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
from pathlib import Path

import torch
from IPython.display import HTML, Markdown, display

import cutegen
from cutegen import Budget, KernelSpec, run_graph
from cutegen.history import Decision, StepKind
from cutegen.report.dossier import read_run
from cutegen.report.fingerprint_diff import compare
from cutegen.report.markup import section, table


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
# `tests/gpu/run_ablation.py` runs the switches over many specs on a GPU and writes one file of raw
# figures. This reads it.

# %%
FILE = Path(cutegen.__file__).resolve().parents[1] / "tests" / "gpu" / "results" / "ablation.json"
recorded = json.loads(FILE.read_text()) if FILE.exists() else None
if recorded is None:
    display(Markdown("**There are no GPU figures yet**, and so no answer: the claim is untested."))
