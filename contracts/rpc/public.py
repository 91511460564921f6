"""The public JSON document of one finished investigation."""

from __future__ import annotations

from uuid import UUID

from contracts.rpc.audit import Audit
from contracts.rpc.status import ClaimOut
from contracts.rpc.values import Instant, NonEmpty, Wire
from contracts.v1.parts import Provenance


class Origin(Wire):
    """Where the text came from: `server_verified_at` is null as long as only readers vouch for it, `corroborated_at`
    until enough of them do. Without either, a result is left out of lists, feeds and figures.
    """

    provenance: Provenance
    server_verified_at: Instant | None
    corroborated_at: Instant | None = None


class PublicInvestigation(Wire):
    id: NonEmpty
    content_hash: NonEmpty
    origin: Origin
    corroboration_count: int
    checked_at: Instant
    prompt_version: str
    provider: str
    model: str


class PublicPost(Wire):
    platform: NonEmpty
    external_id: NonEmpty
    url: NonEmpty


class SourceCheck(Wire):
    """One check of a page that a finding cites; `archived_copy` is where this server shows the page as fetched."""

    claim_id: UUID
    url: str
    status: str
    reason: str | None
    final_url: str | None
    page_hash: str | None
    size_bytes: int | None
    media_type: str | None
    fetched_at: Instant | None
    archived_copy: str | None


class PublicResult(Wire):
    """Post, investigation and findings; without findings, nothing was found wrong."""

    investigation: PublicInvestigation
    post: PublicPost
    claims: tuple[ClaimOut, ...]
    source_checks: tuple[SourceCheck, ...] = ()
    audit: Audit | None = None
