"""The closed list of facts, and the one place that turns bytes into them."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

import orjson
from pydantic import ValidationError, create_model

from contracts.v1.canonical import CanonicalFetched, CanonicalUnavailable
from contracts.v1.claim import (
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    ClaimValidationStarted,
)
from contracts.v1.erasure import ErasureOrdered
from contracts.v1.event import PREFIX, Envelope, Event, OnceEvent
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
from contracts.v1.observation import ObservationReceived
from contracts.v1.post import PostViewed
from contracts.v1.version import VersionRegistered, VersionSeen, VersionVerified

EVENTS: Final[tuple[type[Event], ...]] = (
    ObservationReceived,
    CanonicalFetched,
    CanonicalUnavailable,
    VersionRegistered,
    VersionSeen,
    VersionVerified,
    PostViewed,
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
    ClaimRejected,
    ClaimValidationRetryScheduled,
    ClaimValidationFailed,
    ErasureOrdered,
)

_ENVELOPES: Final[dict[str, type[Envelope]]] = {
    event.SUBJECT: create_model(f"{event.__name__}Envelope", __base__=Envelope, event=(event, ...)) for event in EVENTS
}


def message(event: type[Event]) -> type[Envelope]:
    """What is stored when a fact of this class is published; its JSON Schema is the contract."""
    return _ENVELOPES[event.SUBJECT]


class Undecodable(ValueError):
    """The bytes on a subject are not the fact that the subject promises."""


def decode(subject: str, body: bytes) -> Envelope:
    """Turn a stored message into its envelope.

    Raises: Undecodable: for an unknown subject, malformed bytes, or a key that is not the subject's.
    """
    name, _, key = subject.rpartition(".")
    envelope_type = _ENVELOPES.get(name)
    if envelope_type is None:
        raise Undecodable(f"unknown subject {subject!r}")
    try:
        envelope = envelope_type.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise Undecodable(f"{subject}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if envelope.event.key() != key:
        raise Undecodable(f"{subject}: holds the event of {envelope.event.key()!r}")
    return envelope


def encode(envelope: Envelope) -> bytes:
    """The stored form of an envelope: compact JSON; a field that is None is left out."""
    return written(
        envelope.event, envelope.id, envelope.occurred_at, envelope.correlation, envelope.cause, envelope.salt
    )


def written(
    event: Event,
    event_id: UUID,
    occurred_at: datetime,
    correlation: UUID,
    cause: UUID | None,
    salt: str | None = None,
) -> bytes:
    """The stored form of a fact in its envelope, from its parts; every fact passes here, so no model is made."""
    fields: dict[str, object] = {"id": event_id, "occurred_at": occurred_at, "correlation": correlation}
    if cause is not None:
        fields["cause"] = cause
    if salt is not None:
        fields["salt"] = salt
    fields["event"] = orjson.Fragment(event.model_dump_json(exclude_none=True))
    return orjson.dumps(fields, option=orjson.OPT_UTC_Z)


__all__ = [
    "EVENTS",
    "PREFIX",
    "CanonicalFetched",
    "CanonicalUnavailable",
    "ClaimApproved",
    "ClaimProposed",
    "ClaimRejected",
    "ClaimRetained",
    "ClaimValidationFailed",
    "ClaimValidationRetryScheduled",
    "ClaimValidationStarted",
    "Envelope",
    "ErasureOrdered",
    "Event",
    "IntegrityAnomalyDetected",
    "InvestigationAdvanced",
    "InvestigationCompleted",
    "InvestigationDrafted",
    "InvestigationFailed",
    "InvestigationRequested",
    "InvestigationRetryScheduled",
    "InvestigationStarted",
    "ObservationReceived",
    "OnceEvent",
    "PostViewed",
    "Undecodable",
    "VersionRegistered",
    "VersionSeen",
    "VersionVerified",
    "decode",
    "encode",
    "message",
    "written",
]
