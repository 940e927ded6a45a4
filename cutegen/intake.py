"""The gate at intake: a reference that could not judge any kernel is refused.

A kernel is judged by comparing its outputs with the reference's. That says nothing where
the reference is non-finite, changes from run to run, or ignores its inputs.
"""

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from cutegen.reference import evaluate, own_inputs, sample_inputs, state_values
from cutegen.spec import Case, KernelSpec, TensorArg
from cutegen.spec_error import SpecError

# How far fresh data must move an output, relative to it in the 2-norm: far above any error bound.
_LEAST_MOVE = 1e-3
_LARGEST_CASE = 2 * 2**30  # bytes; larger cases are not run on a CPU

_Draw = Callable[[TensorArg, torch.Generator], Tensor]


def check_reference(spec: KernelSpec) -> None:
    """Run the reference on the check cases, on the CPU, with real data.

    Raises:
        SpecError: The reference raises, is non-finite, non-deterministic, changes its inputs
            or does not depend on one of them.
    """
    unmoved = {tensor.name for tensor in spec.timed.of("input") if tensor.dtype.is_floating}
    any_finite = False
    for case in spec.checks:
        if case.nbytes > _LARGEST_CASE:
            raise SpecError(
                f"the reference cannot be scaled down: its smallest check holds "
                f"{case.nbytes / 2**30:.1f} GiB; give small shapes as check_shapes"
            )
        for draw in _distributions(spec):
            tensors = _tensors(spec, case, draw, seed=0)
            outputs = _run(spec, case, tensors)
            if not _finite(outputs):
                continue
            any_finite = True
            _require_repeatable(spec, case, tensors, outputs)
            for name in sorted(unmoved):
                fresh = {**tensors, name: _tensors(spec, case, draw, seed=1)[name]}
                if _moves(outputs, _run(spec, case, fresh)):
                    unmoved.discard(name)
            if not unmoved:
                break
    if not any_finite:
        raise SpecError(
            "the reference is non-finite (it returns NaN or infinity) on its own inputs, on "
            "zero-mean and on positive data, so no kernel could be compared with it; mend it, "
            "for example by an epsilon in a division or a clamp before a logarithm"
        )
    if unmoved:
        names = ", ".join(sorted(unmoved))
        raise SpecError(
            f"the output does not depend on input {names}: fresh data there moves it by less "
            f"than {_LEAST_MOVE:g} of its norm, so a kernel that ignores it would pass; remove "
            "the argument, or mend the reference (are weights all zero, does a softmax sum to 1?)"
        )


def _distributions(spec: KernelSpec) -> Iterator[_Draw]:
    """The reference's own values if they are at hand, zero-mean, and positive ones."""
    own = own_inputs(spec)
    if own:

        def draw_own(argument: TensorArg, generator: torch.Generator) -> Tensor:
            flat = own[argument.name].reshape(-1)
            return flat[torch.randint(flat.numel(), argument.shape, generator=generator)]

        yield draw_own
    yield lambda argument, generator: torch.randn(argument.shape, generator=generator)
    yield lambda argument, generator: torch.rand(argument.shape, generator=generator)


def _tensors(spec: KernelSpec, case: Case, draw: _Draw, seed: int) -> dict[str, Tensor]:
    """State, integer inputs and floating inputs of a case."""
    generator = torch.Generator().manual_seed(seed)
    drawn = {
        argument.name: draw(argument, generator).to(argument.dtype.torch)
        for argument in case.of("input")
        if argument.dtype.is_floating
    }
    return {**state_values(spec), **sample_inputs(spec, case), **drawn}


def _run(
    spec: KernelSpec, case: Case, tensors: Mapping[str, Tensor], seed: int = 0
) -> tuple[Tensor, ...]:
    versions = {name: tensor._version for name, tensor in tensors.items()}  # noqa: SLF001 - counts in-place changes
    try:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            outputs = evaluate(spec, tensors)
    except SpecError:
        raise
    except Exception as error:
        shapes = ", ".join(f"{x.name} {x.shape}" for x in case.of("input"))
        raise SpecError(
            f"forward raises {type(error).__name__} at the check shapes {shapes}: {error}; "
            "if it needs particular shapes, give them as check_shapes"
        ) from error
    for argument in case.of("input", "parameter"):
        if tensors[argument.name]._version != versions[argument.name]:  # noqa: SLF001 - the same
            raise SpecError(
                f"forward changes its {argument.role} {argument.name} in place; kernels return "
                "new tensors, so let the reference work on a copy (.clone())"
            )
    for argument, output in zip(case.of("output"), outputs, strict=True):
        if (tuple(output.shape), output.dtype) != (argument.shape, argument.dtype.torch):
            raise SpecError(
                f"output {argument.name} is {output.dtype} {tuple(output.shape)} on some data and "
                f"{argument.dtype} {argument.shape} on other; shapes may not depend on values"
            )
    return outputs


def _require_repeatable(
    spec: KernelSpec, case: Case, tensors: Mapping[str, Tensor], outputs: tuple[Tensor, ...]
) -> None:
    again = _run(spec, case, tensors, seed=1)
    if not all(map(torch.equal, outputs, again)):
        raise SpecError(
            "the reference is non-deterministic: two runs on equal inputs differ. Remove random "
            "operations; a dropout belongs in eval mode (call self.eval() in __init__)"
        )


def _finite(outputs: tuple[Tensor, ...]) -> bool:
    return all(bool(torch.isfinite(output).all()) for output in outputs)


def _moves(outputs: tuple[Tensor, ...], others: tuple[Tensor, ...]) -> bool:
    """Whether any output lies far from its counterpart."""
    return any(
        bool((other.double() - output.double()).norm() > _LEAST_MOVE * output.double().norm())
        for output, other in zip(outputs, others, strict=True)
    )
