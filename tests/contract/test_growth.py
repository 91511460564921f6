"""The check on schemas refuses everything but growth; each refusal is seen here once."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract import write
from tests.contract.growth import grown
from tests.contract.schemas import SCHEMAS, relied_on, schemas

OLD: dict[str, Any] = {
    "$defs": {
        "Part": {
            "properties": {"name": {"type": "string", "minLength": 1}, "count": {"type": "integer", "default": 0}},
            "required": ["name"],
            "title": "Part",
            "type": "object",
        },
    },
    "properties": {
        "kind": {"enum": ["A", "B"], "type": "string"},
        "part": {"$ref": "#/$defs/Part", "default": {"name": "x"}},
        "parts": {"items": {"$ref": "#/$defs/Part"}, "type": "array"},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    },
    "required": ["kind", "parts"],
    "type": "object",
}


def changed(*path: str | int, to: Any) -> dict[str, Any]:
    """The schema with one thing set, or with it removed."""
    new = copy.deepcopy(OLD)
    place: Any = new
    for step in path[:-1]:
        place = place[step]
    if to is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return new


PART = ("$defs", "Part")


@pytest.mark.parametrize(
    "new",
    [
        OLD,
        changed("properties", "fresh", to={"type": "string", "default": ""}),
        changed(*PART, "properties", "fresh", to={"type": "string", "default": ""}),
        changed("properties", "kind", "description", to="Words for people."),
        changed(*PART, "title", to="Another title"),
        changed("properties", "part", "default", to={"name": "x", "fresh": ""}),
        changed("required", to=["parts", "kind"]),
        changed("properties", "parts", "items", to=copy.deepcopy(OLD["$defs"]["Part"])),
    ],
    ids=["same", "field", "nested-field", "description", "title", "default-grows", "order", "inlined-part"],
)
def test_growth_is_allowed(new: dict[str, Any]) -> None:
    assert grown(OLD, new) == []


@pytest.mark.parametrize(
    ("new", "problem"),
    [
        (changed("properties", "maybe", to=...), "/maybe: was removed"),
        (changed(*PART, "properties", "count", to=...), "/count: was removed"),
        (changed("properties", "kind", "type", to="integer"), "/kind/type: was 'string', is 'integer'"),
        (changed("properties", "kind", "enum", to=["A", "B", "C"]), "/kind/enum: was ['A', 'B'], is ['A', 'B', 'C']"),
        (changed("properties", "kind", "enum", to=["A", "C"]), "/kind/enum/1: was 'B', is 'C'"),
        (changed("properties", "kind", "pattern", to="^A"), "/kind/pattern: was absent, is '^A'"),
        (changed(*PART, "properties", "name", "minLength", to=...), "/minLength: was 1, is absent"),
        (changed("required", to=["kind", "parts", "maybe"]), "/maybe: became required"),
        (changed("required", to=["kind"]), "/parts: is no longer required"),
        (changed(*PART, "required", to=["name", "count"]), "/count: became required"),
        (changed("properties", "maybe", "anyOf", to=[{"type": "string"}]), "/maybe/anyOf: was"),
        (changed("properties", "maybe", "default", to="x"), "/maybe/default: was None, is 'x'"),
        (changed("properties", "part", "default", to={"name": "y"}), "/part/default/name: was 'x', is 'y'"),
        (changed("properties", "part", "default", to=...), "/part/default: was {'name': 'x'}, is absent"),
        (changed("additionalProperties", to=False), "/additionalProperties: was absent, is False"),
        (changed("properties", "parts", "items", to={"type": "string"}), "/parts/items/type: was 'object'"),
    ],
)
def test_everything_else_is_refused(new: dict[str, Any], problem: str) -> None:
    assert any(problem in found for found in grown(OLD, new)), grown(OLD, new)


def test_new_and_required_is_refused() -> None:
    new = changed("properties", "fresh", to={"type": "string"}) | {"required": ["kind", "parts", "fresh"]}
    assert grown(OLD, new) == ["/fresh: became required"]


def test_parts_that_hold_themselves_are_compared() -> None:
    fields: dict[str, Any] = {"below": {"$ref": "#/$defs/Tree"}, "name": {"type": "string"}}
    old: dict[str, Any] = {"$defs": {"Tree": {"properties": fields}}, "$ref": "#/$defs/Tree"}
    new = copy.deepcopy(old)
    new["$defs"]["Tree"]["properties"]["name"]["type"] = "integer"
    assert grown(old, old) == []
    assert grown(old, new) == ["/name/type: was 'string', is 'integer'"]


def test_schemas_only_grew_since_others_rely_on_them() -> None:
    now = {path.name: json.loads(text) for path, text in schemas().items()}
    problems = [
        f"{revision} {name}{problem}"
        for revision, files in relied_on(SCHEMAS).items()
        for name, text in files.items()
        for problem in (grown(json.loads(text), now[name]) if name in now else [": was removed"])
    ]
    assert problems == []


def test_the_writer_names_what_would_break_readers(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(OLD))
    assert write.breaks({path: json.dumps(changed("required", to=["kind", "parts", "maybe"]))})[0] == (
        "a.json/maybe: became required"
    )
