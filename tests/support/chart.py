"""Renders the chart as Helm does, as far as the chart goes: whatever else stands in a template is an error.

A small part of Go's templates: fields, variables, pipelines of a few functions, `if`, `range` over a mapping, trimming.
Where the real thing is installed, a test compares the two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import yaml

_ACTION: Final = re.compile(r"(\s*)\{\{-\s+(.*?)\s*(-?)\}\}|\{\{\s*(.*?)\s*(-?)\}\}", re.S)
_RANGE: Final = re.compile(r"range \$(\w+), \$(\w+) := (\S+)")
_WORD: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')


class BadTemplate(Exception):
    """The template cannot be rendered; Helm would refuse it too, or this part of it is not known here."""


def render(chart: Path, **given: Any) -> list[dict[str, Any]]:
    """Every resource of a chart. `given` goes over the values of the chart, as files of values do.

    Raises: BadTemplate: with what Helm would say.
    """
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    values = _merged(yaml.safe_load((chart / "values.yaml").read_text()), given)
    dot = {"Values": values, "Chart": {"AppVersion": about["appVersion"]}, "Release": {"Name": "test"}}
    found: list[dict[str, Any]] = []
    for template in sorted((chart / "templates").iterdir()):
        text = "".join(_written(_parsed(_tokens(template.read_text())), {"$": dot}, template.name))
        try:
            found += [document for document in yaml.safe_load_all(text) if document is not None]
        except yaml.YAMLError as error:
            raise BadTemplate(f"{template.name}: {error}") from error
    return found


Node = str | tuple[str, list[Any]]


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at, trim = 0, False
    for found in _ACTION.finditer(text):
        before = text[at : found.start()]
        yield "text", before.lstrip() if trim else before
        yield "action", found[2] if found[2] is not None else found[4]
        trim, at = bool(found[3] or found[5]), found.end()
    yield "text", text[at:].lstrip() if trim else text[at:]


def _parsed(tokens: Iterator[tuple[str, str]], inside: str = "") -> list[Node]:
    nodes: list[Node] = []
    for kind, text in tokens:
        if kind == "text":
            nodes.append(text)
        elif text == "end":
            if not inside:
                raise BadTemplate("an `end` of nothing")
            return nodes
        elif text.startswith(("if ", "range ")):
            nodes.append((text, _parsed(tokens, text)))
        else:
            nodes.append((text, []))
    if inside:
        raise BadTemplate(f"`{inside}` has no end")
    return nodes


def _written(nodes: list[Node], scope: dict[str, Any], where: str) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
            continue
        action, inner = node
        looped = _RANGE.fullmatch(action)
        try:
            if looped:
                for key, value in sorted(_value(looped[3], scope).items()):
                    yield from _written(inner, {**scope, looped[1]: key, looped[2]: value}, where)
            elif action.startswith("if "):
                if _piped(action.removeprefix("if "), scope):
                    yield from _written(inner, scope, where)
            else:
                shown = _piped(action, scope)
                yield str(shown).lower() if isinstance(shown, bool) else str(shown)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise BadTemplate(f"{where}: {{{{ {action} }}}}: {type(error).__name__} {error}") from error


def _piped(action: str, scope: dict[str, Any]) -> Any:
    value: list[Any] = []
    for step in action.split(" | "):
        words = _WORD.findall(step)
        if words[0] in _FUNCTIONS:
            value = [_FUNCTIONS[words[0]](*(_value(word, scope) for word in words[1:]), *value)]
        elif len(words) == 1 and not value:
            value = [_value(words[0], scope)]
        else:
            raise BadTemplate(f"{action!r} is not known here")
    return value[0]


def _value(word: str, scope: dict[str, Any]) -> Any:
    if word.startswith('"'):
        return json.loads(word)
    if word.isdigit():
        return int(word)
    name, *fields = word.removeprefix("$").split(".")
    found = scope[name or "$"]
    for field in fields:
        found = found[field]
    return found


def _required(message: str, value: Any) -> Any:
    if value in (None, ""):
        raise BadTemplate(message)
    return value


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "quote": lambda value: json.dumps(str(value)),
    "default": lambda fallback, value: value or fallback,
    "required": _required,
    "eq": lambda one, other: one == other,
    "int": int,
    "lt": lambda one, other: one < other,
    "toJson": json.dumps,
    "toYaml": lambda value: yaml.safe_dump(value).rstrip("\n"),
    "nindent": lambda spaces, text: "".join(f"\n{' ' * spaces}{line}" for line in text.split("\n")),
}


def _merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    both = {name: _merged(under[name], value) for name, value in over.items() if isinstance(value, dict)}
    return {**under, **over, **both}
