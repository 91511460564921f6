"""Resolvers: one function for each field of `Query`.

Errors of the first four are masked, as existing clients expect; the others say what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import cache, lru_cache
from typing import Final

from graphql import GraphQLResolveInfo, GraphQLSchema

from services.gateway.domain import parse_id
from services.gateway.public.graphql.errors import BadInput, check_range, expose_refusals
from services.gateway.public.graphql.graph import RecordGraph
from services.gateway.public.graphql.limits import PAGE_LIMIT
from services.gateway.public.graphql.nodes import Connection, InvestigationResult, Node, PostInvestigations, ResultPage
from services.gateway.public.graphql.schema import make_schema
from services.gateway.public.names import NOBODY
from services.gateway.record.authors import Author
from services.gateway.record.counts import PostCounts
from services.gateway.record.question import BadQuestion, Filters

Info = GraphQLResolveInfo[RecordGraph]


async def _investigation(root: None, info: Info, investigation_id: str) -> InvestigationResult | None:
    if not investigation_id:
        raise BadQuestion("an id is not empty")
    parsed_id = parse_id(investigation_id)
    return None if parsed_id is None else await _graph(info).investigation(parsed_id)


async def _of_post(root: None, info: Info, platform: str, external_id: str) -> PostInvestigations:
    return await _graph(info).of_post(platform, external_id)


async def _list(
    root: None,
    info: Info,
    limit: int | None,
    offset: int | None,
    query: str | None = None,
    platform: str | None = None,
    min_claim_count: int | None = None,
) -> ResultPage:
    if limit is None or offset is None or not 1 <= limit <= PAGE_LIMIT or offset < 0:
        raise BadQuestion("limit or offset is out of range")
    if min_claim_count is not None and min_claim_count < 0:
        raise BadQuestion("minClaimCount is negative")
    return await _graph(info).list_page(query, Filters(platform, min_claim_count or 0), limit, offset)


async def _metrics(
    root: None,
    info: Info,
    platform: str | None = None,
    author_id: str | None = None,
    window_start: datetime | None = None,
    window_end: datetime | None = None,
) -> PostCounts:
    if window_start is not None and window_end is not None and window_start > window_end:
        raise BadQuestion("the window ends before it begins")
    author = None if author_id is None else parse_id(author_id) or NOBODY
    return await _graph(info).metrics(platform, author, window_start, window_end)


async def _search(
    root: None,
    info: Info,
    order: str,
    first: int,
    min_claim_count: int | None,
    query: str | None = None,
    platform: str | None = None,
    after: str | None = None,
) -> Connection:
    check_range("first", first, 1, PAGE_LIMIT)
    check_range("minClaimCount", min_claim_count or 0, 0, 2**31 - 1)
    filters = Filters(platform, min_claim_count or 0)
    return await _graph(info).search(query, filters, ranked=order == "RELEVANCE", first=first, after=after)


async def _author(root: None, info: Info, id: str) -> Node[Author] | None:  # noqa: A002 (the schema's word)
    parsed_id = parse_id(id)
    return None if parsed_id is None else await _graph(info).author(parsed_id)


async def _authors(
    root: None,
    info: Info,
    first: int,
    query: str | None = None,
    platform: str | None = None,
    after: str | None = None,
) -> Connection:
    check_range("first", first, 1, PAGE_LIMIT)
    return await _graph(info).authors(query, platform, first, after)


async def _anomalies(
    root: None,
    info: Info,
    first: int,
    platform: str | None = None,
    external_id: str | None = None,
    after: str | None = None,
) -> Connection:
    check_range("first", first, 1, PAGE_LIMIT)
    if external_id is not None and platform is None:
        raise BadInput("`externalId` needs `platform` beside it.")
    return await _graph(info).anomalies(platform, external_id or None, first, after)


QUERIES: Final[Mapping[str, Callable[..., Awaitable[object]]]] = {
    "publicInvestigation": _investigation,
    "postInvestigations": _of_post,
    "searchInvestigations": _list,
    "publicMetrics": _metrics,
    "search": expose_refusals(_search),
    "author": _author,
    "authors": expose_refusals(_authors),
    "integrityAnomalies": expose_refusals(_anomalies),
}


def _graph(info: Info) -> RecordGraph:
    graph = info.context
    assert isinstance(graph, RecordGraph)
    return graph


@cache
def executable_schema() -> GraphQLSchema:
    """The schema with its resolvers; arguments get Python names.

    Cached, since parsing it takes 70 ms; the graph comes with each request.
    """
    schema = make_schema()
    assert schema.query_type is not None
    for name, field in schema.query_type.fields.items():
        field.resolve = QUERIES[name]
        for argument, definition in field.args.items():
            definition.out_name = "".join(f"_{c.lower()}" if c.isupper() else c for c in argument)
    return schema


@lru_cache(maxsize=1024)
def to_snake_case(name: str) -> str:
    """Convert a field's name to snake case."""
    return re.sub(r"([A-Z])", lambda capital: f"_{capital[1].lower()}", name)


def resolve(source: object, info: GraphQLResolveInfo[RecordGraph], **arguments: object) -> object:
    """Resolve a field of a row: its value, or the result of its loader."""
    name = to_snake_case(info.field_name)
    if isinstance(source, Node):
        value = source.fields[name] if name in source.fields else getattr(source.row, name)
    else:
        value = getattr(source, name)
    return value(info, **arguments) if callable(value) else value
