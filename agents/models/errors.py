"""What can go wrong between us and a model's service."""


class ModelError(RuntimeError):
    """The model cannot be asked; the message says what to set or to start.

    It is a fault of the surroundings: the run stops, and can be resumed.
    """
