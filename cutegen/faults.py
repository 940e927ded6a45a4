"""Faults that are no kernel's: what a caller may catch without loading what raises it."""


class SurroundingsError(RuntimeError):
    """The machine or a service lacks something; the message says what to do about it."""


class RunBusyError(RuntimeError):
    """Another process is at work on the same run."""
