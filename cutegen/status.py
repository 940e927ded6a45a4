"""What can become of a candidate: one enum for building, running, verifying and timing."""

from enum import StrEnum


class Status(StrEnum):
    """The outcome of evaluating one candidate (DESIGN §2)."""

    PASSED = "PASSED"
    COMPILE_ERROR = "COMPILE_ERROR"
    LAUNCH_ERROR = "LAUNCH_ERROR"
    WRONG_SHAPE = "WRONG_SHAPE"
    WRONG_VALUES = "WRONG_VALUES"
    PRECISION_DOWNGRADE = "PRECISION_DOWNGRADE"
    NONDETERMINISTIC = "NONDETERMINISTIC"
    OUT_OF_BOUNDS = "OUT_OF_BOUNDS"
    MISALIGNED = "MISALIGNED"  # an access wider than its address is aligned
    RACE = "RACE"
    STATEFUL = "STATEFUL"  # a call depends on the calls before it
    UNINITIALIZED = "UNINITIALIZED"  # the result depends on memory that nobody wrote
    DEADLOCK = "DEADLOCK"  # threads wait for what cannot come
    DIVERGENCE = "DIVERGENCE"  # threads stand at different barriers, or lanes are missing
    SMEM_LIMIT = "SMEM_LIMIT"  # more shared memory than the architecture has
    DID_NOT_RUN = "DID_NOT_RUN"
    FORBIDDEN = "FORBIDDEN"  # the source uses what no kernel needs: files, threads
    CHEAT = "CHEAT"
    TOO_FAST_TO_BE_TRUE = "TOO_FAST_TO_BE_TRUE"
    TIMEOUT = "TIMEOUT"
    RESOURCE = "RESOURCE"
    ENVIRONMENT = "ENVIRONMENT"

    @property
    def is_candidates_fault(self) -> bool:
        """Whether a repair of the source can help: never for RESOURCE or ENVIRONMENT."""
        return self not in {Status.PASSED, Status.RESOURCE, Status.ENVIRONMENT}
