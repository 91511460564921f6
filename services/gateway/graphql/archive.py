"""The public record as it hangs together: rows, and below them what is read only if somebody asks for it.

GraphQL and the older procedures share this; neither reads the database by another way.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final, TypeVar
from uuid import UUID

from kit.database import Database
from services.gateway.audit.public import EXCHANGE, NOTHING
from services.gateway.graphql.cursors import read_key, write_key
from services.gateway.graphql.limits import PAGE_LIMIT
from services.gateway.graphql.names import model_name, provider_name
from services.gateway.graphql.reads import Record, Row
from services.gateway.graphql.refusals import in_range, telling
from services.gateway.search.highlight import highlights
from services.gateway.search.question import (
    Filters,
    Hit,
    has_trigram,
    like,
    place_at,
    rank_at,
    rank_cursor,
    sought,
)
from services.gateway.search.reads import Search, reading

NOBODY: Final = UUID(int=0)
Found = TypeVar("Found")


class Archive:
    """The public record as resolvers reach it: GraphQL's context."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[Record, Search]]:
        """Record and search over one connection."""
        async with reading(self._database) as connection:
            yield Record(connection), Search(connection)

    async def public(self, investigation_id: UUID) -> Row | None:
        """One finished investigation with its post and claims."""
        async with self.open() as (record, _):
            row = await record.public(investigation_id)
        if row is None:
            return None
        post = self._post(row)
        named = {
            "provider": provider_name(row["provider"]),
            "model": model_name(row["provider"], row["model"]),
        }
        row = {**row, **named, "origin": row}
        row["audit"] = lambda info: self._audit(investigation_id)
        checks = _once(lambda: self._checks(investigation_id))
        return {"investigation": row, "post": post, "claims": [_checked(claim, checks) for claim in row["claims"]]}

    async def of_post(self, platform: str, external_id: str) -> Row:
        """All finished investigations of a post."""
        async with self.open() as (record, _):
            found = await record.post(platform, external_id)
        if found is None:
            return {"post": None, "investigations": []}
        return {"post": self._post(found[0]), "investigations": [_summary(row) for row in found[1]]}

    async def listed(self, query: str | None, filters: Filters, limit: int, offset: int) -> Row:
        """A page of finished investigations, counted off."""
        text = None if query is None else sought(query, None)
        async with self.open() as (record, search):
            hits = await search.skipping(text, filters, offset, limit + 1)
            rows = await record.summaries([hit.investigation_id for hit in hits[:limit]])
        return {"investigations": [_summary(row) for row in rows], "has_more": len(hits) > limit}

    async def metrics(
        self, platform: str | None, author: UUID | None, start: datetime | None, end: datetime | None
    ) -> Row:
        """Counts of posts and the share of flagged ones."""
        async with self.open() as (record, _):
            row = await record.metrics(platform, author, start, end)
        total = row["total_investigated_posts"]
        return row | {"fact_check_incidence": row["investigated_posts_with_flags"] / total if total else 0.0}

    async def searched(
        self, query: str | None, filters: Filters, *, ranked: bool, first: int, after: str | None
    ) -> Row:
        """A page of search results."""
        text = None if query is None else sought(query)
        async with self.open() as (record, search):
            if text is not None and ranked:
                skipped = 0 if after is None else rank_at(after)
                every = await search.ranked(text, filters)
                hits = every[skipped : skipped + first + 1]
                cursors = [rank_cursor(skipped + n + 1) for n in range(len(hits))]
            else:
                hits = await search.newest(text, filters, None if after is None else place_at(after), first + 1)
                cursors = [hit.place.cursor() for hit in hits]
            return await _page(record, hits, cursors, first, text)

    async def author(self, author_id: UUID) -> Row | None:
        """One author."""
        async with self.open() as (record, _):
            found = await record.by_id([author_id])
        return self._authors(list(found.values()))[0] if found else None

    async def authors(self, query: str | None, platform: str | None, first: int, after: str | None) -> Row:
        """Authors in the order of their names."""
        name = None if query is None else sought(query)
        pattern = short = None
        if name is not None:
            pattern, short = like(name), None if has_trigram(name) else name
        place = None
        if after is not None:
            place = read_key(after, str, UUID)
        async with self.open() as (record, _):
            rows = await record.authors(pattern, short, platform, place, first + 1)
        nodes = self._authors(rows)
        return _connection(nodes, [write_key(row["display_name"], row["id"].hex) for row in rows], first)

    async def anomalies(self, platform: str | None, external_id: str | None, first: int, after: str | None) -> Row:
        """Contradictions between readers and sites."""
        post = None if platform is None or external_id is None else (platform, external_id)
        place = None
        if after is not None:
            place = read_key(after, datetime.fromisoformat, UUID, str)
        async with self.open() as (record, _):
            rows = await record.anomalies(post, platform, place, first + 1)
        cursors = [write_key(row["detected_at"].isoformat(), row["observation_id"].hex, row["kind"]) for row in rows]
        return _connection(rows, cursors, first)

    def _post(self, row: Row) -> Row:
        async def author(info: Any) -> Row | None:
            return None if row["author_id"] is None else await self.author(row["author_id"])

        return {name: row[name] for name in ("platform", "external_id", "url")} | {"author": author}

    def _authors(self, rows: Sequence[Row]) -> list[Row]:
        counts = _once(lambda: self._author_metrics([row["id"] for row in rows]))
        return [
            row | {"metrics": _metrics_of(row["id"], counts), "investigations": self._of(row["id"])} for row in rows
        ]

    async def _author_metrics(self, ids: Sequence[UUID]) -> dict[UUID, Row]:
        async with self.open() as (record, _):
            return await record.author_metrics(ids)

    def _of(self, author_id: UUID) -> Callable[..., Awaitable[Row]]:
        async def investigations(info: Any, first: int, after: str | None = None) -> Row:
            in_range("first", first, 1, PAGE_LIMIT)
            async with self.open() as (record, _):
                found = await record.of_author(author_id, None if after is None else place_at(after), first + 1)
                hits = [Hit(row["investigation_id"], row["checked_at"]) for row in found]
                return await _page(record, hits, [hit.place.cursor() for hit in hits], first, None)

        return telling(investigations)

    async def _checks(self, investigation_id: UUID) -> dict[tuple[str, str], Row]:
        async with self.open() as (record, _):
            found = await record.source_checks(investigation_id)
        return {(str(row["claim_id"]), row["url"]): row for row in found}

    async def _audit(self, investigation_id: UUID) -> Row:
        async with self.open() as (record, _):
            audit = await record.audit(investigation_id)

        async def load() -> dict[int, Row]:
            async with self.open() as (record, _):
                return audit.exchanges(await record.exchanges(investigation_id))

        exchanges = _once(load)

        def part_of(number: int, name: str) -> Callable[[Any], Awaitable[Any]]:
            async def part(info: Any) -> Any:
                return (await exchanges()).get(number, NOTHING)[name]

            return part

        attempts = audit.row["attempts"]
        return audit.row | {
            "attempts": [each | {name: part_of(each["number"], name) for name in EXCHANGE} for each in attempts]
        }


