"""Ships a kernel as a small Python package that needs torch alone."""

import base64
import json
import re
from dataclasses import asdict
from pathlib import Path

import cloudpickle

from cutegen.export.contract import contract_of
from cutegen.export.shipment import Shipment
from cutegen.reference import FunctionModule, Reference, local_code

_HERE = Path(__file__).parent
_STANDALONE = ("runtime.py", "libraries.py", "operator.py")

_INIT = '''"""{name}: a CuTe kernel in place of a PyTorch module, made by CuTeGen.

    import torch, {package}
    y = {package}.kernel(x)                  # torch.ops.cutegen.…, on the current stream
    layer = {package}.kernel.module()        # the reference's parameters, the kernel's forward
    {package}.kernel.on_unsupported = "fallback"  # instead of raising

`python -m {package}` verifies it again; that needs cutegen installed.
"""

import json
from pathlib import Path

from .libraries import CutegenLibraries
from .operator import ExportedKernel, load_reference
from .runtime import CutegenContract, CutegenUnsupportedError

__all__ = ["CutegenUnsupportedError", "kernel"]

_FOLDER = Path(__file__).parent
_MADE = json.loads((_FOLDER / "made.json").read_text())

kernel = ExportedKernel(
    CutegenContract.from_json((_FOLDER / "contract.json").read_text()),
    CutegenLibraries(
        arch=_MADE["arch"],
        source=(_FOLDER / "kernel.cu").read_text(encoding="utf-8"),
        header=(_FOLDER / "cutegen_args.h").read_text(encoding="utf-8"),
        nvcc_flags=tuple(_MADE["nvcc_flags"]),
        shipped={{name: _FOLDER / file for name, file in _MADE["libraries"].items()}},
    ),
    load_reference(__name__, _FOLDER, _MADE["seed"]),
    _MADE["candidate"],
)
'''

_MAIN = '''"""Verify the shipped source again, with CuTeGen, on this machine."""

import sys
from pathlib import Path

try:
    from cutegen import KernelSpec
    from cutegen.execution import resolve_executor
    from cutegen.execution.protocol import EvaluationJob
except ImportError:
    sys.exit("this check needs CuTeGen: `pip install cutegen`")

folder = Path(__file__).parent
spec = KernelSpec.model_validate_json((folder / "spec.json").read_text())
source = (folder / "kernel.cu").read_text(encoding="utf-8")
verdict = resolve_executor("auto").evaluate(EvaluationJob(spec=spec, source=source))
print(f"{verdict.status} on {verdict.executor}")
sys.exit(0 if verdict.passed else 1)
'''

_PROJECT = """[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{distribution}"
version = "0.1.0"
description = "{name}, a CuTe kernel made by CuTeGen"
requires-python = ">=3.11"
dependencies = [{dependencies}]

[tool.setuptools]
packages = ["{package}"]

[tool.setuptools.package-data]
"{package}" = ["*"]
"""


def write_package(shipment: Shipment, target: Path) -> Path:
    """Write an installable project below ``target``; the package's folder comes back.

    Raises:
        FileExistsError: ``target`` holds something already.
    """
    name = shipment.spec.name
    package = re.sub(r"\W+", "_", name).strip("_").lower()
    package = package if package[:1].isalpha() else f"kernel_{package}"
    folder = target / package
    folder.mkdir(parents=True)
    for file in _STANDALONE:
        (folder / file).write_bytes((_HERE / file).read_bytes())
    libraries = {arch: f"kernel_{arch}.so" for arch in shipment.libraries}
    for arch, file in libraries.items():
        (folder / file).write_bytes(shipment.libraries[arch].read_bytes())
    made = {
        "candidate": shipment.candidate,
        "arch": shipment.arch,
        "nvcc_flags": shipment.nvcc_flags,
        "libraries": libraries,
        "seed": shipment.spec.reference.seed,
        "verdict": shipment.verdict.status.value if shipment.verdict else "",
        "speedup": shipment.speedup,
    }
    contract = asdict(contract_of(shipment.spec, shipment.arch))
    texts = {
        "__init__.py": _INIT.format(name=name, package=package),
        "__main__.py": _MAIN,
        "kernel.cu": shipment.source,
        "cutegen_args.h": shipment.header,
        "contract.json": json.dumps(contract, indent=2),
        "made.json": json.dumps(made, indent=2),
        "spec.json": shipment.spec.model_dump_json(indent=2),
    }
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")
    pickled = _write_reference(shipment.spec.reference, folder)
    project = _PROJECT.format(
        distribution=package.replace("_", "-"),
        name=name,
        package=package,
        dependencies='"torch", "cloudpickle"' if pickled else '"torch"',
    )
    (target / "pyproject.toml").write_text(project, encoding="utf-8")
    return folder


def _write_reference(reference: Reference, folder: Path) -> bool:
    """As source where there is one; whether it had to be pickled."""
    if reference.kind == "source":
        (folder / "reference.py").write_text(reference.text, encoding="utf-8")
        return False
    module = reference.build()
    if isinstance(module, FunctionModule):  # whose class a user of the package does not have
        with local_code(module):
            (folder / "reference.pkl").write_bytes(cloudpickle.dumps(module.function))
    else:
        (folder / "reference.pkl").write_bytes(base64.b64decode(reference.text))
    return True
