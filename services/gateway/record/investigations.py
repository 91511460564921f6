"""Finished investigations: the rule of what is public, and one row class per use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text as sql

from contracts.v1.ids import post_id
from contracts.v1.parts import PostRef
from services.gateway.record.connection import Queries
from services.gateway.record.rows import BY_HIDDEN, WITHDRAWN, Claim, ClaimSummary, Investigated, WithdrawnClaim

_FINISHED: Final = f"""
    FROM investigation_doc d
    JOIN investigation_input n ON n.investigation_id = d.investigation_id
    JOIN post_version v ON v.id = d.post_version_id
    JOIN post p ON p.id = v.post_id AND NOT {BY_HIDDEN}
"""
"""Public investigations: finished ones, which have a document, of posts that may be shown. No statement below reads
others."""
_HEADED: Final = f"{_FINISHED} LEFT JOIN version_heading h ON h.post_version_id = v.id"
_RUN: Final = "JOIN investigation i ON i.id = d.investigation_id AND i.status = 'COMPLETE'"
IS_PUBLIC: Final = f"EXISTS (SELECT 1 {_FINISHED} {_RUN} WHERE d.investigation_id = :id)"
_WANTED: Final = "JOIN unnest(CAST(:ids AS uuid[])) WITH ORDINALITY wanted(id, place) ON wanted.id = d.investigation_id"

_COMMON: Final = """
    d.investigation_id AS id, d.checked_at, n.provenance, v.server_verified_at, v.corroborated_at,
    p.platform, p.external_id, p.url,
    (SELECT count(*) FROM corroboration_credit c WHERE c.investigation_id = d.investigation_id) AS corroboration_count
"""
_SUMMARY: Final = f"""{_COMMON}, n.content_hash, d.claim_count,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', c->>'id', 'summary', c->>'summary') ORDER BY c->>'id'), '[]')
        FROM jsonb_array_elements(d.claims) c) AS claim_summaries
"""  # noqa: S608 (our words)
_CARD: Final = f"""{_COMMON}, d.claims, {WITHDRAWN}, i.provider,
    (SELECT max(changed_at) FROM finding_state WHERE investigation_id = d.investigation_id) AS changed_at,
    h.title, h.author_name, coalesce(h.confirmed, false) AS author_confirmed,
    CASE WHEN h.confirmed THEN h.author_id END AS author_id
"""  # noqa: S608 (our words)

_ONE: Final = sql(f"""
    SELECT {_COMMON}, n.content_hash, d.claims, {WITHDRAWN}, i.provider, i.model, r.version AS prompt_version,
        CASE WHEN p.confirmed THEN p.author_id END AS author_id
    {_FINISHED} {_RUN} JOIN prompt r ON r.hash = i.prompt_hash WHERE d.investigation_id = :id
""")
_OF_POST: Final = sql(f"""
    SELECT {_SUMMARY} {_FINISHED} WHERE p.id = :id ORDER BY d.checked_at DESC, d.investigation_id DESC
""")
_SUMMARIES: Final = sql(f"""
    SELECT {_SUMMARY}, h.title, h.author_name, coalesce(h.confirmed, false) AS author_confirmed
    {_HEADED} {_WANTED} ORDER BY wanted.place
""")
_CARDS: Final = sql(f"SELECT {_CARD} {_HEADED} {_RUN} {_WANTED} ORDER BY wanted.place")
_REPORT: Final = sql(f"""
    SELECT {_CARD}, i.model, i.model_version, i.queued_at, i.requested_by, i.parent_investigation_id,
        r.version AS prompt_version, r.hash AS prompt_hash, n.content_hash, n.markdown_source,
        n.markdown_renderer_version, n.markdown, v.id AS version_id, v.first_seen_at, v.seen_count, b.content_text,
        b.word_count,
        (SELECT o.id FROM post_version o WHERE o.post_id = p.id ORDER BY o.last_seen_at DESC, o.id DESC LIMIT 1)
            AS newest_version_id,
        (SELECT f.reason FROM verification_failure f WHERE f.post_version_id = v.id ORDER BY f.failed_at DESC LIMIT 1)
            AS unverified_because,
        m.document ->> 'signing_key' AS signing_key, m.document ->> 'proof_sha256' AS proof_sha256
    {_HEADED} {_RUN}
    LEFT JOIN version_metadata m ON m.post_version_id = v.id AND m.platform = p.platform
    JOIN prompt r ON r.hash = i.prompt_hash
    JOIN content_blob b ON b.content_hash = v.content_hash
    WHERE d.investigation_id = :id
""")  # noqa: S608 (our words)

_PASSAGES: Final = sql(f"""
    SELECT d.investigation_id AS id, h.title, h.author_name, h.url, d.claims, b.begin > 1 AS begins_before,
        substr(b.content_text, b.begin, length(:found) + 240) AS text,
        b.begin + length(:found) + 240 <= length(b.content_text) AS goes_on
    {_HEADED} {_WANTED}
    CROSS JOIN LATERAL (
        SELECT content_text, greatest(1, position(lower(:found) IN lower(content_text)) - 120) AS begin
        FROM content_blob WHERE content_hash = v.content_hash
    ) b
