"""The OpenAPI document as a page: every route, what it takes, what it answers, and the shapes these are made of.

Shapes are written as TypeScript writes them, since most who read this know it; names of shapes lead to their fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

GROUPS: Final = {
    "public": "The public record",
    "extension": "The browser extension",
    "service": "The service itself",
}
_REF: Final = "#/components/schemas/"
_DEEPEST: Final = 6


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a written shape; `name`: the shape it leads to."""

    text: str
    name: str | None = None


Written = tuple[Part, ...]


def reference(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the template shows. Shapes: no route and no named shape of the document is left out."""
    operations = [
        _operation(path, method, described)
        for path, methods in document["paths"].items()
        for method, described in methods.items()
    ]
    named = {tag for operation in operations for tag in (operation["group"],)}
    return {
        "groups": [
            (GROUPS.get(tag, tag), [operation for operation in operations if operation["group"] == tag])
            for tag in [*GROUPS, *sorted(named - set(GROUPS))]
            if tag in named
        ],
        "shapes": [
            {"name": name, "told": _told(schema), "fields": _fields(schema), "written": _written(schema)}
            for name, schema in sorted(document["components"]["schemas"].items())
        ],
    }


def _operation(path: str, method: str, described: Mapping[str, Any]) -> dict[str, Any]:
    body = described.get("requestBody", {}).get("content", {})
    return {
        "group": (described.get("tags") or ["service"])[0],
        "method": method.upper(),
        "path": path,
        "told": described.get("description") or described.get("summary", ""),
        "takes": [
            {
                "name": each["name"],
                "where": each["in"],
                "required": each.get("required", False),
                "written": _of(each),
                "told": each.get("description", ""),
            }
            for each in described.get("parameters", ())
        ]
        + [
            {"name": kind, "where": "body", "required": True, "written": written(content["schema"]), "told": ""}
            for kind, content in body.items()
        ],
        "answers": [
            {"status": status, "told": answer["description"], "written": _answer(answer)}
            for status, answer in sorted(described["responses"].items())
            if status != "422"  # FastAPI adds it everywhere; no route of ours answers it
        ],
    }


def _of(parameter: Mapping[str, Any]) -> Written:
    if "schema" in parameter:
        return written(parameter["schema"])
    return written(next(iter(parameter["content"].values()))["schema"])


def _answer(answer: Mapping[str, Any]) -> Written:
    content = answer.get("content", {})
    return written(next(iter(content.values())).get("schema", {})) if content else ()


def _told(schema: Mapping[str, Any]) -> str:
    return str(schema.get("description", "")).partition("\n\n")[0].replace("\n", " ")


def _fields(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    required = set(schema.get("required", ()))
    return [
        {"name": name, "required": name in required, "written": written(each), "told": _told(each)}
        for name, each in schema.get("properties", {}).items()
    ]


def _written(schema: Mapping[str, Any]) -> Written:
    return () if "properties" in schema else written(schema)


def written(schema: Mapping[str, Any]) -> Written:
    """A shape in words, with neighbouring plain pieces joined."""
    joined: list[Part] = []
    for part in _parts(schema, 0):
        if joined and joined[-1].name is None and part.name is None:
            joined[-1] = Part(joined[-1].text + part.text)
        else:
            joined.append(part)
    return tuple(joined)


def _parts(schema: Mapping[str, Any], depth: int) -> Iterator[Part]:
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
        yield from _joined(choices, " | ", depth)
    elif "allOf" in schema:
        yield from _joined(schema["allOf"], " & ", depth)
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
        said = schema.get("type", "any")
        yield Part(" | ".join(said) if isinstance(said, list) else str(said))


def _joined(choices: list[Mapping[str, Any]], sign: str, depth: int) -> Iterator[Part]:
    for n, choice in enumerate(choices):
        if n:
            yield Part(sign)
        yield from _parts(choice, depth + 1)
