"""Facts and their parts with everything filled in; a test names only what it is about.

One small story runs through the defaults: a LessWrong post with one wrong sentence, seen by a reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from contracts.v1 import (
    CanonicalFetched,
    CanonicalUnavailable,
    ClaimApproved,
    ClaimHeld,
    ClaimProposed,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    ClaimValidationStarted,
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
    ObservationReceived,
)
from contracts.v1.ids import claim_id, investigation_id, post_id, version_id
from contracts.v1.pages import CanonicalPage, Observation
from contracts.v1.parts import ClaimPayload, InvestigationInput, ModelName, PostRef, Prompt, Source, TextRef, Usage

NOW = datetime(2026, 3, 4, 5, 6, 7, 89_000, tzinfo=UTC)
QUOTE = "Mount Everest was first climbed in 1963."
OTHER_QUOTE = "The mountain lies in Bolivia."
TEXT = f"Some history. {QUOTE} Then came many more. {OTHER_QUOTE} That is all."
POST = PostRef(platform="LESSWRONG", external_id="abcDEF123456789xy")
POST_ID = post_id(POST)
OBSERVATION_ID = UUID("01960000-0000-7000-8000-000000000001")
VERSION_ID = version_id(POST_ID, sha256(TEXT.encode()).hexdigest())
INVESTIGATION_ID = investigation_id(VERSION_ID, "FACT_CHECK")
URL = f"https://www.lesswrong.com/posts/{POST.external_id}/a-mountain"
MODEL = ModelName(provider="OPENAI", model="a-model", version="a-model-2026-01-01")


def text_ref(text: str) -> TextRef:
    """A text that travels inside the event."""
    data = text.encode()
    return TextRef(sha256=sha256(data).hexdigest(), size_bytes=len(data), inline=text)


def observation(**given: Any) -> Observation:
    """What a reader's browser saw."""
    return Observation(
        **{
            "observation_id": OBSERVATION_ID,
            "post": POST,
            "url": URL,
            "html": text_ref(f"<p>{TEXT}</p>"),
            "metadata": {"slug": "a-mountain", "author_name": "Ada", "author_slug": "ada"},
            **given,
        }
    )


def page(html: str = f"<p>{TEXT}</p>", **given: Any) -> CanonicalPage:
    """What the site served."""
    return CanonicalPage(
        **{"post": POST, "source_url": URL, "html": text_ref(html), "fetched_at": NOW, **given},
    )


def received(seen: Observation | None = None) -> ObservationReceived:
    """The gateway accepted an observation."""
    return ObservationReceived(observation=seen or observation())


def fetched(seen: Observation | None = None, served: CanonicalPage | None = None) -> CanonicalFetched:
    """The site served the page."""
    return CanonicalFetched(observation=seen or observation(), page=served or page())


def unavailable(seen: Observation | None = None) -> CanonicalUnavailable:
    """The site did not serve the page."""
    return CanonicalUnavailable(observation=seen or observation(), reason="timeout")


def payload(quote: str = QUOTE, **given: Any) -> ClaimPayload:
    """A sentence found wrong, verbatim in TEXT by default."""
    return ClaimPayload(
        **{
            "text": quote,
            "context": quote,
            "summary": "It is otherwise.",
            "reasoning": "The record says so.",
            "sources": (Source(url="https://example.org/record", title="A record", snippet="It is otherwise."),),
            **given,
        }
    )


def snapshot(text: str = TEXT, **given: Any) -> InvestigationInput:
    """What a run investigates."""
    return InvestigationInput(
        **{"provenance": "SERVER_VERIFIED", "platform": "LESSWRONG", "url": URL, "content": text_ref(text), **given}
    )


def requested(**given: Any) -> InvestigationRequested:
    """An investigation is requested."""
    return InvestigationRequested(
        **{
            "investigation_id": INVESTIGATION_ID,
            "version_id": VERSION_ID,
            "post_id": POST_ID,
            "analysis": "FACT_CHECK",
            "origin": "ORIGINAL",
            "requested_by": "READER",
            **given,
        }
    )


def started(attempt: int = 1, **given: Any) -> InvestigationStarted:
    """An attempt begins."""
    return InvestigationStarted(
        **{
            "investigation_id": INVESTIGATION_ID,
            "version_id": VERSION_ID,
            "post_id": POST_ID,
            "analysis": "FACT_CHECK",
            "attempt": attempt,
            "worker": "worker-1",
            "input": snapshot(),
            "prompt": Prompt(version="prompt-1", sha256=sha256(b"Look.").hexdigest(), text="Look."),
            "model": MODEL,
            **given,
        }
    )


def advanced(segment: int = 1, before: int | None = None, **given: Any) -> InvestigationAdvanced:
    """The model has answered and wants to go on; segments are known by their numbers here."""
    return InvestigationAdvanced(
        **{
            "investigation_id": INVESTIGATION_ID,
            "attempt": 1,
            "calls": segment,
            "before": None if before is None else text_ref(f"segment {before}").sha256,
            "segment": text_ref(f"segment {segment}"),
            "usage": Usage(input_tokens=10, output_tokens=5, total_tokens=15),
            **given,
        }
    )


