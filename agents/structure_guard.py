"""A repair may never buy correctness by throwing structure away (DESIGN's second idea)."""

from cutegen.structure import HIDDEN, Fingerprint, fingerprint

# How much structure each kind stands for, per feature of the fingerprint. Kinds joined by "+"
# count as the best of them. A feature that is absent here can be changed by a repair.
_RANKS: dict[str, dict[str, int]] = {
    "copies": {
        "scalar": 0,
        "vectorized-64": 1,
        "vectorized-128": 2,
        "ldmatrix": 3,
        "stmatrix": 3,
        "cp.async": 4,
        "bulk": 5,
        "tma-store": 5,
        "tma": 6,
        "tma-multicast": 7,
    },
    "staging": {"none": 0, "single": 1, "multi-stage": 2},
    "smem": {"none": 0, "static": 1, "dynamic": 1},
    "swizzle": {"no": 0, "yes": 1},
    "roles": {"none": 0, "producer-consumer": 1, "setmaxnreg": 2},
    "cluster": {"no": 0, "yes": 1},
    "mma": {"wmma": 1, "mma.sync": 2, "wgmma": 3, "tcgen05": 4},
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
        for name, ranks in _RANKS.items()
        if HIDDEN not in (old.features[name], new.features[name])
        and _rank(new, name, ranks) < _rank(old, name, ranks)
    ]
    if _on_tensor_cores(old) and not _on_tensor_cores(new):
        losses.append("the tensor cores are no longer used")
    lost_levels = _levels(old) - _levels(new)
    if lost_levels:
        losses.append(f"tiling loses its {' and '.join(sorted(lost_levels))} level")
    return "; ".join(losses)


def _rank(design: Fingerprint, name: str, ranks: dict[str, int]) -> int:
    return max(ranks.get(kind, 0) for kind in design.features[name].split("+"))


def _on_tensor_cores(design: Fingerprint) -> bool:
    return design.features["mma"] not in _TENSOR_CORES_ABSENT


def _levels(design: Fingerprint) -> set[str]:
    return set(design.features["tiling"].split("+")) - {"none", HIDDEN}
