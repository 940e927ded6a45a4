"""Elementwise kernels of the playbook against PyTorch: every operation, every design."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - as PyTorch's own documentation names it

from cutegen.agents.models.playbook.elementwise import ElementwiseDesign, ElementwisePlan
from cutegen.agents.models.playbook.unsupported import UnsupportedError
from cutegen.spec import DType, KernelSpec
from cutegen.verification.verdict import Verdict

Judge = Callable[[KernelSpec, str], Verdict]

OPERATIONS = {
    "relu": F.relu,
    "relu6": F.relu6,
    "leaky_relu": F.leaky_relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "silu": F.silu,
    "mish": F.mish,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "elu": lambda x: F.elu(x, 0.7),
    "selu": F.selu,
    "celu": lambda x: F.celu(x, 1.3),
    "softplus": lambda x: F.softplus(x, 2.0, 10.0),
    "softsign": F.softsign,
    "softshrink": F.softshrink,
    "hardshrink": F.hardshrink,
    "hardtanh": F.hardtanh,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "logsigmoid": F.logsigmoid,
    "threshold": lambda x: F.threshold(x, 0.1, 20.0),
    "exp": torch.exp,
    "exp2": torch.exp2,
    "expm1": torch.expm1,
    "log": lambda x: torch.log(x.abs() + 1),
    "log2": lambda x: torch.log2(x.abs() + 1),
    "log10": lambda x: torch.log10(x.abs() + 1),
    "log1p": lambda x: torch.log1p(x.abs()),
    "sqrt": lambda x: torch.sqrt(x.abs()),
    "rsqrt": lambda x: torch.rsqrt(x.abs() + 1),
    "reciprocal": lambda x: torch.reciprocal(x.abs() + 1),
    "square": torch.square,
    "neg": torch.neg,
    "sign": torch.sign,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
    "trunc": torch.trunc,
    "sin": torch.sin,
    "cos": torch.cos,
    "atan": torch.atan,
    "asinh": torch.asinh,
    "acosh": lambda x: torch.acosh(x.abs() + 2),
    "erf": torch.erf,
    "erfc": torch.erfc,
    "atan2": lambda x: torch.atan2(x, x.abs() + 1),
    "add_alpha": lambda x: torch.add(x, x * 2, alpha=3),
    "sub_alpha": lambda x: torch.sub(x, x * 5, alpha=3),
    "rsub": lambda x: 1 - x,
    "pow": lambda x: x**4,
    "pow_cube": lambda x: x**3,
    "pow_base": lambda x: 2.0**x,
    "maximum": lambda x: torch.maximum(x, x * 2),
    "minimum": lambda x: torch.minimum(x, x * 2),
    "clamp": lambda x: torch.clamp(x, -1, 1),
    "clamp_min": lambda x: torch.clamp(x, min=0.0),
    "clamp_max": lambda x: torch.clamp(x, max=0.5),
    "where": lambda x: torch.where((x > 0) & (x < 1), x, x * 2),
    "masked_fill": lambda x: x.masked_fill(x > 0, -1.0),
    "addcmul": lambda x: torch.addcmul(x, x, x, value=2),
    "addcdiv": lambda x: torch.addcdiv(x, x, x.abs() + 1),
    "lerp": lambda x: torch.lerp(x, x * 2, 0.7),
    "through_half": lambda x: x.half().float(),
    "through_bfloat16": lambda x: x.to(torch.bfloat16).to(torch.float32),
    "through_bool": lambda x: x.floor().to(torch.bool).to(torch.float32),
    "dropout": lambda x: F.dropout(x, 0.5, training=False) * 2,
    "in_place": lambda x: F.relu(x * 2, inplace=True) + 1,
    "clone": lambda x: (x * 2).clone().detach().contiguous(),
}


def test_every_operation_in_one_kernel(judge: Judge) -> None:
    spec = KernelSpec.from_callable(
        lambda x: tuple(operation(x) for operation in OPERATIONS.values()),
        [torch.randn(33, 17)],
        name="operations",
    )
    plan = ElementwisePlan(spec)
    verdict = judge(spec, plan.render(plan.first))
    names = dict(zip((out.name for out in plan.outputs), OPERATIONS, strict=True))
    wrong = {names[e.output] for e in verdict.evidence.errors if e.error > e.bound}
    assert verdict.passed, (wrong, verdict.evidence.summary)


@pytest.mark.parametrize(
    "decisions",
    [
        {},
        {"vectorized": True},
        {"vectorized": True, "batch": 4},
        {"vectorized": True, "batch": 2, "streaming": True, "persistent": True},
    ],
    ids=lambda decisions: "-".join(decisions) or "plain",
)
def test_every_design_with_mixed_types_broadcast_and_tail(
    judge: Judge, decisions: dict[str, bool | int]
) -> None:
    """An odd number of elements; float, half and bool side by side; a bias along the rows."""

    def mixed(
        x: torch.Tensor, h: torch.Tensor, m: torch.Tensor, bias: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        y = torch.where(m, x * bias + h, F.gelu(x))
        return y, (x + h).half(), y > 0.5

    inputs = [torch.randn(37, 19), torch.randn(37, 19).half(), torch.rand(37, 19) > 0.5]
    spec = KernelSpec.from_callable(mixed, [*inputs, torch.randn(19)], name="mixed")
    plan = ElementwisePlan(spec)
    verdict = judge(spec, plan.render(plan.first.model_copy(update=decisions)))
    assert verdict.passed, verdict.evidence.summary


def test_double_anywhere_means_double_arithmetic() -> None:
    spec = KernelSpec.from_callable(
        lambda x: x.double().exp().float(), [torch.randn(8, 8)], name="through_double"
    )
    plan = ElementwisePlan(spec)
    assert plan.compute is DType.FLOAT64
    assert "T(float(T(" in plan.render(plan.first)


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (lambda x: torch.round(x, decimals=2), "aten.round.decimals"),
        (lambda x: torch.div(x, 2.0, rounding_mode="floor"), "aten.div.Tensor_mode"),
        (lambda x: x.to(torch.int32).float(), "aten.to.dtype"),
        (lambda x: x * ((x > 0) * (x < 1)), "aten.mul.Tensor"),
        (lambda x: torch.fmod(x, 2.0), "aten.fmod.Scalar"),
        (lambda x: x + x.sum(), "aten.sum.default"),
    ],
)
def test_what_no_expression_computes_is_refused(function: object, named: str) -> None:
    spec = KernelSpec.from_callable(function, [torch.randn(8, 8)], name="refused")  # type: ignore[arg-type]  # lambdas of a parametrization
    with pytest.raises(UnsupportedError) as caught:
        ElementwisePlan(spec)
    assert caught.value.operation == named


def test_a_tag_holds_the_whole_design(silu: KernelSpec) -> None:
    design = ElementwiseDesign(vectorized=True, batch=8, persistent=True, ctas_per_sm=4)
    assert ElementwiseDesign.of(ElementwisePlan(silu).render(design)) == design
