"""The form that Studio shows of a context, and what a context is checked against."""

import os

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"  # read when langgraph is imported

from typing import Any

import pytest

from cutegen.graphs.context import Context
from cutegen.graphs.kernel_graph import graph

_RANGES = ("enum", "pattern", "minLength", "propertyNames")


def _is_bounded(field: dict[str, Any]) -> bool:
    kinds = [each for each in field.get("anyOf", [field]) if each.get("type") != "null"]
    return all(
        kind.get("type") == "boolean"
        or {"minimum", "maximum"} <= set(kind)
        or any(name in kind for name in _RANGES)
        for kind in kinds
    )


def test_every_field_of_the_form_explains_itself() -> None:
    form = graph.get_context_jsonschema()
    assert form is not None
    for name, field in form["properties"].items():
        assert field["title"] != name, name
        assert field["description"].endswith("."), name
        assert "default" in field, name
        assert _is_bounded(field), name


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"steps": -1}, "steps = -1"),
        ({"temperature": 9}, "temperature = 9"),
        ({"epsilon": 1.5}, "epsilon"),
        ({"wall_s": "soon"}, "wall_s = 'soon'"),
        ({"models": ["playbook"]}, "models"),
    ],
)
def test_a_context_outside_its_ranges_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Context(**wrong).check()


def test_the_context_that_nobody_touched_is_good() -> None:
    Context().check()
