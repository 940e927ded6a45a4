"""Reads a reference in KernelBench format: ``Model``, ``get_inputs``, ``get_init_inputs``.

The file is the user's own code and is executed as such. It travels as text, so it must
stand alone: it may import installed packages, but no files beside it.
"""

import hashlib
import sys
import traceback
import types
from collections.abc import Callable, Sequence
from typing import NamedTuple

from torch import nn

from cutegen.contained import contained
from cutegen.spec_error import SpecError


class LoadedFile(NamedTuple):
    """A reference file that was executed: the model, built, and the maker of its inputs."""

    model: nn.Module
    get_inputs: Callable[[], object]


def load(text: str, origin: str, seed: int = 0) -> LoadedFile:
    """Execute a reference file and build its model on the CPU, seeded.

    Args:
        text: The file's text.
        origin: What messages call the file, such as its path.
        seed: Where the random generators start, so that parameters are equal everywhere.

    Raises:
        SpecError: The file does not run, or does not follow the format.
    """
    name = f"cutegen_reference_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    module = types.ModuleType(name)
    module.__dict__["__cutegen_reference__"] = True
    with contained(seed):
        sys.modules[name] = module  # dataclasses and pickle look their module up while it runs
        try:
            exec(compile(text, origin, "exec"), module.__dict__)  # noqa: S102 - the user's own file
        except (Exception, SystemExit) as error:
            raise SpecError(f"{origin} cannot be imported: {_quote(error, origin)}") from error
        model_class = _model_class(module, origin)
        arguments, keywords = _init_arguments(module, origin)
        try:
            model = model_class(*arguments, **keywords)
        except (Exception, SystemExit) as error:
            raise SpecError(
                f"{origin}: Model cannot be built with what get_init_inputs returns: "
                f"{_quote(error, origin)}"
            ) from error
    return LoadedFile(model, _function(module, "get_inputs", origin))


def call_get_inputs(loaded: LoadedFile, origin: str) -> Sequence[object]:
    """The inputs a file gives, under whatever tensor mode is active.

    Raises:
        SpecError: ``get_inputs`` raises or returns no list.
    """
    try:
        inputs = loaded.get_inputs()
    except (Exception, SystemExit) as error:
        raise SpecError(f"{origin}: get_inputs raises {_quote(error, origin)}") from error
    if not isinstance(inputs, list | tuple):
        raise SpecError(
            f"{origin}: get_inputs must return a list of forward's arguments, "
            f"not {type(inputs).__name__}"
        )
    return inputs


def _model_class(module: types.ModuleType, origin: str) -> type[nn.Module]:
    model_class = getattr(module, "Model", None)
    if model_class is None:
        found = sorted(
            name
            for name, value in vars(module).items()
            if isinstance(value, type) and issubclass(value, nn.Module)
        )
        hint = f" (it defines {', '.join(found)}: rename one)" if found else ""
        raise SpecError(f"{origin} defines no class Model{hint}; KernelBench format needs one")
    if not (isinstance(model_class, type) and issubclass(model_class, nn.Module)):
        raise SpecError(f"{origin}: Model must be a class derived from torch.nn.Module")
    return model_class


def _function(module: types.ModuleType, name: str, origin: str) -> Callable[[], object]:
    function = getattr(module, name, None)
    if not callable(function):
        raise SpecError(
            f"{origin} defines no function {name}; add one that returns the list of "
            "forward's arguments"
        )
    return function  # type: ignore[no-any-return] # callable() narrows to Callable[..., object]


def _init_arguments(
    module: types.ModuleType, origin: str
) -> tuple[list[object], dict[str, object]]:
    """What ``get_init_inputs`` returns: nothing, ``[args]`` or ``[[args], {kwargs}]``."""
    if not hasattr(module, "get_init_inputs"):
        return [], {}
    try:
        given = _function(module, "get_init_inputs", origin)()
    except (Exception, SystemExit) as error:
        raise SpecError(f"{origin}: get_init_inputs raises {_quote(error, origin)}") from error
    match given:
        case None:
            return [], {}
        case [list() | tuple() as arguments, dict() as keywords]:
            return list(arguments), keywords
        case list() | tuple():
            return list(given), {}
        case dict():
            return [], given
    raise SpecError(
        f"{origin}: get_init_inputs must return [args] or [[args], {{kwargs}}], "
        f"not {type(given).__name__}"
    )


def _quote(error: BaseException, origin: str) -> str:
    """The error and the deepest line of the user's file that led to it."""
    where = ""
    if isinstance(error, SyntaxError) and error.lineno:
        where = f"line {error.lineno}: "
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == origin:
            where = f"line {frame.lineno}: "
    return f"{where}{type(error).__name__}: {error}"
