"""Running the user's reference code without letting it change this process."""

import contextlib
import random
import sys
from collections.abc import Iterator

import numpy as np
import torch


@contextlib.contextmanager
def contained(seed: int | None = None) -> Iterator[None]:
    """Run user code, then restore random states, default dtype, ``sys.path`` and modules.

    What the code prints goes to standard error, since standard output may be somebody's
    JSON. With a ``seed``, the CPU generators of Python, NumPy and PyTorch start from it.
    """
    path, modules = list(sys.path), set(sys.modules)
    dtype, python_state = torch.get_default_dtype(), random.getstate()
    numpy_state = np.random.get_state()  # noqa: NPY002 - user code draws from this generator
    torch_state = torch.random.get_rng_state()
    if seed is not None:
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002 - the same
        torch.default_generator.manual_seed(seed)  # the CPU's alone; CUDA stays untouched
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        torch.random.set_rng_state(torch_state)
        np.random.set_state(numpy_state)  # noqa: NPY002 - the same
        random.setstate(python_state)
        torch.set_default_dtype(dtype)
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if getattr(sys.modules[name], "__cutegen_reference__", False):
                del sys.modules[name]