""")  # noqa: S608 (our words)

_CHECKS: Final = sql("""
    SELECT DISTINCT ON (k.claim_id, k.url) k.claim_id, k.url, k.status, k.reason, k.final_url, k.page_hash,
        k.size_bytes, k.media_type, k.fetched_at, '/sources/' || k.page_hash AS archived_copy
    FROM claim c JOIN source_check k ON k.claim_id = c.id WHERE c.investigation_id = :id
    ORDER BY k.claim_id, k.url, k.round DESC
""")
_COPY: Final = sql("""
    SELECT k.media_type FROM source_check k JOIN claim c ON c.id = k.claim_id WHERE k.page_hash = :hash LIMIT 1
""")
_SNAPSHOTS: Final = sql("""
    SELECT s.claim_id, s.ordinal, s.snapshot_hash, s.retrieved_at
    FROM claim c JOIN source s ON s.claim_id = c.id WHERE c.investigation_id = :id ORDER BY c.ordinal, s.ordinal
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finished(Investigated):
    id: UUID
    checked_at: datetime
    corroboration_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Investigation(_Finished):
    """An investigation with its findings. `author_id`: only if the site confirmed the author."""

    content_hash: str
    provider: str
    model: str
    prompt_version: str
    author_id: UUID | None
    claims: tuple[Claim, ...]
    withdrawn: tuple[WithdrawnClaim, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(_Finished):
    """An investigation in API lists; title and author only in lists over several posts."""

    content_hash: str
    claim_count: int
    claim_summaries: tuple[ClaimSummary, ...]
    title: str | None = None
    author_name: str | None = None
    author_confirmed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Card(_Finished):
    """An investigation in lists of pages. `changed_at`: when a finding was last taken back or released."""

    provider: str
    title: str | None
    author_name: str | None
    author_confirmed: bool
    author_id: UUID | None
    claims: tuple[Claim, ...]
    withdrawn: tuple[WithdrawnClaim, ...] = ()
    changed_at: datetime | None = None

    @property
    def named_author(self) -> str | None:
        """The author if the site confirmed it, for texts in our own name."""
        return self.author_name if self.author_confirmed else None

    @property
    def updated_at(self) -> datetime:
        """When what is shown last changed."""
        return self.checked_at if self.changed_at is None else max(self.checked_at, self.changed_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Card):
    """An investigation with its text, for its page."""

    model: str
    model_version: str | None
    queued_at: datetime
    requested_by: str | None
    parent_investigation_id: UUID | None
    prompt_version: str
    prompt_hash: str
    content_hash: str
    markdown_source: str
    markdown_renderer_version: str | None
    markdown: str | None
    version_id: UUID
    first_seen_at: datetime
    seen_count: int
    content_text: str
    word_count: int
    newest_version_id: UUID
    unverified_because: str | None
    signing_key: str | None
    proof_sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """The fields to highlight a search in: heading, findings, and the text around the match."""

    id: UUID
    title: str | None
    author_name: str | None
    url: str | None
    claims: tuple[Claim, ...]
    begins_before: bool
    text: str
    goes_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCheck:
    """One check of a cited page; `archived_copy` is where this server shows the page as fetched."""

    claim_id: UUID
    url: str
    status: str
    reason: str | None
    final_url: str | None
    page_hash: str | None
    size_bytes: int | None
    media_type: str | None
    fetched_at: datetime | None
    archived_copy: str | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The stored snapshot of a source at publication. `ordinal`: the source's index in its finding."""

    claim_id: UUID
    ordinal: int
    snapshot_hash: str | None
    retrieved_at: datetime | None


class Investigations(Queries):
    """Queries of finished investigations."""

    async def one(self, investigation_id: UUID) -> Investigation | None:
        """An investigation with its findings, or None."""
        return await self._one(Investigation, _ONE, id=investigation_id)

    async def report(self, investigation_id: UUID) -> Report | None:
        """An investigation with its post and text, or None."""
        return await self._one(Report, _REPORT, id=investigation_id)

    async def of_post(self, platform: str, external_id: str) -> list[Summary]:
        """The investigations of a post, newest first."""
        return await self._all(Summary, _OF_POST, id=post_id(PostRef(platform=platform, external_id=external_id)))

    async def summaries(self, ids: Sequence[UUID]) -> list[Summary]:
        """The investigations with these ids, in their order."""
        return await self._all(Summary, _SUMMARIES, ids=list(ids)) if ids else []

    async def cards(self, ids: Sequence[UUID]) -> list[Card]:
        """The cards of the investigations with these ids, in their order."""
        return await self._all(Card, _CARDS, ids=list(ids)) if ids else []

    async def passages(self, ids: Sequence[UUID], found: str) -> dict[UUID, Passage]:
        """The passages around a search's match, by investigation."""
        rows = await self._all(Passage, _PASSAGES, ids=list(ids), found=found) if ids else []
        return {row.id: row for row in rows}

    async def source_checks(self, investigation_id: UUID) -> list[SourceCheck]:
        """The newest check of each source of the investigation's findings."""
        return await self._all(SourceCheck, _CHECKS, id=investigation_id)

    async def snapshots(self, investigation_id: UUID) -> list[Snapshot]:
        """The stored snapshot of each source of the investigation's findings at publication."""
        return await self._all(Snapshot, _SNAPSHOTS, id=investigation_id)

    async def media_type(self, sha256: str) -> str | None:
        """The media type of the archived page with this hash, if a published finding cites it."""
        return (await self._scalars(_COPY, hash=sha256)).first()
