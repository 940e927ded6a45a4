"""KernelSpec.from_module and from_callable: traces, check shapes and the intake gate."""

import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from cutegen.spec import Case, KernelClass, KernelSpec, SpecError


class Grouped(nn.Module):
    """Its last extent must be a multiple of 16."""

    def forward(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], 16, x.shape[1] // 16).softmax(-1).sum(1)


class Normalized(nn.Module):
    """Buffers, one of which is an integer of rank zero, updated in training."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(12)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.norm(x))


class Table(nn.Module):
    """A constant that is no buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.tensor([1.0, 2.0, 3.0])

    def forward(self, x: Tensor) -> Tensor:
        return x * self.table


class Branching(nn.Module):
    """Control flow that no trace can follow."""

    def forward(self, x: Tensor) -> Tensor:
        return x * 2 if x.sum() > 0 else x - 1


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return functional.scaled_dot_product_attention(q, k, v)


def test_buffers_come_in_state_dict_order_and_unused_operations_are_dropped() -> None:
    spec = KernelSpec.from_module(Normalized(), [torch.rand(4096, 12)])
    roles = [(tensor.name, tensor.role) for tensor in spec.timed.of("parameter", "buffer")]
    assert roles == [
        ("norm_weight", "parameter"),
        ("norm_bias", "parameter"),
        ("norm_running_mean", "buffer"),
        ("norm_running_var", "buffer"),
        ("norm_num_batches_tracked", "buffer"),
    ]
    assert spec.kernel_class is KernelClass.REDUCTION
    assert [traced.name for traced in spec.trace][-1] == "relu"
    assert "add" not in [traced.name for traced in spec.trace]


def test_divisibility_is_found_by_trial_and_sizes_are_formulas() -> None:
    spec = KernelSpec.from_module(Grouped(), [torch.rand(512, 1024)])
    assert all(case.of("input")[0].shape[1] % 16 == 0 for case in spec.checks)
    assert len(spec.checks) >= 3
    assert spec.trace[0].args[1] == [{"size": "x_shape[0]"}, 16, {"size": "(x_shape[1]//16)"}]


def test_a_branch_on_an_extent_bounds_it() -> None:
    spec = KernelSpec.from_callable(
        lambda x: x * 2 if x.shape[0] > 1000 else x + 1, [torch.rand(4096, 7)]
    )
    assert all(case.of("input")[0].shape[0] > 1000 for case in spec.checks)


def test_attention_keeps_the_extents_that_belong_together() -> None:
    spec = KernelSpec.from_callable(attend, [torch.rand(2, 4, 256, 64)] * 3)
    for case in spec.checks:
        q, k, v, out = (tensor.shape for tensor in case.tensors)
        assert k[2] == v[2]
        assert q[3] == k[3]
        assert out == (*q[:3], v[3])


def test_what_cannot_be_traced_is_generic(capsys: pytest.CaptureFixture[str]) -> None:
    spec = KernelSpec.from_module(Branching(), [torch.rand(512, 512)])
    assert spec.kernel_class is KernelClass.GENERIC
    assert spec.trace == ()
    assert len(spec.checks) >= 3
    assert capsys.readouterr() == ("", "")


def test_a_gated_activation_is_one() -> None:
    def gated(x: torch.Tensor) -> torch.Tensor:
        value, gate = x.chunk(2, dim=-1)
        return value * torch.sigmoid(gate)

    spec = KernelSpec.from_callable(gated, [torch.rand(64, 128)])
    assert spec.kernel_class is KernelClass.ACTIVATION


def test_several_outputs_are_numbered() -> None:
    spec = KernelSpec.from_callable(lambda x: torch.max(x, dim=1), [torch.rand(64, 33)])
    assert [(out.name, out.dtype.value) for out in spec.timed.of("output")] == [
        ("out0", "float32"),
        ("out1", "int64"),
    ]
    assert len(spec.results) == 2


