"""Facts for a reader: what a profile or an environment holds, with names and units."""

from collections.abc import Mapping

from pydantic import JsonValue

from cutegen.measurement.profile import Profile, Reading
from cutegen.report.axes import digits

Row = tuple[str, str]

_UNITS = {
    "_us": "µs",
    "_ms": "ms",
    "_bytes": "B",
    "_mhz": "MHz",
    "_w": "W",
    "_c": "°C",
    "_percent": "%",
}
_SHARES = ("_fraction", "occupancy")


def profile_rows(profile: Profile) -> list[Row]:
    """The facts of a profile, named as people say them. New kinds of profile extend this."""
    return fact_rows(profile.facts)


def reading_rows(profile: Profile) -> list[Reading]:
    """The numbers that speak for the bottleneck, those that only another structure cures last."""
    return [*profile.readings, *(r for r in profile.structural if r not in profile.readings)]


def fact_rows(facts: Mapping[str, JsonValue], above: str = "") -> list[Row]:
    """Facts as lines; what is nested comes after ``above · ``, empty values are left out."""
    rows: list[Row] = []
    for key, value in facts.items():
        name = f"{above} · {_name(key)}" if above else _name(key)
        if isinstance(value, Mapping):
            rows += fact_rows(value, name)
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            for number, item in enumerate(value, 1):
                rows += fact_rows(item, f"{name} {number}") if isinstance(item, Mapping) else []
        elif value not in (None, "", []):
            rows.append((name, _shown(key, value)))
    return rows


def _name(key: str) -> str:
    suffix = next((s for s in _UNITS if key.endswith(s)), "")
    return (key[: -len(suffix)] if suffix else key).replace("_", " ").strip()


def _shown(key: str, value: JsonValue) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, int | float):
        if key.endswith(_SHARES):
            return f"{value:.1%}"
        unit = next((u for s, u in _UNITS.items() if key.endswith(s)), "")
        written = f"{value:,}" if isinstance(value, int) else digits(value, 5)
        return f"{written} {unit}" if unit else written
    return str(value)
