"""Why a source cannot be emulated."""


class EmulationError(ValueError):
    """The emulator does not do what the source asks for; the message says what would help.

    It is no fault of the kernel: the same source may be right on a GPU.
    """

    def __init__(self, line: int, what: str, advice: str) -> None:
        """Name the construct, its line in the candidate, and what to do next."""
        super().__init__(f"line {line}: the emulator does not run {what}: {advice}")
        self.line = line
        self.what = what
        self.advice = advice
