"""Ships a kernel as one KernelBench file: a ``ModelNew`` that its own evaluation accepts."""

import json
from dataclasses import asdict
from pathlib import Path

from cutegen.export.contract import contract_of
from cutegen.export.shipment import Shipment

_HERE = Path(__file__).parent
_STANDALONE = ("runtime.py", "libraries.py")

_FILE = '''"""{name}: a CuTe kernel as KernelBench's ModelNew, made by CuTeGen.

nvcc builds it at the first call (CUDA_HOME or PATH); CUTLASS comes from CUTEGEN_CUTLASS or
`pip install nvidia-cutlass`.
"""

{runtime}

# The reference, whose parameters ModelNew keeps.

{reference}

# The kernel.

CUTEGEN_CONTRACT = CutegenContract.from_json(r\'\'\'{contract}\'\'\')

CUTEGEN_HEADER = r\'\'\'{header}\'\'\'

CUTEGEN_SOURCE = r\'\'\'{source}\'\'\'

CUTEGEN_LIBRARIES = CutegenLibraries(
    arch={arch!r},
    source=CUTEGEN_SOURCE,
    header=CUTEGEN_HEADER,
    nvcc_flags={flags!r},
    shipped={{}},
)


class ModelNew(Model):
    """The reference with the kernel for its forward."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        self._cutegen = CutegenKernel(
            CUTEGEN_CONTRACT, lambda device: CUTEGEN_LIBRARIES(device), self._cutegen_shapes
        )

    def forward(self, {parameters}):
        state = {{}}
        for argument in CUTEGEN_CONTRACT.of("parameter", "buffer"):
            value = self
            for part in argument.state_key.split("."):
                value = getattr(value, part)
            state[argument.name] = value.data
        outputs = self._cutegen(({arguments}), state)
        return outputs[0] if len(outputs) == 1 else outputs

    def _cutegen_shapes(self, values):
        hollow = {{
            name: value.to("meta") if isinstance(value, torch.Tensor) else value
            for name, value in values.items()
        }}
        stateful = CUTEGEN_CONTRACT.of("parameter", "buffer")
        state = {{argument.state_key: hollow[argument.name] for argument in stateful}}
        args = tuple(hollow[name] for name in CUTEGEN_CONTRACT.forward)
        call = CutegenReferenceForward(self)
        with torch.no_grad():
            outputs = torch.func.functional_call(
                call, {{f"model.{{key}}": value for key, value in state.items()}}, args
            )
        outputs = (outputs,) if isinstance(outputs, torch.Tensor) else outputs
        return [tuple(output.shape) for output in outputs]


class CutegenReferenceForward(torch.nn.Module):
    """The reference's own forward on ModelNew's parameters."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *args):
        return Model.forward(self.model, *args)
'''


def model_new(shipment: Shipment) -> str:
    """The text of the file.

    Raises:
        ValueError: The reference is no KernelBench file, so there is no ``Model`` to derive from.
    """
    if shipment.spec.reference.kind != "source":
        raise ValueError(
            "only a reference in KernelBench format can become a ModelNew; "
            "ship this one with `--as torch`"
        )
    contract = contract_of(shipment.spec, shipment.arch)
    names = ", ".join(contract.forward)
    return _FILE.format(
        name=shipment.spec.name,
        runtime="\n\n".join(_inlined((_HERE / file).read_text()) for file in _STANDALONE),
        reference=shipment.spec.reference.text.strip(),
        contract=json.dumps(asdict(contract)),
        header=shipment.header,
        source=shipment.source,
        arch=shipment.arch,
        flags=shipment.nvcc_flags,
        parameters=names,
        arguments=f"{names},",
    )


def _inlined(text: str) -> str:
    """A standalone module without its docstring and its imports from its neighbours."""
    body = text.split('"""', 2)[2]
    return "\n".join(line for line in body.splitlines() if not line.startswith("from .")).strip()
