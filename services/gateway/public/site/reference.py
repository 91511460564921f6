"""The OpenAPI document as a page: every route with its parameters, answers and shapes.

Shapes are written in TypeScript's syntax; names of shapes link to their fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from services.gateway.public.site.rendering import Values

GROUPS: Final = {
    "public": "The public record",
    "extension": "The browser extension",
    "jobs": "Audits of articles",
    "service": "The service itself",
}
_REF: Final = "#/components/schemas/"
_DEEPEST: Final = 6


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a written shape; `name`: the shape it links to."""

    text: str
    name: str | None = None


TypeText = tuple[Part, ...]
Document = Mapping[str, Any]
"""A JSON schema or a part of the OpenAPI document, from FastAPI as `dict[str, Any]`: JSON of any depth."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a route. `where`: path, query, header or body."""

    name: str
    where: str
    required: bool
    written: TypeText
    description: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A response of a route."""

    status: str
    description: str
    written: TypeText


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one route."""

    group: str
    method: str
    path: str
    description: str
    takes: list[Parameter]
    answers: list[Answer]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a named shape."""

    name: str
    required: bool
    written: TypeText
    description: str


@dataclass(frozen=True, slots=True)
class Shape:
    """A named shape."""

    name: str
    description: str
    fields: list[Field]
    written: TypeText


def describe_api(document: Document) -> Values:
    """Values of the template. Shapes: every route and every named shape of the document."""
    operations = [
        _operation(path, method, described)
        for path, methods in document["paths"].items()
        for method, described in methods.items()
    ]
    named = {operation.group for operation in operations}
    return {
        "groups": [
            (GROUPS.get(tag, tag), [operation for operation in operations if operation.group == tag])
            for tag in [*GROUPS, *sorted(named - set(GROUPS))]
            if tag in named
        ],
        "shapes": [
            Shape(name, _describe(schema), _fields(schema), () if "properties" in schema else write_shape(schema))
            for name, schema in sorted(document["components"]["schemas"].items())
        ],
    }


def _operation(path: str, method: str, described: Document) -> Operation:
    body = described.get("requestBody", {}).get("content", {})
    return Operation(
        group=(described.get("tags") or ["service"])[0],
        method=method.upper(),
        path=path,
        description=described.get("description") or described.get("summary", ""),
        takes=[
            Parameter(each["name"], each["in"], each.get("required", False), _of(each), each.get("description", ""))
            for each in described.get("parameters", ())
        ]
        + [Parameter(kind, "body", True, write_shape(content["schema"]), "") for kind, content in body.items()],
        answers=[
            Answer(status, answer["description"], _answer(answer))
            for status, answer in sorted(described["responses"].items())
        ],
    )


def _of(parameter: Document) -> TypeText:
    if "schema" in parameter:
        return write_shape(parameter["schema"])
    return write_shape(next(iter(parameter["content"].values()))["schema"])


def _answer(answer: Document) -> TypeText:
    content = answer.get("content", {})
    return write_shape(next(iter(content.values())).get("schema", {})) if content else ()


def _describe(schema: Document) -> str:
    return str(schema.get("description", "")).partition("\n\n")[0].replace("\n", " ")


def _fields(schema: Document) -> list[Field]:
    required = set(schema.get("required", ()))
    return [
        Field(name, name in required, write_shape(each), _describe(each))
        for name, each in schema.get("properties", {}).items()
    ]


def write_shape(schema: Document) -> TypeText:
    """Write a shape, with neighbouring plain pieces joined."""
    joined: list[Part] = []
    for part in _parts(schema, 0):
        if joined and joined[-1].name is None and part.name is None:
            joined[-1] = Part(joined[-1].text + part.text)
        else:
            joined.append(part)
    return tuple(joined)


def _parts(schema: Document, depth: int) -> Iterator[Part]:
    if depth > _DEEPEST:
        yield Part("…")
    elif "$ref" in schema:
        name = schema["$ref"].removeprefix(_REF)
        yield Part(name, name)
    elif "const" in schema:
        yield Part(f'"{schema["const"]}"')
    elif "enum" in schema:
        yield Part(" | ".join(f'"{value}"' for value in schema["enum"]))
    elif choices := schema.get("anyOf") or schema.get("oneOf"):
        yield from _join_choices(choices, " | ", depth)
    elif "allOf" in schema:
        yield from _join_choices(schema["allOf"], " & ", depth)
    elif schema.get("type") == "array":
        items = schema.get("items") or {"anyOf": schema.get("prefixItems") or [{}]}
        several = len(items.get("anyOf") or items.get("oneOf") or items.get("enum") or ()) > 1
        yield Part("(" if several else "")
        yield from _parts(items, depth + 1)
        yield Part(")[]" if several else "[]")
    elif "properties" in schema:
        yield Part("{ ")
        required = set(schema.get("required", ()))
        for n, (name, each) in enumerate(schema["properties"].items()):
            yield Part(f"{', ' if n else ''}{name}{'' if name in required else '?'}: ")
            yield from _parts(each, depth + 1)
        yield Part(" }")
    else:
        type_name = schema.get("type", "any")
        yield Part(" | ".join(type_name) if isinstance(type_name, list) else str(type_name))


def _join_choices(choices: list[Document], sign: str, depth: int) -> Iterator[Part]:
    for n, choice in enumerate(choices):
        if n:
            yield Part(sign)
        yield from _parts(choice, depth + 1)
