"""The error for references that cannot become a spec."""


class SpecError(ValueError):
    """A reference is refused; the message gives the reason and what to do about it."""
