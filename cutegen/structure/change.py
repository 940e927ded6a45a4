"""What changed between two fingerprints, in the words of the field."""

from pydantic import JsonValue

from cutegen.structure.model import HIDDEN, Fingerprint

_ABSENT = ("none", "no", "scalar")
# What the values of a feature are called; others go by their own name.
_WORDS = {
    "vectorized-128": "128-bit accesses",
    "vectorized-64": "64-bit accesses",
    "tma": "TMA",
    "tma-multicast": "TMA multicast",
    "tma-store": "TMA stores",
    "bulk": "bulk copies",
    "scalar": "scalar accesses",
    "shuffle": "shuffles",
    "atomic": "atomics",
    "online": "rescaled running sums",
    "producer-consumer": "warp specialisation",
    "setmaxnreg": "setmaxnreg",
}
_PHRASES = {
    "swizzle": "a swizzle of shared memory",
    "cluster": "thread-block clusters",
}
_COUNTED = {"kernels": "kernel", "phases": "phase"}
_NOUNS = {
    "mma": "{}",
    "mma_types": "{} products",
    "mma_operands": "operands from {}",
    "copies": "{}",
    "smem": "{} shared memory",
    "staging": "{} staging",
    "roles": "{}",
    "grid": "{} grid",
    "reduction": "a reduction by {}",
    "tiling": "{} tiles",
    "epilogue": "{} epilogue",
    "kept": "data kept in {}",
    "loads_in_flight": "{} loads",
    "cache_hints": "{} cache hints",
}


def describe_change(old: Fingerprint, new: Fingerprint) -> str:
    """What a step changed, in one line: features first, then parameters.

    For example ``adds a swizzle of shared memory; TMA replaces cp.async; parameters: kStages 2→3``.
    """
    parts = [
        _feature(name, old.features.get(name, "none"), value)
        for name, value in new.features.items()
        if value != old.features.get(name, "none")
    ]
    numbers = [
        _parameter(name, old.parameters.get(name), new.parameters.get(name))
        for name in {**old.parameters, **new.parameters}
        if old.parameters.get(name) != new.parameters.get(name)
    ]
    sentence = [part for part in parts if part]
    if numbers:
        sentence.append(f"parameters: {', '.join(numbers)}")
    return "; ".join(sentence) or "no change of structure or parameters"


def _feature(name: str, old: str, new: str) -> str:
    if HIDDEN in (old, new) or _goes_without_saying(name, old, new):
        return ""
    if name in _COUNTED:
        return f"{new} {_COUNTED[name]}{'' if new == '1' else 's'} instead of {old}"
    if name in _PHRASES:
        return f"{'drops' if new in _ABSENT else 'adds'} {_PHRASES[name]}"
    before = [kind for kind in old.split("+") if kind not in _ABSENT]
    after = [kind for kind in new.split("+") if kind not in _ABSENT]
    gone = [kind for kind in before if kind not in after]
    come = [kind for kind in after if kind not in before]
    if come and gone:
        return f"{_named(name, come)} replaces {_named(name, gone)}"
    return f"adds {_named(name, come)}" if come else f"drops {_named(name, gone)}"


def _goes_without_saying(name: str, old: str, new: str) -> bool:
    """Stages come and go with shared memory, phases with products."""
    return name in ("staging", "phases") and "none" in (old, new)


def _named(name: str, kinds: list[str]) -> str:
    words = " and ".join(_WORDS.get(kind, kind) for kind in kinds)
    return _NOUNS.get(name, "{}").format(words)


def _parameter(name: str, old: JsonValue, new: JsonValue) -> str:
    if old is None:
        return f"{name} = {new} (new)"
    return f"{name} (gone)" if new is None else f"{name} {old}→{new}"
