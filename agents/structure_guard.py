"""A repair may never buy correctness by throwing structure away (DESIGN's second idea)."""

from cutegen.structure import Fingerprint, fingerprint

# From least to most structure, per feature of the fingerprint. Kinds joined by "+" are ranked by
# the best of them. A feature that is absent here can be changed by a repair.
_LADDERS: dict[str, tuple[str, ...]] = {
    "copies": ("scalar", "vectorized-64", "vectorized-128", "ldmatrix", "cp.async", "tma"),
    "staging": ("none", "single", "multi-stage"),
    "smem": ("none", "static", "dynamic"),
}
_TENSOR_CORES_ABSENT = ("none", "fma", "universal-fma")


def lowered_structure(before: str, after: str) -> str:
    """Say which structure a repair lowers; empty when it lowers none.

    Args:
        before: The source to be repaired.
        after: The repaired source.
    """
    old, new = fingerprint(before), fingerprint(after)
    losses = [
        f"{name} falls from {old.features[name]} to {new.features[name]}"
        for name, ladder in _LADDERS.items()
        if _rank(new, name, ladder) < _rank(old, name, ladder)
    ]
    if _on_tensor_cores(old) and not _on_tensor_cores(new):
        losses.append("the tensor cores are no longer used")
    lost_levels = _levels(old) - _levels(new)
    if lost_levels:
        losses.append(f"tiling loses its {' and '.join(sorted(lost_levels))} level")
    return "; ".join(losses)


def _rank(design: Fingerprint, name: str, ladder: tuple[str, ...]) -> int:
    kinds = design.features[name].split("+")
    return max((ladder.index(kind) for kind in kinds if kind in ladder), default=0)


def _on_tensor_cores(design: Fingerprint) -> bool:
    return design.features["mma"] not in _TENSOR_CORES_ABSENT


def _levels(design: Fingerprint) -> set[str]:
    return set(design.features["tiling"].split("+")) - {"none"}
