"""What may change in a schema that others already rely on: a new optional field, and words meant for people.

Messages stay in the log for ever and processes of two versions run side by side, so everything else would leave
somebody unable to read what somebody else wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

Schema = Mapping[str, Any]

FOR_PEOPLE: Final = frozenset({"$comment", "$defs", "description", "examples", "title"})
ABSENT: Final = object()


def grown(old: Schema, new: Schema) -> list[str]:
    """Say what in `new` is not mere growth of `old`, one line each, with its place; empty if nothing is."""
    return list(_compare(old, new, _Scope(old.get("$defs", {}), new.get("$defs", {}))))


@dataclass(frozen=True)
class _Scope:
    """Where a comparison is. Names of parts are not part of the contract, only what they stand for."""

    old_parts: Mapping[str, Schema]
    new_parts: Mapping[str, Schema]
    at: str = ""
    inside: frozenset[tuple[str, str]] = frozenset()

    def under(self, name: object) -> _Scope:
        return replace(self, at=f"{self.at}/{name}")


def _compare(old: Any, new: Any, scope: _Scope) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        pair = old.get("$ref", ""), new.get("$ref", "")
        if pair not in scope.inside:
            scope = replace(scope, inside=scope.inside | {pair}) if all(pair) else scope
            yield from _schemas(_resolved(old, scope.old_parts), _resolved(new, scope.new_parts), scope)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _compare(before, after, scope.under(place))
    elif old != new:
        yield f"{scope.at}: was {_shown(old)}, is {_shown(new)}"


def _resolved(schema: Schema, parts: Mapping[str, Schema]) -> Schema:
    while "$ref" in schema:
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        schema = {**parts[schema["$ref"].removeprefix("#/$defs/")], **beside}
    return schema


def _schemas(old: Schema, new: Schema, scope: _Scope) -> Iterator[str]:
    for name in sorted((old.keys() | new.keys()) - FOR_PEOPLE):
        before, after = old.get(name, ABSENT), new.get(name, ABSENT)
        if name == "properties":
            yield from _fields(old.get(name, {}), new.get(name, {}), scope)
        elif name == "required":
            yield from _required(old, new, scope)
        elif name == "default" and isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _fields(before, after, scope.under(name))
        else:
            yield from _compare(before, after, scope.under(name))


def _fields(old: Mapping[str, Any], new: Mapping[str, Any], scope: _Scope) -> Iterator[str]:
    for field, before in old.items():
        if field in new:
            yield from _compare(before, new[field], scope.under(field))
        else:
            yield f"{scope.at}/{field}: was removed"


def _required(old: Schema, new: Schema, scope: _Scope) -> Iterator[str]:
    before, after = set(old.get("required", ())), set(new.get("required", ()))
    for field in sorted(after - before):
        yield f"{scope.at}/{field}: became required"
    for field in sorted((before - after) & new.get("properties", {}).keys()):
        yield f"{scope.at}/{field}: is no longer required"


def _shown(value: Any) -> str:
    return "absent" if value is ABSENT else repr(value)
