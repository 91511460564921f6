"""The documents, feeds and queries of the public record in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from contracts.lookup.documents import Layout
from platforms import PLATFORMS
from services.gateway.openapi import REF, Schema, json_content
from services.gateway.public.decision_log import PREFIX as LOG
from services.gateway.public.graphql.http import PATH as GRAPHQL
from services.gateway.public.lookups import PREFIX as LOOKUP

_TEXT: Final[Schema] = {"type": "string"}
_BYTES: Final[Schema] = {"type": "string", "format": "binary"}
_OBJECT: Final[Schema] = {"type": "object"}
_ID: Final[Schema] = {"type": "string", "format": "uuid"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_PLAIN: Final[Mapping[str, Schema]] = {"text/plain": _TEXT}
_FRAMED: Final[Mapping[str, Schema]] = {"application/octet-stream": _BYTES}
_FEED: Final[Mapping[str, Schema]] = {"application/atom+xml": _TEXT, "application/feed+json": _OBJECT}
_KIND: Final[Schema] = {"enum": ["atom", "json"]}
_NAME: Final[Schema] = {
    "enum": ["all", "retractions", "appeals", *(site.name.lower() for site in PLATFORMS)],
    "description": "Corrections of all sites or of one, retractions, or appeals",
}
_TILE: Final[Schema] = {**_TEXT, "description": "Its number as C2SP tlog-tiles writes it: `x001/234`, `067.p/8`"}
_DECISION: Final[Schema] = {**_TEXT, "description": "An investigation's id, for its result, or an index in the log"}
_LAYOUT: Final[Schema] = {**_TEXT, "description": "`layout` of layout.json"}
_PREFIX: Final[Schema] = {**_TEXT, "description": "The first bits of the post's key in hexadecimal, or `all`"}
_FRAME: Final = "A frame: the length in bytes, as much JSON under gzip, zeros."
_NO_RUN: Final = "There is no finished investigation with this id"
_NO_FEED: Final = "There is no such feed"
_NOT_LOGGED: Final = "The log has no such entry, or this instance keeps no log"
_NO_BUCKET: Final = "There is no such bucket or day"
_SILENT: Final = "A server that the gateway needs does not answer; try again"
_KNOWN: Final = {"304": {"description": "The client's copy is current: its ETag is in `If-None-Match`"}}


class _Read(NamedTuple):
    """A GET route. Shapes: `content` by media type, `takes` by parameter of the path, `missing` describes its 404."""

    path: str
    name: str
    summary: str
    content: Mapping[str, Schema]
    missing: str | None = None
    takes: Mapping[str, Schema] = {}
    description: str = ""


_PAGES: Final = (
    _Read("/feeds/{name}.{kind}", "feed", "The newest entries", _FEED, _NO_FEED, {"name": _NAME, "kind": _KIND}),
    _Read(
        "/feeds/authors/{id}.{kind}",
        "authorFeed",
        "An author's newest corrections",
        _FEED,
        _NO_FEED,
        {"id": _ID, "kind": _KIND},
    ),
    _Read("/accuracy.json", "accuracy", "How often a shown correction is wrong", {"application/json": _OBJECT}),
    _Read("/investigations/{id}/prompt.txt", "prompt", "The whole prompt", _PLAIN, _NO_RUN, {"id": _ID}),
    _Read("/investigations/{id}/card.png", "card", "A preview", {"image/png": _BYTES}, _NO_RUN, {"id": _ID}),
    _Read(
        "/investigations/{id}/proof.cbor",
        "postProof",
        "What proves that the author signed the post",
        {"application/vnd.ipld.dag-cbor": _BYTES},
        "There is no such investigation, or its post is not signed",
        {"id": _ID},
    ),
    _Read(
        "/sources/{sha256}",
        "source",
        "A cited page as it was fetched",
        {"text/plain": _TEXT, "application/octet-stream": _BYTES},
        "No finding that stands cites it",
        {"sha256": _TEXT},
    ),
)
_LOG: Final = (
    _Read(f"{LOG}checkpoint", "checkpoint", "The newest signed note of the decision log", _PLAIN, _NOT_LOGGED),
    _Read(f"{LOG}policy", "policy", "Whose signatures make a note valid", _PLAIN, _NOT_LOGGED),
    _Read(
        f"{LOG}tile/{{level}}/{{number}}",
        "tile",
        "Hashes of the log",
        _FRAMED,
        _NOT_LOGGED,
        {"level": _COUNT, "number": _TILE},
    ),
    _Read(f"{LOG}tile/entries/{{number}}", "entries", "Leaves of the log", _FRAMED, _NOT_LOGGED, {"number": _TILE}),
    _Read(
        f"{LOG}proof/{{name}}",
        "proof",
        "A decision with the proof that it is in the log",
        _PLAIN,
        _NOT_LOGGED,
        {"name": _DECISION},
        "By an investigation's id, the proof includes what the leaf commits to.",
    ),
    _Read(
        f"{LOG}proof/{{id}}/{{index}}",
        "proofAt",
        "One of several decisions about an investigation",
        _PLAIN,
        _NOT_LOGGED,
        {"id": _ID, "index": _COUNT},
    ),
)
_LOOKUP: Final = (
    _Read(
        f"{LOOKUP}layout.json",
        "layout",
        "How posts are distributed over buckets",
        {"application/json": {"$ref": REF.format(model=Layout.__name__)}},
        "This instance keeps no look-ups",
    ),
    _Read(
        f"{LOOKUP}{{layout}}/{{prefix}}",
        "bucket",
        "All findings about the posts of a bucket",
        _FRAMED,
        _NO_BUCKET,
        {"layout": _LAYOUT, "prefix": _PREFIX},
        _FRAME,
    ),
    _Read(
        f"{LOOKUP}retractions/{{day}}",
        "retractedOn",
        "Findings whose state last changed on a day in UTC",
        _FRAMED,
        _NO_BUCKET,
        {"day": {"type": "string", "format": "date"}},
        _FRAME,
    ),
)
_FIELDS: Final[Mapping[str, Schema]] = {"query": _TEXT, "variables": _OBJECT, "operationName": _TEXT}
_QUERY: Final[Schema] = {"type": "object", "required": ["query"], "properties": _FIELDS}
_ANSWER: Final[Schema] = {
    "type": "object",
    "properties": {"data": {"type": ["object", "null"]}, "errors": {"type": "array", "items": _OBJECT}},
}
_OF_BODIES: Final = {
    "408": "The request did not arrive in time",
    "413": "The request is too large",
    "415": "The content type is not one of GraphQL's",
}


def describe_reads() -> Iterator[tuple[str, Schema]]:
    """Yield the paths with their operations."""
    for each in _PAGES:
        yield each.path, {"get": _describe(each, "text/html", _KNOWN)}
    for each in _LOG:
        yield each.path, {"get": _describe(each, "text/plain", {})}
    for each in _LOOKUP:
        yield each.path, {"get": _describe(each, "text/plain", _KNOWN)}
    named = [{"name": name, "in": "query", "required": name == "query", "schema": _TEXT} for name in _FIELDS]
    sent = {"required": True, "content": json_content(_QUERY)}
    yield (
        GRAPHQL,
        {
            "get": _graphql("query", {"405": "Only queries can be sent with GET"}, parameters=named),
            "post": _graphql("queryByPost", _OF_BODIES, requestBody=sent),
        },
    )


def _describe(read: _Read, refused_as: str, also: Mapping[str, Schema]) -> Schema:
    refusals = {"503": _SILENT} if read.missing is None else {"404": read.missing, "503": _SILENT}
    refused = {"content": {refused_as: {"schema": _TEXT}}}
    return {
        "operationId": read.name,
        "tags": ["public"],
        "summary": read.summary,
        "description": f"{read.summary}. {read.description}".strip(),
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": schema} for name, schema in read.takes.items()
        ],
        "responses": {
            "200": {
                "description": read.summary,
                "content": {kind: {"schema": each} for kind, each in read.content.items()},
            },
            **also,
            **{status: {"description": words, **refused} for status, words in refusals.items()},
        },
    }


def _graphql(name: str, refusals: Mapping[str, str], **takes: object) -> Schema:
    said = {"200": "The answer", "400": "The request is not a valid GraphQL request", **refusals, "503": _SILENT}
    content = json_content(_ANSWER)
    return {
        "operationId": name,
        "tags": ["public"],
        "summary": "Query the public record",
        "description": "GraphQL over the public record; introspection describes it. Errors come with status 200, "
        "unless `Accept` names application/graphql-response+json first.",
        **takes,
        "responses": {status: {"description": words, "content": content} for status, words in said.items()},
    }
