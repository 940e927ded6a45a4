"""What can go wrong between us and a model's service."""

from cutegen.faults import SurroundingsError


class ModelError(SurroundingsError):
    """The model cannot be asked; the message says what to set or to start.

    It is a fault of the surroundings: the run stops, and can be resumed.
    """
