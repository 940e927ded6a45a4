"""What the playbook cannot do, as an exception inside it and an UNSUPPORTED reply outside."""


class UnsupportedError(Exception):
    """An operation, or a use of one, for which the playbook has no design."""

    def __init__(self, operation: str, reason: str) -> None:
        """Name the operation as the trace does, and say why."""
        super().__init__(f"{operation}: {reason}")
        self.operation = operation
        self.reason = reason
