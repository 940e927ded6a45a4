"""The inputs change between timed calls, and the parent can follow."""

import torch

from cutegen.execution.changes import Changes
from cutegen.execution.memory import Layout, view
from cutegen.spec import KernelSpec


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(7, dtype=torch.float16))

    def forward(self, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return x.half() * self.weight + index


def test_the_parent_makes_the_same_changes_as_the_worker() -> None:
    index = torch.arange(7)
    case = KernelSpec.from_module(Scaled(), [torch.randn(5, 7), index], name="scaled").timed
    layout = Layout(case)
    memory = torch.zeros(layout.nbytes, dtype=torch.uint8)
    changes = Changes(layout)
    for _ in range(50):
        for offset, data in changes.draw():
            values = bytearray.fromhex(data)
            memory[offset : offset + len(values)] = torch.frombuffer(values, dtype=torch.uint8)
    followed = {
        tensor.name: torch.zeros(tensor.shape, dtype=tensor.dtype.torch)
        for tensor in case.of("input", "parameter")
    }
    changes.apply(followed)
    for tensor in case.of("input", "parameter"):
        assert torch.equal(view(memory, layout, tensor), followed[tensor.name])
    assert int((followed["x"] != 0).sum()) > 20
    assert bool((followed["weight"] > 0).any())
    assert not bool((followed["weight"] < 0).any())
    assert not bool(followed["index"].any())
    outputs = case.of("output")
    assert not any(bool(view(memory, layout, tensor).any()) for tensor in outputs)


def test_places_and_values_cannot_be_foreseen() -> None:
    spec = KernelSpec.from_callable(torch.relu, [torch.randn(100, 100)], name="relu")
    one, other = Changes(Layout(spec.timed)), Changes(Layout(spec.timed))
    assert one.draw() != other.draw()
