"""A fact, read from its stored bytes, with what it needs to exist before it and what exists because of it.

Two replicas may publish cause and effect in the wrong order. A fact whose need is not met waits for it; applied without
it, it would be lost silently, because the row it changes is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Final, Literal, NamedTuple, get_args
from uuid import UUID

from contracts.v1 import (
    AssertionAnalysed,
    AssertionAnalysisRequested,
    AssertionInvalidated,
    ClaimApproved,
    ClaimHeld,
    ClaimProposed,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    EditMade,
    EntryPublished,
    EntryStaled,
    Event,
    FlagRaised,
    FlagResolved,
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
    JobEnded,
    JobExtracted,
    JobFetched,
    JobPlanned,
    JobRequested,
    JobResolved,
    RunAdvanced,
    RunFailed,
    RunRetryScheduled,
    RunStarted,
    VersionRegistered,
    VersionSeen,
    VersionVerified,
)
from contracts.v1.parts import EphemeralRef, TextRef
from contracts.v1.version import VersionEvent


@dataclass(frozen=True, slots=True)
class Fact:
    """One event and its place. Units: `at` is when it occurred, UTC."""

    sequence: int
    id: UUID
    at: datetime
    correlation: UUID
    event: Event


Kind = Literal[
    "version", "investigation", "started", "claim", "job", "extracted", "run", "assertion", "analysis", "entry"
]


class Need(NamedTuple):
    """Something a fact refers to: the row of what it is about, a frozen input, or the claims of a job."""

    kind: Kind
    id: UUID

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


_WORDS: Final[dict[type[Event], tuple[str, ...]]] = {
    AssertionAnalysisRequested: ("words",),
    AssertionAnalysed: ("body",),
    EditMade: ("reason", "before", "after"),
    FlagRaised: ("description",),
    FlagResolved: ("note",),
}
_WITH_TEXTS: Final = frozenset((VersionRegistered, VersionSeen, VersionVerified, InvestigationStarted))
_OTHERWISE: Final = {"started": "investigation_id", "extracted": "job_id"}
_IDS: Final = {kind: attrgetter(_OTHERWISE.get(kind, f"{kind}_id")) for kind in get_args(Kind)}
"""Reads the id of each kind from an event."""
_NEEDS: Final[dict[type[Event], Kind]] = {
    VersionSeen: "version",
    VersionVerified: "version",
    InvestigationRequested: "version",
    InvestigationStarted: "version",
    InvestigationAdvanced: "started",
    InvestigationDrafted: "started",
    InvestigationRetryScheduled: "started",
    InvestigationCompleted: "started",
    InvestigationFailed: "investigation",
    ClaimProposed: "investigation",
    ClaimRetained: "investigation",
    ClaimHeld: "claim",
    ClaimApproved: "claim",
    ClaimRejected: "claim",
    ClaimValidationFailed: "claim",
    ClaimValidationRetryScheduled: "claim",
    JobFetched: "job",
    JobExtracted: "job",
    JobPlanned: "extracted",
    JobResolved: "extracted",
    JobEnded: "job",
    RunAdvanced: "run",
    RunRetryScheduled: "run",
    AssertionAnalysed: "assertion",
    EntryPublished: "assertion",
    EntryStaled: "entry",
    EditMade: "entry",
}
_MAKES: Final[dict[type[Event], tuple[Kind, ...]]] = {
    VersionRegistered: ("version",),
    InvestigationRequested: ("investigation",),
    InvestigationStarted: ("investigation", "started"),
    ClaimProposed: ("claim",),
    ClaimRetained: ("claim",),
    JobRequested: ("job",),
    JobExtracted: ("extracted",),
    RunStarted: ("run",),
    AssertionAnalysisRequested: ("assertion",),
    AssertionAnalysed: ("analysis",),
    EntryPublished: ("entry",),
}


def find_need(event: Event) -> Need | None:
    """What must exist before the fact can be applied."""
    kind = _NEEDS.get(type(event))
    if kind is None:
        if type(event) is RunFailed and event.attempt:
            kind = "run"
        elif type(event) is AssertionInvalidated:
            kind = "assertion" if event.analysis_id is None else "analysis"
    return None if kind is None else Need(kind, _IDS[kind](event))


def makes(event: Event) -> tuple[Need, ...]:
    """What exists once the fact is applied."""
    return tuple([Need(kind, _IDS[kind](event)) for kind in _MAKES.get(type(event), ())])


def has_texts(event: Event) -> bool:
    """Whether the fact may refer to texts that it requires."""
    return type(event) in _WITH_TEXTS


def has_distant_texts(event: Event) -> bool:
    """Whether a text of the fact is not inline."""
    return any(ref.inline is None for refs in (content_refs, page_refs) for ref in refs(event))


def page_refs(event: Event) -> Iterator[TextRef]:
    """The HTML a fact refers to."""
    if isinstance(event, VersionEvent):
        for ref in (event.sighting.server_html, event.sighting.client_html):
            if ref is not None:
                yield ref


def content_refs(event: Event) -> Iterator[TextRef]:
    """The normalised text a fact brings."""
    if isinstance(event, VersionRegistered):
        yield event.content


def snapshot_refs(event: Event) -> Iterator[TextRef]:
    """The texts frozen with an investigation's input."""
    if isinstance(event, InvestigationStarted):
        for ref in (event.input.markdown, event.input.content_diff):
            if ref is not None:
                yield ref


def find_words(event: Event) -> Iterator[EphemeralRef]:
    """The expiring texts of a fact that the tables show while they are kept."""
    for name in _WORDS.get(type(event), ()):
        yield getattr(event, name)
