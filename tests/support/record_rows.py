"""Rows of the public record for tests that need no database."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from services.gateway.record.investigations import Card, SourceCheck
from services.gateway.record.rows import Claim
from services.gateway.record.runs import Candidate

AT = datetime(2026, 1, 5, 9, tzinfo=UTC)


def a_claim(text: str, summary: str, context: str = "") -> Claim:
    """A finding."""
    return Claim("c", text, context, summary, "", ())


def a_card(*claims: Claim) -> Card:
    """A finished investigation of a post without a heading."""
    return Card(
        id=UUID(int=1),
        checked_at=AT,
        corroboration_count=0,
        provenance="CLIENT_FALLBACK",
        server_verified_at=None,
        corroborated_at=None,
        platform="X",
        external_id="1",
        url="https://x.example/p",
        provider="OPENAI",
        title=None,
        author_name=None,
        author_confirmed=False,
        author_id=None,
        claims=claims,
    )


def a_check(status: str) -> SourceCheck:
    """A look at a source."""
    return SourceCheck(
        claim_id=UUID(int=2),
        url="https://s.example",
        status=status,
        reason=None,
        final_url=None,
        page_hash=None,
        size_bytes=None,
        media_type=None,
        fetched_at=None,
        archived_copy=None,
    )


def a_candidate(state: str, gate: str | None = None, retained_from: UUID | None = None) -> Candidate:
    """A candidate that says nothing."""
    return Candidate(
        gates=(),
        claim_id=UUID(int=2),
        attempt=1,
        state=state,
        gate=gate,
        proposed_at=AT,
        decided_at=None,
        retained_from=retained_from,
        model=None,
        total_tokens=None,
        transcript_hash=None,
        failures=(),
        payload=None,
    )
