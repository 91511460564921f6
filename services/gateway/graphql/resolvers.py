"""From a question to the archive: one function for each field of `Query`.

Whoever asks the first four wrongly learns nothing but that it failed, as clients expect; ours say what is wrong.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final

from graphql import GraphQLResolveInfo, GraphQLSchema

from services.gateway.domain import parse_id
from services.gateway.graphql.archive import NOBODY, Archive
from services.gateway.graphql.limits import PAGE_LIMIT
from services.gateway.graphql.reads import Row
from services.gateway.graphql.refusals import BadInput, in_range, telling
from services.gateway.graphql.schema import make_schema
from services.gateway.search.question import BadQuestion, Filters

Info = GraphQLResolveInfo[Any]


async def _public(root: None, info: Info, investigation_id: str) -> Row | None:
    if not investigation_id:
        raise BadQuestion("an id is not empty")
    known = parse_id(investigation_id)
    return None if known is None else await _archive(info).public(known)


async def _of_post(root: None, info: Info, platform: str, external_id: str) -> Row:
    return await _archive(info).of_post(platform, external_id)


async def _listed(
    root: None,
    info: Info,
    limit: int | None,
    offset: int | None,
    query: str | None = None,
    platform: str | None = None,
    min_claim_count: int | None = None,
) -> Row:
    if limit is None or offset is None or not 1 <= limit <= PAGE_LIMIT or offset < 0:
        raise BadQuestion("limit or offset is out of range")
    if min_claim_count is not None and min_claim_count < 0:
        raise BadQuestion("minClaimCount is negative")
    return await _archive(info).listed(query, Filters(platform, min_claim_count or 0), limit, offset)


async def _metrics(
    root: None,
    info: Info,
    platform: str | None = None,
    author_id: str | None = None,
    window_start: datetime | None = None,
    window_end: datetime | None = None,
) -> Row:
    if window_start is not None and window_end is not None and window_start > window_end:
        raise BadQuestion("the window ends before it begins")
    author = None if author_id is None else parse_id(author_id) or NOBODY
    return await _archive(info).metrics(platform, author, window_start, window_end)


async def _searched(
    root: None,
    info: Info,
    order: str,
    first: int,
    min_claim_count: int | None,
    query: str | None = None,
    platform: str | None = None,
    after: str | None = None,
) -> Row:
    in_range("first", first, 1, PAGE_LIMIT)
    in_range("minClaimCount", min_claim_count or 0, 0, 2**31 - 1)
    filters = Filters(platform, min_claim_count or 0)
    return await _archive(info).searched(query, filters, ranked=order == "RELEVANCE", first=first, after=after)


async def _author(root: None, info: Info, id: str) -> Row | None:  # noqa: A002 (the schema's word)
    known = parse_id(id)
    return None if known is None else await _archive(info).author(known)


async def _authors(
    root: None,
    info: Info,
    first: int,
    query: str | None = None,
    platform: str | None = None,
    after: str | None = None,
) -> Row:
    in_range("first", first, 1, PAGE_LIMIT)
    return await _archive(info).authors(query, platform, first, after)


async def _anomalies(
    root: None,
    info: Info,
    first: int,
    platform: str | None = None,
    external_id: str | None = None,
    after: str | None = None,
) -> Row:
    in_range("first", first, 1, PAGE_LIMIT)
    if external_id is not None and platform is None:
        raise BadInput("`externalId` needs `platform` beside it.")
    return await _archive(info).anomalies(platform, external_id or None, first, after)


QUERIES: Final[Mapping[str, Callable[..., Awaitable[Any]]]] = {
    "publicInvestigation": _public,
    "postInvestigations": _of_post,
    "searchInvestigations": _listed,
    "publicMetrics": _metrics,
    "search": telling(_searched),
    "author": _author,
    "authors": telling(_authors),
    "integrityAnomalies": telling(_anomalies),
}


def _archive(info: Info) -> Archive:
    archive = info.context
    assert isinstance(archive, Archive)
    return archive


def executable_schema() -> GraphQLSchema:
    """The schema with what answers it; arguments arrive under Python's names."""
    schema = make_schema()
    assert schema.query_type is not None
    for name, field in schema.query_type.fields.items():
        field.resolve = QUERIES[name]
        for argument, definition in field.args.items():
            definition.out_name = "".join(f"_{c.lower()}" if c.isupper() else c for c in argument)
    return schema
