"""The closed list of events, and the one place that decodes them."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Final
from uuid import UUID

import orjson
from pydantic import ValidationError, create_model

from contracts.v1.appeal import AppealDecided, AppealOpened, AppealProofChecked, AppealProofOffered
from contracts.v1.assertion import AssertionAnalysed, AssertionAnalysisRequested, AssertionInvalidated
from contracts.v1.breaker import BreakerChanged
from contracts.v1.canonical import CanonicalFetched, CanonicalUnavailable
from contracts.v1.claim import (
    ClaimApproved,
    ClaimHeld,
    ClaimHoldEnded,
    ClaimProposed,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    ClaimValidationStarted,
)
from contracts.v1.control import ControlCommitted, ControlOpened
from contracts.v1.credit import CreditPosted
from contracts.v1.edit import EditMade
from contracts.v1.entity_erasure import EntityErasureOrdered
from contracts.v1.entry import EntryPublished, EntryStaled
from contracts.v1.erasure import ErasureOrdered
from contracts.v1.event import PREFIX as PREFIX
from contracts.v1.event import Envelope, Event
from contracts.v1.event import OnceEvent as OnceEvent
from contracts.v1.finding import FindingChanged
from contracts.v1.flag import FlagRaised, FlagResolved
from contracts.v1.integrity import IntegrityAnomalyDetected
from contracts.v1.investigation import (
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
)
from contracts.v1.job import (
    JobEnded,
    JobExtracted,
    JobFetched,
    JobIdempotencyKeyBound,
    JobPlanned,
    JobRequested,
    JobResolved,
)
from contracts.v1.label import LabelIssued
from contracts.v1.llm_stage import LlmStageConfigured
from contracts.v1.log import LogChanged
from contracts.v1.metric import MetricSampled
from contracts.v1.observation import ObservationReceived, ObservationUnverifiable
from contracts.v1.pattern import PatternRecorded
from contracts.v1.post import PostHinted, PostViewed
from contracts.v1.publisher import PublisherEpochClosed, PublisherRated, PublisherScored
from contracts.v1.retention import RetentionPurged
from contracts.v1.review import ReviewDecided, ReviewSampled
from contracts.v1.run import RunAdvanced, RunFailed, RunRetryScheduled, RunStarted
from contracts.v1.variant import VariantChanged
from contracts.v1.version import VersionRegistered, VersionSeen, VersionVerified

EVENTS: Final[tuple[type[Event], ...]] = (
    ObservationReceived,
    ObservationUnverifiable,
    CanonicalFetched,
    CanonicalUnavailable,
    VersionRegistered,
    VersionSeen,
    VersionVerified,
    PostViewed,
    PostHinted,
    IntegrityAnomalyDetected,
    InvestigationRequested,
    InvestigationStarted,
    InvestigationAdvanced,
    InvestigationDrafted,
    InvestigationRetryScheduled,
    InvestigationCompleted,
    InvestigationFailed,
    ClaimProposed,
    ClaimRetained,
    ClaimValidationStarted,
    ClaimApproved,
    ClaimHeld,
    ClaimHoldEnded,
    ClaimRejected,
    ClaimValidationRetryScheduled,
    ClaimValidationFailed,
    FindingChanged,
    AppealOpened,
    AppealProofOffered,
    AppealProofChecked,
    AppealDecided,
    ReviewSampled,
    ReviewDecided,
    LogChanged,
    VariantChanged,
    BreakerChanged,
    ControlCommitted,
    ControlOpened,
    ErasureOrdered,
    JobIdempotencyKeyBound,
    JobRequested,
    JobFetched,
    JobExtracted,
    JobPlanned,
    JobResolved,
    JobEnded,
    RunStarted,
    RunAdvanced,
    RunRetryScheduled,
    RunFailed,
    AssertionAnalysisRequested,
    AssertionAnalysed,
    AssertionInvalidated,
    CreditPosted,
    LlmStageConfigured,
    EntryPublished,
    EntryStaled,
    EditMade,
    FlagRaised,
    FlagResolved,
    MetricSampled,
    PatternRecorded,
    RetentionPurged,
    EntityErasureOrdered,
    LabelIssued,
    PublisherScored,
    PublisherRated,
    PublisherEpochClosed,
)

DECODED: Final = 256
"""The number of newest messages that stay decoded: the folds of a busy process are about a hundred apart."""
_ENVELOPES: Final[dict[str, type[Envelope]]] = {
    event.SUBJECT: create_model(f"{event.__name__}Envelope", __base__=Envelope, event=(event, ...)) for event in EVENTS
}


def envelope_type(event: type[Event]) -> type[Envelope]:
    """The stored form of an event's class; its JSON Schema is the contract."""
    return _ENVELOPES[event.SUBJECT]


class Undecodable(ValueError):
    """A message is not the event that its subject names."""


class UnknownEvent(Undecodable):
    """A message is an event of a kind that is not known here: a newer version may have published it."""


@lru_cache(DECODED)
def decode(subject: str, body: bytes) -> Envelope:
    """Decode a stored message, once for several readers in one process that get it soon after each other.

    Raises: UnknownEvent: unknown subject. Undecodable: malformed bytes, or a key that is not the subject's.
    """
    name, _, key = subject.rpartition(".")
    envelope_type = _ENVELOPES.get(name)
    if envelope_type is None:
        raise UnknownEvent(f"unknown subject {subject!r}")
    try:
        envelope = envelope_type.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise Undecodable(f"{subject}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if envelope.event.key() != key:
        raise Undecodable(f"{subject}: holds the event of {envelope.event.key()!r}")
    return envelope


def encode_parts(
    event: Event,
    event_id: UUID,
    occurred_at: datetime,
    correlation: UUID,
    cause: UUID | None,
    salt: str | None = None,
) -> bytes:
    """Encode an envelope as compact JSON without fields that are None. No model is built: publishing is a hot path."""
    fields: dict[str, object] = {"id": event_id, "occurred_at": occurred_at, "correlation": correlation}
    if cause is not None:
        fields["cause"] = cause
    if salt is not None:
        fields["salt"] = salt
    fields["event"] = orjson.Fragment(event.model_dump_json(exclude_none=True))
    return orjson.dumps(fields, option=orjson.OPT_UTC_Z)
