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
# # The anatomy of a run
#
# What a run keeps, and how to read it: who proposed what, what was wrong with it, what each step
# changed about the design, and why the profile was shown when it was.
#
# The agents' replies in this run are **written by hand** (`anatomy_replies.py`) so that it takes
# every edge of the graph: a kernel that is wrong, its repair, a proposal that was tried before, one
# that changes nothing, and the opening of the profile edge. Builds and verdicts are real; without a
# GPU nothing is timed.

# %%
from pathlib import Path

import anatomy_replies
import torch

from cutegen import KernelSpec, run_graph
from cutegen.events import PredicateChanged
from cutegen.report.live import LiveRun


def swish(x):
    return x * torch.sigmoid(x)


spec = KernelSpec.from_callable(swish, [torch.randn(8, 67)], name="tiny")
recording = anatomy_replies.write(Path("runs/anatomy.jsonl"))
result = run_graph(
    spec,
    model=f"replay:{recording}",
    executor="emulated",
    nvcc_gate=False,
    on_event=LiveRun(),
)
result

# %% [markdown]
# ## A run folder holds everything
#
# `log.jsonl` is the stream of events that you just saw; `ledger.sqlite` has the steps, candidates and
# model calls; `objects/` the sources, prompts and verdicts by their content. `read_run` gathers them.
# The drawing shows who moved when, and from where on profiles were shown.

# %%
from cutegen.report.dossier import read_run

run = read_run(result.run_dir)
run

# %% [markdown]
# ## The lineage
#
# Each candidate knows its parent, so each step is a change. This one failed. One element was left
# unwritten; no error gives that away by itself, for memory often holds the right answer of an earlier
# launch. Outputs are poisoned before each launch here.

# %%
first, wrong, mended, again, narrow, wide, last = run.chapters
wrong

# %% [markdown]
# The repair is a patch to the failed source, not a kernel written anew:

# %%
mended

# %% [markdown]
# The same judge is there for a kernel of your own, with all of its evidence:

# %%
from cutegen.execution import resolve_executor
from cutegen.execution.protocol import EvaluationJob

judge = resolve_executor("emulated")
judge.evaluate(EvaluationJob(spec=spec, source=wrong.source))

# %% [markdown]
# ## The fingerprint
#
# A fingerprint is a kernel's design without its numbers, read from the source. It decides what counts
# as a change of *structure*: the repaired kernel has one, "smaller blocks" has not, whatever its agent
# called it.

# %%
from cutegen.report.fingerprint_diff import compare
from cutegen.structure import fingerprint

compare(fingerprint(first.source), fingerprint(mended.source))

# %%
compare(fingerprint(mended.source), fingerprint(narrow.source))

# %% [markdown]
# ## The profile
#
# Where there is nvcc, a kernel is known without being run: registers, spills, occupancy. On a GPU the
# time and its distance from the roofline are added, and counters where Nsight Compute may be used.

# %%
from cutegen.kernel import args_header
from cutegen.measurement.static import StaticProfiler
from cutegen.measurement.timing import Measurement, MeasurementState
from cutegen.toolchain.discovery import ToolNotFoundError
from cutegen.toolchain.nvcc import NvccToolchain
from cutegen.toolchain.protocol import BuildRequest

try:
    request = BuildRequest(source=mended.source, header=args_header(spec))
    build = NvccToolchain(arch="sm_90a").build(request)
    untimed = Measurement(state=MeasurementState.UNMEASURED, reason="the emulator has no clock")
    profile = StaticProfiler("sm_90a").profile(spec, mended.source, build, untimed)
except ToolNotFoundError as missing:
    profile = missing
profile

# %% [markdown]
# ## Why the profile edge opened
#
# Counters tempt an agent into tuning a bad design, so the tuner is shown none before the structure
# has settled. `structure_is_stable` is a pure function of the steps; ask it after each of them.

# %%
from cutegen.graphs.policies import policy_of
from cutegen.graphs.stability import structure_is_stable

policy = policy_of(spec.kernel_class)
print(f"policy for {spec.kernel_class}: {policy}\n")
for count in range(1, len(result.steps) + 1):
    answer = structure_is_stable(result.steps[:count], policy)
    print(f"after step {count - 1}: {'open  ' if answer.stable else 'closed'} {answer.why}")

# %% [markdown]
# The events say the same, when it happened:

# %%
[event for event in run.events if isinstance(event, PredicateChanged)]

# %% [markdown]
# ## What failed is remembered
#
# Step 3 proposed the very source that had failed in step 1. It was recognised by its content and
# neither built nor run:

# %%
again.step.reason

# %% [markdown]
# Agents are told as well. This is the end of the prompt that the structural optimizer was given last;
# the tuner's arguments, which come from a profile, would be left out of it.

# %%
asked = [exchange for chapter in run.chapters for exchange in chapter.exchanges]
structural = [exchange for exchange in asked if exchange.call.agent == "structural_optimizer"]
prompt = structural[-1].messages[-1].text
print(prompt[prompt.index("## What was tried") :])
