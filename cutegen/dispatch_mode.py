"""Watching the ATen operations that a reference runs, without PyTorch's compiler."""

from torch.utils._python_dispatch import TorchDispatchMode


class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call] # PyTorch's own hook
    """A base for modes that look at each operation's arguments and results.

    By default PyTorch keeps its compiler out of such a mode, and imports it for that at the
    first operation: on an H200's host 4 of the 11 s of an evaluation. Nothing is compiled
    while a reference is watched, so the compiler is not asked.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False
