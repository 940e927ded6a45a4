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
# # A tour: from a PyTorch function to a kernel that you call
#
# Half a minute on a laptop with g++; no GPU and no API key. Without a GPU the very `.cu` file is
# compiled for the CPU and run by an emulator. That judges whether a kernel is **right**. It says
# nothing about **how fast** it is, and this notebook will not pretend otherwise.

# %% [markdown]
# ## 1. Say what is to be computed
#
# A spec is the function, its inputs at the shape that will be timed, and what follows from them:
# other shapes at which every kernel is checked, the arguments that it is given, the work of one call.

# %%
import torch

from cutegen import Budget, KernelSpec, run_graph
from cutegen.kernel import args_header


def swish(x):
    return x * torch.sigmoid(x)


spec = KernelSpec.from_callable(swish, [torch.rand(256, 1000)])
print(spec.kernel_class, spec.math_mode, [case.tensors[0].shape for case in spec.checks])
print(args_header(spec))

# %% [markdown]
# ## 2. Let the agents work
#
# The default model, `playbook`, is a deterministic program and no language model. It plays the five
# agents from a library of CuTe designs; `model="openai:NAME"` asks a language model instead.
# `executor="auto"` takes the GPU where there is one. `nvcc_gate=False` leaves out the second build,
# for the GPU, of which a run without a GPU otherwise learns registers, spills and occupancy.

# %%
from cutegen.report.live import LiveRun

result = run_graph(spec, budget=Budget(steps=2), nvcc_gate=False, on_event=LiveRun())

# %% [markdown]
# ## 3. Look
#
# A result shows itself. On the emulator each accepted step says *unmeasured*, because nothing was
# timed: it was accepted because it is right and because its design changed as the agent intended.

# %%
result

# %% [markdown]
# What "right" means: the error against a float64 reference may not exceed a small multiple of
# PyTorch's own, on data of many kinds and at shapes that no tile divides. Open the comparisons.

# %%
result.best.verdict

# %% [markdown]
# ## 4. Call it
#
# `result.best` takes what the function took. After a run on a GPU it takes CUDA tensors, runs on
# their current stream and does not wait; after an emulated run it takes CPU tensors. The cell is the
# same.

# %%
device = "cuda" if result.best.executor == "cuda" else "cpu"
x = torch.randn(37, 129, device=device)  # neither the timed shape nor a multiple of a tile
y = result.best(x)
print(y.shape, "largest difference from PyTorch:", (y - swish(x)).abs().max().item())

# %% [markdown]
# A kernel says no to what it was not made for, rather than compute something else:

# %%
try:
    result.best(x.half())
except ValueError as refusal:
    print(refusal)

# %% [markdown]
# ## Where to go from here
#
# - `cutegen export RUN --to DIR --as torch` ships the kernel as an operator for `torch.compile`.
# - `resume_run(result.run_dir, executor="cuda")` on a GPU machine verifies and times every kernel of
#   this run again and goes on from the fastest. The folder below is all it needs.
# - `2_anatomy` takes a run apart; `4_by_hand` lets you answer in the agents' place.

# %%
print(result.run_dir)
