"""The public JSON document of one finished investigation."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from contracts.rpc.audit import Audit
from contracts.rpc.status import ClaimOut
from contracts.rpc.values import Instant, NonEmpty, Wire
from contracts.v1.finding import FindingCause
from contracts.v1.parts import Provenance


class Origin(Wire):
    """Where the text came from: `server_verified_at` is null while only readers vouch for the text, `corroborated_at`
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


class WithdrawnClaim(Wire):
    """A finding that was published and is suspended (for now) or retracted (for good); only a retracted one has a
    `summary`.
    """

    id: UUID
    text: str
    summary: str | None
    state: Literal["SUSPENDED", "RETRACTED"]
    cause: FindingCause
    note: str
    changed_at: Instant


class AuthorStatement(Wire):
    """A statement of the post's proven author about a finding; a newer one replaces it."""

    claim_id: UUID
    appeal_id: UUID
    text: str
    stated_at: Instant


class LoggedDecision(Wire):
    """A leaf of the decision log about this investigation; `proof` is the address of its C2SP tlog-proof."""

    index: int
    kind: NonEmpty
    recorded_at: Instant
    proof: NonEmpty


class PublicResult(Wire):
    """Post, investigation and published findings; without findings, nothing is shown as wrong."""

    investigation: PublicInvestigation
    post: PublicPost
    claims: tuple[ClaimOut, ...]
    withdrawn_claims: tuple[WithdrawnClaim, ...] = ()
    author_statements: tuple[AuthorStatement, ...] = ()
    source_checks: tuple[SourceCheck, ...] = ()
    decisions: tuple[LoggedDecision, ...] = ()
    audit: Audit | None = None
