"""The public record as a graph: rows, and lazily loaded fields below them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar
from uuid import UUID

from services.gateway.cursors import parse_anomaly_key, parse_author_key, read_key, write_key
from services.gateway.public.audit import redact_run
from services.gateway.public.documents import decision_out
from services.gateway.public.graphql.errors import check_range, expose_refusals
from services.gateway.public.graphql.limits import PAGE_LIMIT
from services.gateway.public.graphql.nodes import (
    Connection,
    Edge,
    InvestigationResult,
    Node,
    PageInfo,
    PostInvestigations,
    ResultEdge,
    ResultPage,
)
from services.gateway.public.highlight import find_highlights
from services.gateway.public.names import model_name, provider_name
from services.gateway.record.authors import Author, AuthorMetrics
from services.gateway.record.counts import PostCounts
from services.gateway.record.investigations import SourceCheck
from services.gateway.record.posts import Anomaly
from services.gateway.record.question import Filters, Hit, normalise_words, parse_cursor, parse_rank_cursor, rank_cursor
from services.gateway.record.repository import PublicRecord, RecordSession
from services.gateway.record.rows import Claim, Source
from services.gateway.record.runs import Attempt, Exchange

T = TypeVar("T")
Load = Callable[..., Awaitable[object]]
_EXCHANGE: Final = ("request", "reasoning_summaries", "citations")


class RecordGraph:
    """The resolvers' access to the public record: GraphQL's context."""

    def __init__(self, record: PublicRecord) -> None:
        self._record = record

    async def investigation(self, investigation_id: UUID) -> InvestigationResult | None:
        """One finished investigation with its post and claims."""
        async with self._record.open() as session:
            row = await session.investigations.one(investigation_id)
            statements = () if row is None else await session.appeals.statements(investigation_id)
            logged = () if row is None else await session.decision_log.of_investigation(investigation_id)
        if row is None:
            return None

        async def load_audit(info: object) -> object:
            return await self._audit(investigation_id)

        checks = _load_once(lambda: self._checks(investigation_id))
        fields = {
            "provider": provider_name(row.provider),
            "model": model_name(row.provider, row.model),
            "audit": load_audit,
        }
        claims = tuple(_with_checks(claim, checks) for claim in row.claims)
        decisions = tuple(decision_out(investigation_id, each) for each in logged)
        post = self._with_author(row, row.author_id)
        return InvestigationResult(Node(row, fields), post, claims, row.withdrawn, statements, decisions)

    async def of_post(self, platform: str, external_id: str) -> PostInvestigations:
        """All finished investigations of a post."""
        if not external_id:
            return PostInvestigations(None, ())
        async with self._record.open() as session:
            post = await session.posts.one(platform, external_id)
            if post is None:
                return PostInvestigations(None, ())
            rows = await session.investigations.of_post(platform, external_id)
        return PostInvestigations(self._with_author(post, post.author_id), rows)

    async def list_page(self, query: str | None, filters: Filters, limit: int, offset: int) -> ResultPage:
        """A page of finished investigations, by offset."""
        text = None if query is None else normalise_words(query, None)
        async with self._record.open() as session:
            return ResultPage(*await session.list_page(text, filters, offset, limit))

    async def metrics(
        self, platform: str | None, author: UUID | None, start: datetime | None, end: datetime | None
    ) -> PostCounts:
        """Counts of posts and the share of flagged ones."""
        return await self._record.count_posts(platform, author, start, end)

    async def search(
        self, query: str | None, filters: Filters, *, ranked: bool, first: int, after: str | None
    ) -> Connection:
        """A page of search results."""
        text = None if query is None else normalise_words(query)
        async with self._record.open() as session:
            if text is not None and ranked:
                skipped = 0 if after is None else parse_rank_cursor(after)
                every = await session.search.ranked(text, filters)
                hits = every[skipped : skipped + first + 1]
                cursors = [rank_cursor(skipped + n + 1) for n in range(len(hits))]
            else:
                place = None if after is None else parse_cursor(after)
                hits = await session.search.newest(text, filters, place, first + 1)
                cursors = [hit.place.cursor() for hit in hits]
            return await _results(session, hits, cursors, first, text)

    async def author(self, author_id: UUID) -> Node[Author] | None:
        """One author."""
        async with self._record.open() as session:
            found = await session.authors.by_id([author_id])
        return self._authors(list(found.values()))[0] if found else None

    async def authors(self, query: str | None, platform: str | None, first: int, after: str | None) -> Connection:
        """Authors in the order of their names."""
        words = None if query is None else normalise_words(query)
        place = None if after is None else read_key(after, parse_author_key)
        async with self._record.open() as session:
            rows = await session.authors.named(words, platform, place, first + 1)
        return _connection(self._authors(rows), [write_key(row.display_name, row.id.hex) for row in rows], first)

    async def anomalies(
        self, platform: str | None, external_id: str | None, first: int, after: str | None
    ) -> Connection:
        """Contradictions between readers and sites."""
        post = None if platform is None or external_id is None else (platform, external_id)
        place = None if after is None else read_key(after, parse_anomaly_key)
        async with self._record.open() as session:
            rows = await session.posts.anomalies(post, platform, place, first + 1)
        return _connection(rows, [_anomaly_key(row) for row in rows], first)

    def _with_author(self, row: T, author_id: UUID | None) -> Node[T]:
        async def load_author(info: object) -> Node[Author] | None:
            return None if author_id is None else await self.author(author_id)

        return Node(row, {"author": load_author})

    def _authors(self, rows: Sequence[Author]) -> list[Node[Author]]:
        async def load() -> Mapping[UUID, AuthorMetrics]:
            async with self._record.open() as session:
                return await session.authors.metrics([row.id for row in rows])

        metrics = _load_once(load)

        def load_metrics(author_id: UUID) -> Load:
            async def metrics_of(info: object) -> AuthorMetrics:
                return (await metrics()).get(author_id, AuthorMetrics())

            return metrics_of

        return [
            Node(row, {"metrics": load_metrics(row.id), "investigations": self._investigations(row.id)}) for row in rows
        ]

    def _investigations(self, author_id: UUID) -> Load:
        async def investigations(info: object, first: int, after: str | None = None) -> Connection:
            check_range("first", first, 1, PAGE_LIMIT)
            place = None if after is None else parse_cursor(after)
            async with self._record.open() as session:
                hits = await session.authors.investigations(author_id, place, first + 1)
                return await _results(session, hits, [hit.place.cursor() for hit in hits], first, None)

        return expose_refusals(investigations)

    async def _checks(self, investigation_id: UUID) -> dict[tuple[str, str], SourceCheck]:
        async with self._record.open() as session:
            found = await session.investigations.source_checks(investigation_id)
        return {(str(check.claim_id), check.url): check for check in found}

    async def _audit(self, investigation_id: UUID) -> object:
        async with self._record.open() as session:
            run = await session.audits.run(investigation_id)
        if run is None:
            return None
        public = await asyncio.to_thread(redact_run, run)

        async def load() -> dict[int, Exchange]:
            async with self._record.open() as session:
                return public.exchanges(await session.audits.exchanges(investigation_id))

        exchanges = _load_once(load)

        def load_part(attempt: Attempt, name: str) -> Load:
            async def part(info: object) -> object:
                return getattr((await exchanges()).get(attempt.number, attempt), name)

            return part

        attempts = [Node(each, {name: load_part(each, name) for name in _EXCHANGE}) for each in public.run.attempts]
        return Node(public.run, {"attempts": attempts})


def _anomaly_key(row: Anomaly) -> str:
    return write_key(row.detected_at.isoformat(), row.observation_id.hex, row.kind)


def _with_checks(claim: Claim, checks: Callable[[], Awaitable[Mapping[tuple[str, str], SourceCheck]]]) -> Node[Claim]:
    """A finding whose sources load their checks."""

    def with_check(source: Source) -> Node[Source]:
        async def load_check(info: object) -> SourceCheck | None:
            return (await checks()).get((claim.id, source.url))

        return Node(source, {"check": load_check})

    return Node(claim, {"sources": [with_check(source) for source in claim.sources]})


def _load_once(load: Callable[[], Awaitable[T]]) -> Callable[[], Awaitable[T]]:
    """Share one call among all callers."""
    loading: asyncio.Future[T] | None = None

    async def loaded() -> T:
        nonlocal loading
        if loading is None:
            loading = asyncio.ensure_future(load())
        return await loading

    return loaded


async def _results(
    session: RecordSession, hits: Sequence[Hit], cursors: Sequence[str], first: int, text: str | None
) -> Connection:
    ids = [hit.investigation_id for hit in hits[:first]]
    rows = {row.id: row for row in await session.investigations.summaries(ids)}
    passages = {} if text is None else await session.investigations.passages(ids, text)
    edges = [
        ResultEdge(
            cursor=cursor,
            node=row,
            title=row.title,
            author_name=row.author_name,
            author_confirmed=row.author_confirmed,
            highlights=() if text is None else find_highlights(passages[row.id], text),
        )
        for id_, cursor in zip(ids, cursors, strict=False)
        if (row := rows.get(id_)) is not None and (text is None or id_ in passages)
    ]
    return _page(edges, cursors[: len(ids)], has_next=len(hits) > first)


def _connection(nodes: Sequence[object], cursors: Sequence[str], first: int) -> Connection:
    edges = [Edge(cursor, node) for node, cursor in zip(nodes, cursors, strict=True)]
    return _page(edges[:first], cursors[:first], has_next=len(edges) > first)


def _page(edges: Sequence[Edge], cursors: Sequence[str], *, has_next: bool) -> Connection:
    """Build a page. `cursors` are those of all rows found, some of which may have no edge."""
    return Connection(edges, PageInfo(has_next, cursors[-1] if cursors else None))
