"""Ships the winner of a run: as a Python package, a KernelBench file, or bare source."""

from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutegen.export.shipment import Shipment, shipment_of

__all__ = ["Form", "Shipment", "export", "shipment_of"]


class Form(StrEnum):
    """What an export is."""

    TORCH = "torch"  # a package with a torch.library operator
    KERNELBENCH = "kernelbench"  # one file with ModelNew
    SOURCE = "source"  # the .cu file and its generated header


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a lazy import has the type of what it names
    if name in {"Shipment", "shipment_of"}:
        return getattr(import_module("cutegen.export.shipment"), name)
    raise AttributeError(name)


def export(shipment: "Shipment", to: Path, form: Form) -> Path:
    """Write a shipment; the package's folder or the file comes back.

    Raises:
        FileExistsError: ``to`` holds something already.
        ValueError: This kernel cannot be shipped in this form.
    """
    # the writers need the whole instrument, the runtime beside them only torch
    from cutegen.export.modelnew import model_new  # noqa: PLC0415
    from cutegen.export.package import write_package  # noqa: PLC0415

    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise FileExistsError(f"{to} holds something already: name a new folder")
    if form is Form.TORCH:
        return write_package(shipment, to)
    texts = (
        {"model_new.py": model_new(shipment)}
        if form is Form.KERNELBENCH
        else {"kernel.cu": shipment.source, "cutegen_args.h": shipment.header}
    )
    to.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (to / name).write_text(text, encoding="utf-8")
    return to / next(iter(texts))
