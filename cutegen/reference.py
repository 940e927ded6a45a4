"""The PyTorch reference as data: source text or a pickled module, loadable anywhere."""

from typing import Literal

from cutegen.frozen import Frozen


class Reference(Frozen):
    """A PyTorch module in a form that travels with the spec.

    ``kind`` is ``source`` (a KernelBench-format file's text) or ``pickle`` (base64 of a
    cloudpickled module).
    """

    kind: Literal["source", "pickle"]
    text: str
