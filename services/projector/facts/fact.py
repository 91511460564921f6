"""A fact, read from its stored bytes, with what it needs to exist before it and what exists because of it.

Two replicas may publish cause and effect in the wrong order. A fact whose need is not met waits for it; applied without
it, it would be lost silently, because the row it changes is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple
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
from contracts.v1.claim import ClaimEvent
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


class Need(NamedTuple):
    """Something a fact refers to: the row of what it is about, a frozen input, or the claims of a job."""

    kind: Literal[
        "version", "investigation", "started", "claim", "job", "extracted", "run", "assertion", "analysis", "entry"
    ]
    id: UUID

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


Needs = tuple[Need, ...]
_WORDS: Final[dict[type[Event], tuple[str, ...]]] = {
    AssertionAnalysisRequested: ("words",),
    AssertionAnalysed: ("body",),
    EditMade: ("reason", "before", "after"),
    FlagRaised: ("description",),
    FlagResolved: ("note",),
}
_WITH_TEXTS: Final = frozenset((VersionRegistered, VersionSeen, VersionVerified, InvestigationStarted))


def _of_version(event: VersionEvent | InvestigationRequested | InvestigationStarted) -> Needs:
    return (Need("version", event.version_id),)


def _of_investigation(event: InvestigationRequested | InvestigationFailed | ClaimProposed | ClaimRetained) -> Needs:
    return (Need("investigation", event.investigation_id),)


def _of_input(
    event: InvestigationAdvanced | InvestigationDrafted | InvestigationRetryScheduled | InvestigationCompleted,
) -> Needs:
    return (Need("started", event.investigation_id),)


def _of_start(event: InvestigationStarted) -> Needs:
    return (Need("investigation", event.investigation_id), Need("started", event.investigation_id))


def _of_claim(event: ClaimEvent) -> Needs:
    return (Need("claim", event.claim_id),)


def _of_job(event: JobRequested | JobFetched | JobExtracted | JobEnded) -> Needs:
    return (Need("job", event.job_id),)


def _of_extraction(event: JobExtracted | JobPlanned | JobResolved) -> Needs:
    return (Need("extracted", event.job_id),)


def _of_run(event: RunStarted | RunAdvanced | RunRetryScheduled) -> Needs:
    return (Need("run", event.run_id),)


def _of_failed_run(event: RunFailed) -> Needs:
    return (Need("run", event.run_id),) if event.attempt else ()


def _of_assertion(event: AssertionAnalysisRequested | AssertionAnalysed) -> Needs:
    return (Need("assertion", event.assertion_id),)


def _of_entry(event: EntryPublished | EntryStaled | EditMade) -> Needs:
    return (Need("entry", event.entry_id),)


def _of_published(event: EntryPublished) -> Needs:
    return (Need("assertion", event.assertion_id),)


def _of_analysis(event: AssertionAnalysed) -> Needs:
    return (Need("analysis", event.analysis_id),)


def _of_invalidated(event: AssertionInvalidated) -> Needs:
    if event.analysis_id is None:
        return (Need("assertion", event.assertion_id),)
    return (Need("analysis", event.analysis_id),)


_NEEDS: Final[dict[type[Event], Callable[..., Needs]]] = {
    VersionSeen: _of_version,
    VersionVerified: _of_version,
    InvestigationRequested: _of_version,
    InvestigationStarted: _of_version,
    InvestigationAdvanced: _of_input,
    InvestigationDrafted: _of_input,
    InvestigationRetryScheduled: _of_input,
    InvestigationCompleted: _of_input,
    InvestigationFailed: _of_investigation,
    ClaimProposed: _of_investigation,
    ClaimRetained: _of_investigation,
    ClaimHeld: _of_claim,
    ClaimApproved: _of_claim,
    ClaimRejected: _of_claim,
    ClaimValidationFailed: _of_claim,
    ClaimValidationRetryScheduled: _of_claim,
    JobFetched: _of_job,
    JobExtracted: _of_job,
    JobPlanned: _of_extraction,
    JobResolved: _of_extraction,
    JobEnded: _of_job,
    RunAdvanced: _of_run,
    RunRetryScheduled: _of_run,
    RunFailed: _of_failed_run,
    AssertionAnalysed: _of_assertion,
    AssertionInvalidated: _of_invalidated,
    EntryPublished: _of_published,
    EntryStaled: _of_entry,
    EditMade: _of_entry,
}
_MAKES: Final[dict[type[Event], Callable[..., Needs]]] = {
    VersionRegistered: _of_version,
    InvestigationRequested: _of_investigation,
    InvestigationStarted: _of_start,
    ClaimProposed: _of_claim,
    ClaimRetained: _of_claim,
    JobRequested: _of_job,
    JobExtracted: _of_extraction,
    RunStarted: _of_run,
    AssertionAnalysisRequested: _of_assertion,
    AssertionAnalysed: _of_analysis,
    EntryPublished: _of_entry,
}


def needs(event: Event) -> Needs:
    """What must exist before the fact can be applied."""
    of = _NEEDS.get(type(event))
    return () if of is None else of(event)


def makes(event: Event) -> Needs:
    """What exists once the fact is applied."""
    of = _MAKES.get(type(event))
    return () if of is None else of(event)


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
    """The words of a fact that the tables show while they are kept."""
    for name in _WORDS.get(type(event), ()):
        yield getattr(event, name)
