"""The older `public.*` procedures: the same rows as GraphQL's, for existing clients."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
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
from services.gateway.domain import parse_id
from services.gateway.ports import Call, Refused
from services.gateway.procedure import Procedure, public_query
from services.gateway.public.documents import claim_out
from services.gateway.public.names import NOBODY, model_name, provider_name
from services.gateway.record.investigations import Summary
from services.gateway.record.question import BadQuestion, Filters, normalise_words
from services.gateway.record.repository import PublicRecord
from services.gateway.record.rows import Investigated


class PublicProcedures:
    """Answers of the `public.*` procedures."""

    def __init__(self, record: PublicRecord) -> None:
        self._record = record

    async def investigation(self, question: RecordQuestion, call: Call) -> RecordResult | None:
        """One finished investigation; null if there is none with this id."""
        parsed_id = parse_id(question.investigation_id)
        if parsed_id is None:
            return None
        async with self._record.open() as session:
            row = await session.investigations.one(parsed_id)
        if row is None:
            return None
        return RecordResult(
            investigation=RecordInvestigation(
                id=str(row.id),
                corroboration_count=row.corroboration_count,
                checked_at=row.checked_at,
                prompt_version=row.prompt_version,
                provider=provider_name(row.provider),
                model=model_name(row.provider, row.model),
                origin=_origin(row),
            ),
            post=PublicPost.model_validate(row, from_attributes=True),
            claims=tuple(map(claim_out, row.claims)),
        )

    async def of_post(self, question: PostQuestion, call: Call) -> PostRecord:
        """Every finished investigation of a post."""
        async with self._record.open() as session:
            post = await session.posts.one(question.platform, question.external_id)
            if post is None:
                return PostRecord(post=None, investigations=())
            rows = await session.investigations.of_post(question.platform, question.external_id)
        shown = PublicPost.model_validate(post, from_attributes=True)
        return PostRecord(post=shown, investigations=tuple(map(_of_post, rows)))

    async def listed(self, question: ListQuestion, call: Call) -> ListAnswer:
        """Finished investigations, newest first."""
        filters = Filters(question.platform, question.min_claim_count or 0)
        try:
            text = None if question.query is None else normalise_words(question.query, None)
            async with self._record.open() as session:
                rows, has_more = await session.list_page(text, filters, question.offset, question.limit)
        except BadQuestion as refusal:
            raise Refused("BAD_REQUEST", str(refusal)) from refusal
        return ListAnswer(investigations=tuple(map(_listed, rows)), has_more=has_more)

    async def metrics(self, question: MetricsQuestion, call: Call) -> MetricsAnswer:
        """How many posts were investigated, and how many of them flagged."""
        start, end = _moment(question.window_start), _moment(question.window_end)
        if start is not None and end is not None and start > end:
            raise Refused("BAD_REQUEST", "The window ends before it begins.")
        author: UUID | None = None if question.author_id is None else parse_id(question.author_id) or NOBODY
        counts = await self._record.count_posts(question.platform, author, start, end)
        return MetricsAnswer.model_validate(counts, from_attributes=True)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _origin(row: Investigated) -> RecordOrigin:
    return RecordOrigin(provenance=row.provenance, server_verified_at=row.server_verified_at)


def _of_post(row: Summary) -> PostInvestigation:
    return PostInvestigation(
        id=str(row.id),
        content_hash=row.content_hash,
        origin=_origin(row),
        corroboration_count=row.corroboration_count,
        checked_at=row.checked_at,
        claim_count=row.claim_count,
        claim_summaries=tuple(ClaimSummary(id=each.id, summary=each.summary) for each in row.claim_summaries),
    )


def _listed(row: Summary) -> ListedInvestigation:
    post = {"platform": row.platform, "external_id": row.external_id, "url": row.url}
    return ListedInvestigation.model_validate(dict(_of_post(row)) | post)


def public_procedures(procedures: PublicProcedures) -> Mapping[str, Procedure]:
    """The table of the `public.*` procedures."""
    table = (
        public_query("public.getInvestigation", RecordQuestion, RecordResult | None, procedures.investigation),
        public_query("public.getPostInvestigations", PostQuestion, PostRecord, procedures.of_post),
        public_query("public.searchInvestigations", ListQuestion, ListAnswer, procedures.listed),
        public_query("public.getMetrics", MetricsQuestion, MetricsAnswer, procedures.metrics),
    )
    return {procedure.name: procedure for procedure in table}
