"""The contract of a spec in the form that the standalone runtime reads."""

from dataclasses import replace

from cutegen.export.runtime import CutegenContract
from cutegen.kernel import arguments_of
from cutegen.reference import state_keys
from cutegen.spec import KernelSpec


def contract_of(spec: KernelSpec, arch: str = "") -> CutegenContract:
    """What a kernel for ``spec`` takes and gives; ``arch`` is the GPU it is built for."""
    keys = iter(state_keys(spec))
    return CutegenContract(
        name=spec.name,
        arch=arch,
        forward=tuple(argument.name for argument in spec.arguments),
        arguments=tuple(
            replace(argument, state_key=next(keys))
            if argument.role in ("parameter", "buffer")
            else argument
            for argument in arguments_of(spec)
        ),
    )
