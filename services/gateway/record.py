"""The older `public.*` procedures: the same rows as GraphQL's, under the names that older clients know."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from contracts.rpc.public import PublicPost
from contracts.rpc.record import (
    ClaimSummary,
    ListAnswer,
    ListedInvestigation,
    ListQuestion,
    MetricsAnswer,
    MetricsQuestion,
    PostInvestigation,
    PostQuestion,
    PostRecord,
    RecordInvestigation,
    RecordOrigin,
    RecordQuestion,
    RecordResult,
)
from contracts.rpc.status import ClaimOut, SourceOut
from services.gateway.domain import parse_id
from services.gateway.graphql.archive import NOBODY, Archive
from services.gateway.ports import Call, Refused
from services.gateway.search.question import BadQuestion, Filters

Row = Mapping[str, Any]


class PublicRecord:
    """Answers of the `public.*` procedures."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    async def investigation(self, question: RecordQuestion, call: Call) -> RecordResult | None:
        """One finished investigation; null if there is none with this id."""
        known = parse_id(question.investigation_id)
        found = None if known is None else await self._archive.public(known)
        if found is None:
            return None
        row = found["investigation"]
        return RecordResult(
            investigation=RecordInvestigation(
                **_some(row, "corroboration_count", "checked_at", "prompt_version", "provider", "model"),
                id=str(row["id"]),
                origin=_origin(row),
            ),
            post=_post(found["post"]),
            claims=tuple(map(_claim, found["claims"])),
        )

    async def of_post(self, question: PostQuestion, call: Call) -> PostRecord:
        """Every finished investigation of a post."""
        found = await self._archive.of_post(question.platform, question.external_id)
        post = None if found["post"] is None else _post(found["post"])
        return PostRecord(
            post=post, investigations=tuple(PostInvestigation(**_summary(row)) for row in found["investigations"])
        )

    async def listed(self, question: ListQuestion, call: Call) -> ListAnswer:
        """Finished investigations, newest first."""
        filters = Filters(question.platform, question.min_claim_count or 0)
        try:
            found = await self._archive.listed(question.query, filters, question.limit, question.offset)
        except BadQuestion as refusal:
            raise Refused("BAD_REQUEST", str(refusal)) from refusal
        rows = tuple(
            ListedInvestigation(**_summary(row), **_some(row, "platform", "external_id", "url"))
            for row in found["investigations"]
        )
        return ListAnswer(investigations=rows, has_more=found["has_more"])

    async def metrics(self, question: MetricsQuestion, call: Call) -> MetricsAnswer:
        """How many posts were investigated, and how many of them flagged."""
        start, end = _moment(question.window_start), _moment(question.window_end)
        if start is not None and end is not None and start > end:
            raise Refused("BAD_REQUEST", "The window ends before it begins.")
        author: UUID | None = None if question.author_id is None else parse_id(question.author_id) or NOBODY
        return MetricsAnswer(**await self._archive.metrics(question.platform, author, start, end))


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _some(row: Row, *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names}


def _origin(row: Row) -> RecordOrigin:
    return RecordOrigin(provenance=row["provenance"], server_verified_at=row["server_verified_at"])


def _post(row: Row) -> PublicPost:
    return PublicPost(**_some(row, "platform", "external_id", "url"))


def _claim(claim: Row) -> ClaimOut:
    sources = tuple(SourceOut(**_some(source, "url", "title", "snippet")) for source in claim["sources"])
    return ClaimOut(**_some(claim, "id", "text", "context", "summary", "reasoning"), sources=sources)


def _summary(row: Row) -> dict[str, Any]:
    return _some(row, "content_hash", "corroboration_count", "checked_at", "claim_count") | {
        "id": str(row["id"]),
        "origin": _origin(row),
        "claim_summaries": tuple(ClaimSummary(**summary) for summary in row["claim_summaries"]),
    }