def _checked(claim: Row, checks: Callable[[], Awaitable[Mapping[tuple[str, str], Row]]]) -> Row:
    """A finding whose sources can tell what was found when they were looked at."""

    def check_of(url: str) -> Callable[[Any], Awaitable[Row | None]]:
        async def check(info: Any) -> Row | None:
            return (await checks()).get((claim["id"], url))

        return check

    return claim | {"sources": [source | {"check": check_of(source["url"])} for source in claim["sources"]]}


def _metrics_of(
    author_id: UUID, counts: Callable[[], Awaitable[Mapping[UUID, Row]]]
) -> Callable[[Any], Awaitable[Row]]:
    async def metrics(info: Any) -> Row:
        row = (await counts()).get(author_id, {"investigated_posts": 0, "flagged_posts": 0, "claim_count": 0})
        posts = row["investigated_posts"]
        return {**row, "fact_check_incidence": row["flagged_posts"] / posts if posts else 0.0}

    return metrics


def _once(load: Callable[[], Awaitable[Found]]) -> Callable[[], Awaitable[Found]]:
    """Many who ask for the same at the same time are answered by one look."""
    loading: asyncio.Future[Found] | None = None

    async def loaded() -> Found:
        nonlocal loading
        if loading is None:
            loading = asyncio.ensure_future(load())
        return await loading

    return loaded


async def _page(record: Record, hits: Sequence[Hit], cursors: Sequence[str], first: int, text: str | None) -> Row:
    ids = [hit.investigation_id for hit in hits[:first]]
    rows = await record.summaries(ids)
    passages = {} if text is None else await record.passages(ids, text)
    edges = [
        {
            "cursor": cursor,
            "node": _summary(row),
            "title": row["title"],
            "author_name": row["author_name"],
            "author_confirmed": row["author_confirmed"],
            "highlights": highlights(passages[row["id"]], text) if text is not None else [],
        }
        for row, cursor in zip(rows, cursors, strict=False)
    ]
    return _edges(edges, has_next=len(hits) > first)


def _connection(nodes: Sequence[Row], cursors: Sequence[str], first: int) -> Row:
    edges = [{"cursor": cursor, "node": node} for node, cursor in zip(nodes, cursors, strict=True)]
    return _edges(edges[:first], has_next=len(edges) > first)


def _edges(edges: Sequence[Row], *, has_next: bool) -> Row:
    end = edges[-1]["cursor"] if edges else None
    return {"edges": edges, "page_info": {"has_next_page": has_next, "end_cursor": end}}


def _summary(row: Row) -> Row:
    return row | {"origin": row}
