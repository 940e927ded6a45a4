"""Histories and policies, made by hand or at random."""

from hypothesis import strategies as st

from cutegen.graphs.settings import Settings, StabilityPolicy
from cutegen.history import Decision, Step, StepKind
from cutegen.structure import Fingerprint

POLICY = StabilityPolicy(window=2, least_rounds=3, epsilon=0.02)
SETTINGS = Settings(model="playbook", executor="emulated", arch="sm_90a", policy=POLICY)


def step(
    kind: str,
    decision: str,
    design: str = "",
    time_us: float | None = None,
    roof: float | None = None,
) -> Step:
    return Step(
        index=0,
        kind=StepKind(kind),
        agent="somebody",
        intent="",
        decision=Decision(decision),
        fingerprint=Fingerprint(features={"design": design}) if design else None,
        time_us=time_us,
        roofline_fraction=roof,
    )


def numbered(*steps: Step) -> tuple[Step, ...]:
    return tuple(s.model_copy(update={"index": i}) for i, s in enumerate(steps))


FIRST = step("synthesis", "accepted", "plain", 100.0)
QUIET = step("structural", "rejected", "other")
OUT = step("structural", "no-proposal")

steps_ = st.builds(
    step,
    kind=st.sampled_from(list(StepKind)),
    decision=st.sampled_from(list(Decision)),
    design=st.sampled_from(["plain", "tiled", "piped"]),
    time_us=st.none() | st.floats(1.0, 1000.0),
    roof=st.none() | st.floats(0.0, 1.0),
)
histories = st.lists(steps_, max_size=20).map(lambda steps: numbered(*steps))
policies = st.builds(
    StabilityPolicy,
    window=st.integers(1, 5),
    least_rounds=st.integers(0, 6),
    epsilon=st.floats(0.0, 0.2),
    refusals=st.integers(1, 4),
    roofline=st.floats(0.5, 1.0),
)