def drafted(attempt: int = 1, claims: Sequence[UUID] = (), **given: Any) -> InvestigationDrafted:
    """The model has finished looking."""
    return InvestigationDrafted(
        **{
            "investigation_id": INVESTIGATION_ID,
            "attempt": attempt,
            "claim_ids": tuple(claims),
            "model": MODEL,
            "usage": Usage(input_tokens=10, output_tokens=5, total_tokens=15),
            "transcript": text_ref("{}"),
            **given,
        }
    )


def retry_scheduled(attempt: int = 1, **given: Any) -> InvestigationRetryScheduled:
    """An attempt failed in a way that may pass."""
    return InvestigationRetryScheduled(
        **{
            "investigation_id": INVESTIGATION_ID,
            "attempt": attempt,
            "failure": "TRANSIENT",
            "reason": "the provider is busy",
            "retry_at": NOW,
            **given,
        }
    )


def completed(**given: Any) -> InvestigationCompleted:
    """The investigation is over."""
    return InvestigationCompleted(
        **{
            "investigation_id": INVESTIGATION_ID,
            "version_id": VERSION_ID,
            "post_id": POST_ID,
            "analysis": "FACT_CHECK",
            "attempt": 1,
            "model": MODEL,
            **given,
        }
    )


def failed(attempt: int = 1, **given: Any) -> InvestigationFailed:
    """The investigation ended without a result."""
    return InvestigationFailed(
        **{
            "investigation_id": INVESTIGATION_ID,
            "version_id": VERSION_ID,
            "attempt": attempt,
            "failure": "NON_RETRYABLE",
            "reason": "the provider refused",
            **given,
        }
    )


def claim_of(quote: str = QUOTE) -> UUID:
    """The id of the claim about a quote."""
    return claim_id(INVESTIGATION_ID, quote, quote)


def proposed(quote: str = QUOTE, **given: Any) -> ClaimProposed:
    """The model submitted a candidate."""
    return ClaimProposed(
        **{
            "investigation_id": INVESTIGATION_ID,
            "claim_id": claim_of(quote),
            "version_id": VERSION_ID,
            "analysis": "FACT_CHECK",
            "attempt": 1,
            "ordinal": 0,
            "payload": payload(quote),
            **given,
        }
    )


def retained(quote: str = QUOTE, **given: Any) -> ClaimRetained:
    """An update run kept a finding of the earlier version."""
    return ClaimRetained(
        **{
            "investigation_id": INVESTIGATION_ID,
            "claim_id": claim_of(quote),
            "retained_from": UUID(int=7),
            "ordinal": 0,
            "payload": payload(quote),
            **given,
        }
    )


def approved(quote: str = QUOTE, **given: Any) -> ClaimApproved:
    """The candidate withstood validation."""
    return ClaimApproved(
        **{
            "investigation_id": INVESTIGATION_ID,
            "claim_id": claim_of(quote),
            "version_id": VERSION_ID,
            "payload": payload(quote),
            **given,
        }
    )


def held(quote: str = QUOTE, **given: Any) -> ClaimHeld:
    """An approval that nobody is shown yet."""
    approval = approved(quote, **given)
    return ClaimHeld(
        investigation_id=approval.investigation_id,
        claim_id=approval.claim_id,
        round=approval.round,
        approval=approval,
        held_at=NOW,
    )


def rejected(quote: str = QUOTE, **given: Any) -> ClaimRejected:
    """The candidate was rejected."""
    return ClaimRejected(
        **{
            "investigation_id": INVESTIGATION_ID,
            "claim_id": claim_of(quote),
            "gate": "model",
            "reason": "the evidence is weak",
            **given,
        }
    )


def validation_failed(quote: str = QUOTE, **given: Any) -> ClaimValidationFailed:
    """No verdict was possible."""
    return ClaimValidationFailed(
        **{
            "investigation_id": INVESTIGATION_ID,
            "claim_id": claim_of(quote),
            "failure": "TRANSIENT",
            "reason": "the provider is busy",
            **given,
        }
    )


def validation_retry_scheduled(quote: str = QUOTE, attempt: int = 1, **given: Any) -> ClaimValidationRetryScheduled:
    """A review failed in a way that may pass."""
    return ClaimValidationRetryScheduled(
        **{
            "investigation_id": INVESTIGATION_ID,
            "claim_id": claim_of(quote),
            "review_attempt": attempt,
            "failure": "TRANSIENT",
            "reason": "the provider is busy",
            "retry_at": NOW,
            **given,
        }
    )


def validation_started(quote: str = QUOTE, **given: Any) -> ClaimValidationStarted:
    """A model is about to be asked about the candidate."""
    return ClaimValidationStarted(
        **{
            "investigation_id": INVESTIGATION_ID,
            "claim_id": claim_of(quote),
            "attempt": 1,
            "delivery_count": 1,
            **given,
        }
    )
