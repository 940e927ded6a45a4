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
# # Driving the agents by hand
#
# With the model `human` you are the model. The run stops wherever an agent would ask one, hands you
# the prompt, and goes on with your reply. It is the way to see exactly what a language model sees, to
# try an idea of your own within the loop, or to let a coding agent answer.

# %%
import json
from pathlib import Path

import cutegen
from cutegen import Budget, resume_run, run_graph
from cutegen.report.live import LiveRun

TESTS = Path(cutegen.__file__).resolve().parents[1] / "tests"  # of the clone

waiting = run_graph(
    TESTS / "kernelbench" / "custom" / "swiglu.py",
    model="human",
    executor="emulated",
    nvcc_gate=False,
    budget=Budget(steps=1),
    on_event=LiveRun(),
)
waiting

# %% [markdown]
# The run is not over: `waiting.status` is `WAITING` and the question is a value. It also lies in a
# file of the run's folder, in case the reply is written elsewhere.

# %%
print(waiting.question.agent, "asks in", waiting.question.prompt_file.name)
print(waiting.question.prompt[:1500])

# %% [markdown]
# ## The first answer: a whole kernel
#
# In place of a person this notebook answers with what was answered in a recorded run
# (`tests/graphs/recordings`). Replace `reply` by your own text to try a design of yours.

# %%
recording = (TESTS / "graphs" / "recordings" / "swiglu.jsonl").read_text().splitlines()
replies = [json.loads(line)["reply"] for line in recording]

reply = replies[0]
print(reply)

# %%
waiting = resume_run(waiting.run_dir, reply=reply, on_event=LiveRun())
waiting

# %% [markdown]
# ## A reply that cannot be used
#
# is asked for once more, with the fault quoted. Nothing is built for it.

# %%
waiting = resume_run(waiting.run_dir, reply="Use wider loads, obviously.")
print(waiting.question.prompt[-400:])

# %% [markdown]
# ## The second answer: one structural change, as a patch
#
# Search texts must occur exactly once; the patch is applied whole or not at all.

# %%
reply = replies[1]
print(reply)

# %%
record = Path("runs/by_hand.jsonl")
result = resume_run(waiting.run_dir, reply=reply, record=record, on_event=LiveRun())
result

# %% [markdown]
# ## Keep the session
#
# `record=` wrote every prompt with its answer. `model="replay:FILE"` plays them again, asks nobody, and
# stops with a diff where a prompt is no longer the recorded one.

# %%
again = run_graph(
    TESTS / "kernelbench" / "custom" / "swiglu.py",
    model=f"replay:{record}",
    executor="emulated",
    nvcc_gate=False,
    budget=Budget(steps=1),
)
print(again.status, "the same kernel:", again.best.id == result.best.id)

# %% [markdown]
# The same questions reach you in LangGraph Studio as interrupts, and in a shell as
# `cutegen run … --model human` and `cutegen resume RUN --reply FILE`.