def test_builtin_functions_and_bool_infinity_arguments() -> None:
    spec = KernelSpec.from_callable(torch.relu, [torch.rand(64, 64)])
    assert spec.arguments[0].name == "x"
    spec = KernelSpec.from_callable(lambda x: x.clamp(max=float("inf")) + 1, [torch.rand(64, 64)])
    assert spec.trace[0].args[-1] == "inf"
    assert KernelSpec.model_validate_json(spec.model_dump_json()) == spec


def test_check_shapes_can_be_given() -> None:
    spec = KernelSpec.from_callable(
        torch.matmul,
        [torch.rand(512, 512), torch.rand(512, 512)],
        check_shapes=[((3, 5), (5, 7)), ((1, 2), (2, 1))],
    )
    assert [_shapes(case) for case in spec.checks] == [
        [(3, 5), (5, 7), (3, 7)],
        [(1, 2), (2, 1), (1, 1)],
    ]


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([((3, 5), (4, 7))], r"forward raises at check_shapes\[0\]"),
        ([((3, 5),)], r"one shape per tensor input, of ranks \[2, 2\]"),
    ],
)
def test_given_check_shapes_must_fit(shapes: list[tuple[tuple[int, ...]]], message: str) -> None:
    inputs = [torch.rand(512, 512), torch.rand(512, 512)]
    with pytest.raises(SpecError, match=message):
        KernelSpec.from_callable(torch.matmul, inputs, check_shapes=shapes)


def test_tiny_and_fixed_shapes_fall_back_to_the_timed_case() -> None:
    spec = KernelSpec.from_callable(lambda x: x * 2, [torch.rand(1)])
    assert spec.checks == (spec.timed,)


@pytest.mark.parametrize(
    ("function", "inputs", "message"),
    [
        (functional.dropout, 1, "non-deterministic"),
        (lambda x: x + torch.rand(()), 1, "non-deterministic"),
        (lambda x: torch.log(x - 5), 1, "non-finite"),
        (lambda x: torch.softmax(x, 1).sum(1), 1, "does not depend on input x"),
        (lambda x, y: x * 2 + y * 0, 2, "does not depend on input y"),
        (lambda x: x.mul_(2), 1, "changes its input x in place"),
        (lambda x: x[x > 0.5], 1, "may not depend on values"),
    ],
)
def test_the_gate(function: Callable[..., object], inputs: int, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        KernelSpec.from_callable(function, [torch.rand(64, 64)] * inputs)


def test_positive_only_references_pass_the_gate() -> None:
    spec = KernelSpec.from_callable(lambda x: torch.log(x + 1e-3), [torch.rand(64, 64)])
    assert spec.kernel_class is KernelClass.ACTIVATION


def test_hidden_constants_are_refused_and_scalar_ones_are_literals() -> None:
    with pytest.raises(SpecError, match="register_buffer"):
        KernelSpec.from_module(Table(), [torch.rand(64, 3)])
    spec = KernelSpec.from_callable(lambda x: x * torch.tensor(2.5), [torch.rand(64, 3)])
    assert spec.trace[-1].args[1] == 2.5


def test_a_pickled_module_needs_no_import_of_its_file() -> None:
    spec = KernelSpec.from_module(Normalized(), [torch.rand(64, 12)])
    code = (
        "import sys; from cutegen.spec import KernelSpec; "
        "spec = KernelSpec.model_validate_json(sys.stdin.read()); "
        "print(spec.id, type(spec.reference.build()).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=spec.model_dump_json(),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        cwd="/",
    )
    assert done.stdout.split() == [spec.id, "Normalized"]


def test_meta_inputs_and_other_layouts() -> None:
    spec = KernelSpec.from_callable(
        torch.matmul,
        [torch.empty(2048, 2**20, device="meta"), torch.empty(2**20, 1, device="meta")],
    )
    assert all(case.of("input")[1].shape[1] == 1 for case in spec.checks)
    with pytest.raises(SpecError, match="sparse"):
        KernelSpec.from_callable(torch.relu, [torch.eye(4).to_sparse()])


def _shapes(case: Case) -> list[tuple[int, ...]]:
    return [tensor.shape for tensor in case.tensors]
