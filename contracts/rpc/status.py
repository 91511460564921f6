"""The status of a version: requests and answers, one class per state.

An answer has exactly the keys of its state. None of them is optional: a state with other keys is another class, so that
no key can be missing or superfluous.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from contracts.rpc.values import Count, Identifier, Instant, NonEmpty, PlatformName, Request, Sha256Hex, Wire
from contracts.v1.parts import ClaimPayload, Provenance, PublishedClaim

MAX_BATCH: Final = 100


class SourceOut(Wire):
    url: str
    title: str
    snippet: str


class PayloadOut(Wire):
    """A candidate, which has no id yet."""

    text: str
    context: str
    summary: str
    reasoning: str
    sources: tuple[SourceOut, ...]


class ClaimOut(PayloadOut):
    """A finding."""

    id: NonEmpty


class PriorResult(Wire):
    """The findings in an earlier, verified version of the same post."""

    old_claims: tuple[ClaimOut, ...]
    source_investigation_id: NonEmpty


class VersionId(Request):
    """Input of `recordViewAndGetStatus` and `investigateNow`."""

    post_version_id: NonEmpty


class PostHint(Request):
    """Input of `post.hint`: a post as its site names it."""

    platform: PlatformName
    external_id: Identifier


class InvestigationId(Request):
    """Input of `getInvestigation`."""

    investigation_id: NonEmpty


class NotInvestigated(Wire):
    investigation_state: Literal["NOT_INVESTIGATED"] = "NOT_INVESTIGATED"
    prior_investigation_result: PriorResult | None


class DetailedNotInvestigated(NotInvestigated):
    """For clients that accept optional fields. `view_count`: distinct readers, counted as for selection."""

    view_count: Count


class Investigating(Wire):
    investigation_state: Literal["INVESTIGATING"] = "INVESTIGATING"
    status: Literal["PENDING", "PROCESSING"]
    provenance: Provenance
    pending_claims: tuple[PayloadOut, ...]
    confirmed_claims: tuple[PayloadOut, ...]
    prior_investigation_result: PriorResult | None


class DetailedInvestigating(Investigating):
    """For clients that accept optional fields: the id to poll, and the number of readers."""

    investigation_id: NonEmpty
    view_count: Count


class Investigated(Wire):
    investigation_state: Literal["INVESTIGATED"] = "INVESTIGATED"
    provenance: Provenance
    claims: tuple[ClaimOut, ...]


class DetailedInvestigated(Investigated):
    """For clients that accept optional fields: the id of the public page, and the numbers of readers and vouchers."""

    investigation_id: NonEmpty
    view_count: Count
    corroboration_count: Count


class DatedInvestigated(Investigated):
    """With the date, which only `getInvestigation` sends, and always sends."""

    checked_at: Instant


class Failed(Wire):
    investigation_state: Literal["FAILED"] = "FAILED"
    provenance: Provenance


ViewStatus = DetailedNotInvestigated | NotInvestigated | DetailedInvestigating | DetailedInvestigated | Investigated
InvestigationStatus = NotInvestigated | Investigating | DatedInvestigated | Failed


class Queued(Wire):
    """Answer of `investigateNow` while there is no result."""

    investigation_id: NonEmpty
    status: Literal["PENDING", "PROCESSING", "FAILED"]
    provenance: Provenance


class AlreadyComplete(Wire):
    """Answer of `investigateNow` if there is a result."""

    investigation_id: NonEmpty
    status: Literal["COMPLETE"] = "COMPLETE"
    provenance: Provenance
    claims: tuple[ClaimOut, ...]


InvestigateNowAnswer = Queued | AlreadyComplete


class VersionKey(Request):
    """A version by its content, for pages that list posts."""

    platform: PlatformName
    external_id: NonEmpty
    version_hash: Sha256Hex


class BatchQuestion(Request):
    posts: Annotated[tuple[VersionKey, ...], Field(min_length=1, max_length=MAX_BATCH, fail_fast=True)]


class ListedStatus(Wire):
    platform: PlatformName
    external_id: NonEmpty
    investigation_state: Literal["NOT_INVESTIGATED", "INVESTIGATED"]
    incorrect_claim_count: Count


class BatchAnswer(Wire):
    """One status per requested version, in order, with duplicates."""

    statuses: tuple[ListedStatus, ...]


class KeyMissingOrValid(Wire):
    instance_api_key_accepted: bool
    openai_api_key_status: Literal["missing", "valid"]


class KeyRefusedOut(Wire):
    instance_api_key_accepted: bool
    openai_api_key_status: Literal["format_invalid", "authenticated_restricted", "invalid", "error"]
    openai_api_key_message: NonEmpty


SettingsAnswer = KeyMissingOrValid | KeyRefusedOut


def payload_out(payload: ClaimPayload) -> PayloadOut:
    """A candidate in its wire format."""
    return PayloadOut(
        text=payload.text,
        context=payload.context,
        summary=payload.summary,
        reasoning=payload.reasoning,
        sources=_sources(payload),
    )


def claim_out(claim: PublishedClaim) -> ClaimOut:
    """A finding in its wire format."""
    payload = claim.payload
    return ClaimOut(
        id=str(claim.claim_id),
        text=payload.text,
        context=payload.context,
        summary=payload.summary,
        reasoning=payload.reasoning,
        sources=_sources(payload),
    )


def _sources(payload: ClaimPayload) -> tuple[SourceOut, ...]:
    return tuple(SourceOut(url=source.url, title=source.title, snippet=source.snippet) for source in payload.sources)
