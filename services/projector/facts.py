"""A fact, read from its stored bytes, with what it needs to exist before it and what exists because of it.

Two replicas may publish cause and effect in the wrong order. A fact whose need is not met waits for it; applied without
it, it would be lost silently, because the row it changes is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from contracts.v1 import (
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    Event,
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
    VersionRegistered,
    VersionSeen,
    VersionVerified,
)
from contracts.v1.parts import TextRef
from contracts.v1.version import VersionEvent


@dataclass(frozen=True, slots=True)
class Fact:
    """One event and its place. Units: `at` is when it occurred, UTC."""

    sequence: int
    id: UUID
    at: datetime
    correlation: UUID
    event: Event


@dataclass(frozen=True, slots=True)
class Need:
    """Something a fact speaks of: a version's, investigation's or claim's row, or an investigation's frozen input."""

    kind: Literal["version", "investigation", "started", "claim"]
    id: UUID

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


NOTHING: Final[tuple[Need, ...]] = ()


def needs(event: Event) -> tuple[Need, ...]:
    """What must exist before the fact can be applied."""
    match event:
        case VersionSeen() | VersionVerified() | InvestigationRequested() | InvestigationStarted():
            return (Need("version", event.version_id),)
        case (
            InvestigationAdvanced() | InvestigationDrafted() | InvestigationRetryScheduled() | InvestigationCompleted()
        ):
            return (Need("started", event.investigation_id),)
        case InvestigationFailed() | ClaimProposed() | ClaimRetained():
            return (Need("investigation", event.investigation_id),)
        case ClaimApproved() | ClaimRejected() | ClaimValidationFailed() | ClaimValidationRetryScheduled():
            return (Need("claim", event.claim_id),)
    return NOTHING


def makes(event: Event) -> tuple[Need, ...]:
    """What exists once the fact is applied."""
    match event:
        case VersionRegistered():
            return (Need("version", event.version_id),)
        case InvestigationRequested():
            return (Need("investigation", event.investigation_id),)
        case InvestigationStarted():
            return (Need("investigation", event.investigation_id), Need("started", event.investigation_id))
        case ClaimProposed() | ClaimRetained():
            return (Need("claim", event.claim_id),)
    return NOTHING


def has_texts(event: Event) -> bool:
    """Whether the fact may refer to texts without which it means nothing."""
    return isinstance(event, VersionEvent | InvestigationStarted)


def has_distant_texts(event: Event) -> bool:
    """Whether some text the fact brings lies elsewhere."""
    return any(ref.inline is None for refs in (contents, pages) for ref in refs(event))


def pages(event: Event) -> Iterator[TextRef]:
    """The HTML a fact refers to."""
    if isinstance(event, VersionEvent):
        for ref in (event.sighting.server_html, event.sighting.client_html):
            if ref is not None:
                yield ref


def contents(event: Event) -> Iterator[TextRef]:
    """The normalised text a fact brings."""
    if isinstance(event, VersionRegistered):
        yield event.content


def snapshots(event: Event) -> Iterator[TextRef]:
    """The texts frozen with an investigation's input."""
    if isinstance(event, InvestigationStarted):
        for ref in (event.input.markdown, event.input.content_diff):
            if ref is not None:
                yield ref
