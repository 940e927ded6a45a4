"""Two designs side by side."""

from pydantic import JsonValue

from cutegen.frozen import Frozen
from cutegen.shown import Shown
from cutegen.structure import Fingerprint


class Difference(Frozen):
    """One feature or parameter in two designs; empty where a design does not have it."""

    name: str
    before: str
    after: str
    is_parameter: bool = False

    @property
    def changed(self) -> bool:
        """Whether the designs differ in it."""
        return self.before != self.after


class FingerprintDiff(Shown):
    """What two kernels have in common, and what tells them apart: features, then parameters."""

    rows: tuple[Difference, ...]

    @property
    def same_structure(self) -> bool:
        """Whether only parameters differ, if anything does."""
        return not any(row.changed for row in self.rows if not row.is_parameter)


def compare(before: Fingerprint, after: Fingerprint) -> FingerprintDiff:
    """Lay two fingerprints side by side, every feature and every parameter of either."""
    features = (
        Difference(
            name=name, before=before.features.get(name, ""), after=after.features.get(name, "")
        )
        for name in {**before.features, **after.features}
    )
    parameters = (
        Difference(
            name=name,
            before=_shown(before.parameters.get(name)),
            after=_shown(after.parameters.get(name)),
            is_parameter=True,
        )
        for name in {**before.parameters, **after.parameters}
    )
    return FingerprintDiff(rows=(*features, *parameters))


def _shown(value: JsonValue) -> str:
    return "" if value is None else str(value)
