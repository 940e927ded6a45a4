"""The cookbook: complete, verified kernels that show one idea each, and which of them to show.

A recipe is a file ``cookbook/NAME.cu`` whose first comment says what it is for::

    // IDEA: what it shows, in a sentence or two
    // FOR: kernel classes, the best fitting one first
    // ARCH: the least architecture that has its instructions
    // INTENT: words of the intents and operations that it helps with
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from cutegen.frozen import Frozen
from cutegen.spec import KernelSpec, MathMode
from cutegen.structure import Fingerprint, fingerprint

MOST = 3
BUDGET = 16_000
"""Characters of all recipes in one prompt, some five thousand tokens."""

_HEADER = re.compile(r"\A((?://[^\n]*\n)+)")
_FIELD = re.compile(r"^(IDEA|FOR|ARCH|INTENT): *(.*(?:\n(?![A-Z]+:).*)*)", re.MULTILINE)
_NUMBER = re.compile(r"sm_(\d+)")
_HALVES = {"fp16", "bf16"}
_HOPPERS_OWN = {"wgmma"}  # an instruction that later architectures do not have
_HOPPER = 90
# Values of features that are not made use of, or that follow from others.
_PLAIN = {"none", "no", "scalar", "1", "one-tile-per-block", "fma", "plain", "global", "smem"}


class Recipe(Frozen):
    """One kernel of the cookbook, and what is known of it."""

    name: str
    idea: str
    classes: tuple[str, ...]
    least_arch: int
    intents: tuple[str, ...]
    source: str
    features: Mapping[str, str]


@cache
def cookbook() -> tuple[Recipe, ...]:
    """Every recipe, by name."""
    folder = resources.files("cutegen.prompts").joinpath("cookbook")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".cu")), key=str)
    return tuple(_read(file.name.removesuffix(".cu"), file.read_text("utf-8")) for file in files)


def choose(spec: KernelSpec, arch: str, design: Fingerprint | None) -> tuple[Recipe, ...]:
    """The recipes that help most with the next step.

    They fit the class, the architecture and the arithmetic; those for the spec's own operations
    come first, then those whose design is nearest. Nearest to nothing is the plainest one.

    Args:
        spec: What is to be computed.
        arch: An nvcc target.
        design: The kernel's that is to be improved; None for a first kernel.
    """
    fitting = [recipe for recipe in cookbook() if _fits(recipe, spec, arch)]
    if design is not None:
        fitting = [recipe for recipe in fitting if _news(recipe, design)]
    words = _operations(spec)
    fitting.sort(
        key=lambda recipe: (
            -sum(any(word in intent for intent in recipe.intents) for word in words),
            recipe.classes.index(spec.kernel_class.value),
            _distance(recipe, design),
            recipe.name,
        )
    )
    chosen: list[Recipe] = []
    left = BUDGET
    for recipe in fitting:
        if len(chosen) < MOST and len(recipe.source) <= left:
            chosen.append(recipe)
            left -= len(recipe.source)
    return tuple(chosen)


def _read(name: str, text: str) -> Recipe:
    header = _HEADER.match(text)
    if header is None:
        raise ValueError(f"cookbook/{name}.cu does not begin with the comment that describes it")
    comment = re.sub(r"^// ?", "", header.group(1), flags=re.MULTILINE)
    fields = {key: " ".join(value.split()) for key, value in _FIELD.findall(comment)}
    arch = _NUMBER.fullmatch(fields["ARCH"])
    if arch is None:
        raise ValueError(f"cookbook/{name}.cu: ARCH is no architecture, such as sm_80")
    source = text[header.end() :]
    return Recipe(
        name=name,
        idea=fields["IDEA"],
        classes=tuple(fields["FOR"].split(", ")),
        least_arch=int(arch.group(1)),
        intents=tuple(fields["INTENT"].split(", ")),
        source=source,
        features=fingerprint(source).features,
    )


def _fits(recipe: Recipe, spec: KernelSpec, arch: str) -> bool:
    found = _NUMBER.match(arch)
    number = int(found.group(1)) if found else 0
    if recipe.least_arch > number or (number > _HOPPER and _HOPPERS_OWN & set(recipe.intents)):
        return False
    in_half = spec.math_mode in (MathMode.FP16, MathMode.BF16) or any(
        tensor.dtype.itemsize == 2  # noqa: PLR2004 - bytes of the half types
        for tensor in spec.timed.of("input")
    )
    if _HALVES & set(recipe.intents) and not in_half:
        return False
    return spec.kernel_class.value in recipe.classes


def _operations(spec: KernelSpec) -> set[str]:
    """Names of the traced operations as words: ``aten.native_layer_norm`` is ``layer norm``."""
    names = (op.op.removeprefix("aten.").split(".")[0].strip("_") for op in spec.trace)
    return {name.removeprefix("native_").replace("_", " ") for name in names if len(name) > 3}  # noqa: PLR2004 - add and mul say nothing


def _news(recipe: Recipe, design: Fingerprint) -> bool:
    """Whether a recipe uses something that the design does not."""
    return any(
        value not in _PLAIN and value != design.features.get(name)
        for name, value in recipe.features.items()
    )


def _distance(recipe: Recipe, design: Fingerprint | None) -> int:
    """In how many features the recipe is unlike the design, or unlike the plainest one."""
    if design is None:
        return sum(value not in _PLAIN for value in recipe.features.values())
    return sum(value != design.features.get(name) for name, value in recipe.features.items())
