"""Rung: a few elements change at the same addresses, and the outputs must follow.

A result that was kept for these addresses, or for a checksum of some elements, shows here
(patterns B1 to B3): the inputs lie where they lay, and almost all of them are the same.
"""

import torch
from torch import Tensor

from cutegen.verification import findings
from cutegen.verification.expectation import Expectation
from cutegen.verification.inputs import seed_of
from cutegen.verification.poison import same_bits
from cutegen.verification.rungs.climb import Climb
from cutegen.verification.rungs.telling_apart import Outputs

_CHANGED = 4  # elements of each floating tensor


def require_fresh(climb: Climb, before: Expectation, outputs: Outputs) -> None:
    """Change some elements of each tensor, and judge the outputs anew.

    Raises:
        BrokenRungError: The outputs are the old ones, or wrong.
    """
    name = f"{before.case.name}/changed"
    inputs = {
        key: _changed(tensor, seed_of(climb.seed, name, key))
        for key, tensor in before.inputs.items()
    }
    run = climb.run(name, before.case, inputs, climb.session.schedules[0])
    expectation = climb.expect(name, before.case, inputs)
    for target, old in zip(expectation.targets, before.targets, strict=True):
        key = target.tensor.name
        moved = not same_bits(target.native, old.native)
        if moved and same_bits(outputs[key], run.outputs[key]):
            raise findings.stale(name, key, _CHANGED)
    climb.judge(expectation, run.outputs)


def _changed(tensor: Tensor, seed: int) -> Tensor:
    """A copy with some elements moved to the other side of zero."""
    if not tensor.is_floating_point() or not tensor.numel():
        return tensor
    generator = torch.Generator(tensor.device).manual_seed(seed)
    where = torch.randint(tensor.numel(), (_CHANGED,), generator=generator, device=tensor.device)
    changed = tensor.clone()
    flat = changed.reshape(-1)
    flat[where] = flat[where] * -1.5 + 0.5
    return changed
