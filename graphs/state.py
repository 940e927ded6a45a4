"""The state of the graph: plain JSON, and small, for every checkpoint holds all of it.

Sources, verdicts, measurements, steps and the spec are artefacts in the run's store; the state
has their ids.
"""

import json
from typing import Literal, cast

from pydantic import JsonValue
from typing_extensions import TypedDict

Node = Literal[
    "synthesize",
    "compile",
    "verify",
    "measure",
    "select",
    "structural_optimizer",
    "profile",
    "profile_tuner",
    "diagnose",
    "repair",
    "finish",
]


class Attempt(TypedDict):
    """A candidate on its way through the graph, or the best one so far."""

    id: str
    source: str  # artefact
    parent: str  # candidate id
    author: str
    intent: str
    expected: str
    kind: str  # StepKind of the proposal that it is, or is a repair of
    repairs: int  # how many repairs were tried on that proposal so far
    status: str  # Status of the verdict; empty before it
    verdict: str  # artefact: Verdict
    diagnosis: str  # artefact: Causes
    hopeless: bool  # an agent sees no repair
    measurement: str  # artefact: Measurement
    note: str  # what the reader of its step should know, such as an absent nvcc


class Stop(TypedDict):
    """Why the run ends before its course is run."""

    status: str  # RunStatus
    reason: str
    node: Node  # where to take it up again


class RunInput(TypedDict, total=False):
    """What starts the graph from outside: a KernelBench-format file."""

    spec_path: str


class State(RunInput, total=False):
    """Everything between two nodes."""

    run_id: str
    spec: str  # artefact: KernelSpec
    settings: dict[str, JsonValue]
    candidate: Attempt | None  # what is being worked on
    rivals: list[Attempt]  # other variants of the same answer, at most a few
    best: Attempt | None  # verified; never lost
    last: Attempt | None  # the last one that was verified
    steps: list[str]  # artefacts: Step, in order
    counted_from: int  # the first step that the predicate reads
    rounds: int  # optimizer proposals so far
    syntheses: int
    repairs_left: bool  # of the budget, for the candidate at hand
    syntheses_left: bool
    stable: bool  # whether the profiling edge is open
    why: str  # and its reason
    structure_left: bool  # whether the structural optimizer has more to try
    unprofiled: bool  # the tuner works without a profile
    tuning_left: bool
    reached: bool  # the share of the roofline that was asked for
    rounds_left: bool
    profile: str  # artefact: Profile
    profile_of: str  # id of the candidate that it is of
    wall_s: float  # spent inside nodes
    stop: Stop | None
    status: str  # RunStatus, once finished
    reason: str


def plain(update: State) -> State:
    """An update as JSON holds it: enums become their values, which every reader can load."""
    return cast("State", json.loads(json.dumps(update)))
