"""The arguments of a reference as those of the launch contract, or the reason why not."""

import inspect
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from cutegen.reference import FunctionModule
from cutegen.spec import DType, ScalarArg, TensorArg
from cutegen.spec_error import SpecError


def forward_names(module: nn.Module, inputs: Sequence[object]) -> list[str]:
    """The names of the arguments that ``inputs`` fill.

    Raises:
        SpecError: ``forward`` cannot be called with these inputs by position.
    """
    function = module.function if isinstance(module, FunctionModule) else module.forward
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # a built-in function, such as torch.relu, has no signature
        return ["x"] if len(inputs) == 1 else [f"x{index}" for index in range(len(inputs))]
    kinds = inspect.Parameter
    if any(parameter.kind is kinds.VAR_POSITIONAL for parameter in parameters):
        raise SpecError("forward takes *args; give every argument a name of its own")
    needed = [parameter for parameter in parameters if parameter.default is kinds.empty]
    unreachable = [parameter.name for parameter in needed if parameter.kind is kinds.KEYWORD_ONLY]
    if unreachable:
        raise SpecError(
            f"forward needs keyword-only arguments ({', '.join(unreachable)}), but inputs are "
            "given by position; make them positional"
        )
    by_position = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    names = [parameter.name for parameter in parameters if parameter.kind in by_position]
    least = sum(parameter.kind in by_position for parameter in needed)
    if not least <= len(inputs) <= len(names):
        raise SpecError(
            f"forward takes {least if least == len(names) else f'{least} to {len(names)}'} "
            f"arguments ({', '.join(names)}), but there are {len(inputs)} inputs"
        )
    return names[: len(inputs)]


def contract_argument(name: str, value: object) -> TensorArg | ScalarArg:
    """One input as an argument of the contract.

    Raises:
        SpecError: It is neither a supported tensor nor a finite scalar.
    """
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case Tensor():
            return tensor_argument(name, "input", value)
        case bool():
            return ScalarArg(name=name, c_type="bool", value=value)
        case int() if -(2**63) <= value < 2**63:
            return ScalarArg(name=name, c_type="int64_t", value=value)
        case float() if np.isfinite(value):
            return ScalarArg(name=name, c_type="double", value=value)
        case int() | float():
            raise SpecError(f"input {name} is {value}: scalars must be finite and fit 64 bits")
    raise SpecError(
        f"input {name} is a {type(value).__name__}; inputs must be tensors, or float, int or "
        "bool scalars (a constant belongs in get_init_inputs)"
    )


def tensor_argument(
    name: str, role: Literal["input", "parameter", "buffer"], tensor: Tensor
) -> TensorArg:
    """One tensor as an argument of the contract.

    Raises:
        SpecError: It is sparse, empty, not contiguous or of an unsupported dtype.
    """
    if is_lazy(tensor):
        raise SpecError(f"{role} {name} has no shape yet; run the lazy module once before")
    if tensor.layout is not torch.strided or tensor.is_quantized:
        raise SpecError(f"{role} {name} is sparse or quantized; only dense tensors are supported")
    if tensor.numel() == 0:
        raise SpecError(f"{role} {name} of shape {tuple(tensor.shape)} has no elements")
    if role == "input" and not tensor.is_contiguous():
        raise SpecError(
            f"input {name} is not contiguous (strides {tensor.stride()}); kernels get contiguous "
            "tensors, so call .contiguous() in get_inputs, or transpose inside forward"
        )
    dtype = supported_dtype(tensor.dtype, f"{role} {name}")
    return TensorArg(name=name, role=role, dtype=dtype, shape=tuple(tensor.shape))


def supported_dtype(dtype: torch.dtype, owner: str) -> DType:
    """The contract's name of a dtype.

    Raises:
        SpecError: Kernels cannot have it; the message says which ``owner`` has it.
    """
    try:
        return DType(str(dtype).removeprefix("torch."))
    except ValueError:
        raise SpecError(f"{owner} has dtype {dtype}; supported are {', '.join(DType)}") from None
