"""Anchored edits: search text that occurs exactly once, and its replacement."""

from cutegen.frozen import Frozen


class Edit(Frozen):
    """Replace ``search``, which must occur exactly once in the source, by ``replace``."""

    search: str
    replace: str


class EditRefusedError(ValueError):
    """An edit could not be applied; nothing was changed. The message quotes the fault."""
