"""docs/events.md, written from the contracts: every fact, what it means, who tells it and who listens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from contracts.topology import CONSUMERS, STREAMS, stream_of
from contracts.v1 import (
    EVENTS,
    PREFIX,
    AppealDecided,
    AppealOpened,
    AppealProofChecked,
    AppealProofOffered,
    AssertionAnalysed,
    AssertionAnalysisRequested,
    AssertionInvalidated,
    BreakerChanged,
    CanonicalFetched,
    CanonicalUnavailable,
    ClaimApproved,
    ClaimHeld,
    ClaimHoldEnded,
    ClaimProposed,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    ClaimValidationStarted,
    ControlCommitted,
    ControlOpened,
    CreditPosted,
    EditMade,
    EntityErasureOrdered,
    EntryPublished,
    EntryStaled,
    ErasureOrdered,
    Event,
    FindingChanged,
    FlagRaised,
    FlagResolved,
    IntegrityAnomalyDetected,
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
    JobIdempotencyKeyBound,
    JobPlanned,
    JobRequested,
    JobResolved,
    LabelIssued,
    LlmStageConfigured,
    LogChanged,
    MetricSampled,
    ObservationReceived,
    ObservationUnverifiable,
    OnceEvent,
    PatternRecorded,
    PostHinted,
    PostViewed,
    PublisherEpochClosed,
    PublisherRated,
    PublisherScored,
    RetentionPurged,
    ReviewDecided,
    ReviewSampled,
    RunAdvanced,
    RunFailed,
    RunRetryScheduled,
    RunStarted,
    VariantChanged,
    VersionRegistered,
    VersionSeen,
    VersionVerified,
)
from contracts.v1.claim import ClaimEvent
from tests.contract.schemas import ROOT, name_of

REFERENCE: Final = ROOT / "docs" / "events.md"

_AUDITOR: Final = (
    JobFetched,
    JobExtracted,
    JobPlanned,
    JobResolved,
    JobEnded,
    CreditPosted,
    AssertionAnalysisRequested,
    AssertionAnalysed,
    RunStarted,
    RunAdvanced,
    RunRetryScheduled,
    RunFailed,
)
_GATEWAY: Final = (
    JobIdempotencyKeyBound,
    JobRequested,
    FlagRaised,
    FlagResolved,
    EntryPublished,
    EntryStaled,
    EditMade,
)
_CURATOR: Final = (
    RetentionPurged,
    AssertionInvalidated,
    LabelIssued,
    PublisherScored,
    PublisherEpochClosed,
    MetricSampled,
    PatternRecorded,
)
PUBLISHERS: Final[dict[type[Event], tuple[str, ...]]] = {
    ObservationReceived: ("gateway",),
    ObservationUnverifiable: ("gateway",),
    PostViewed: ("gateway",),
    PostHinted: ("gateway",),
    InvestigationRequested: ("commands", "curator", "gateway", "selector"),
    CanonicalFetched: ("verifier",),
    CanonicalUnavailable: ("verifier",),
    VersionRegistered: ("ingest",),
    VersionSeen: ("ingest",),
    VersionVerified: ("ingest",),
    IntegrityAnomalyDetected: ("ingest",),
    InvestigationStarted: ("investigator",),
    InvestigationDrafted: ("investigator",),
    InvestigationAdvanced: ("investigator",),
    InvestigationRetryScheduled: ("investigator",),
    InvestigationCompleted: ("investigator",),
    InvestigationFailed: ("commands", "investigator", "selector"),
    ClaimProposed: ("investigator",),
    ClaimRetained: ("investigator",),
    ClaimHeld: ("validator",),
    ClaimHoldEnded: ("curator",),
    ClaimApproved: ("curator", "validator"),
    ClaimRejected: ("curator", "validator"),
    ClaimValidationFailed: ("validator",),
    ClaimValidationRetryScheduled: ("validator",),
    ClaimValidationStarted: ("validator",),
    FindingChanged: ("commands", "curator"),
    AppealOpened: ("gateway",),
    AppealProofOffered: ("gateway",),
    AppealProofChecked: ("verifier",),
    AppealDecided: ("commands",),
    ReviewSampled: ("commands",),
    ReviewDecided: ("commands",),
    LogChanged: ("commands",),
    VariantChanged: ("commands", "curator"),
    BreakerChanged: ("commands", "curator"),
    ControlCommitted: ("commands",),
    ControlOpened: ("commands",),
    ErasureOrdered: ("projector",),
    EntityErasureOrdered: ("projector",),
    **dict.fromkeys(_AUDITOR, ("auditor",)),
    **dict.fromkeys(_GATEWAY, ("gateway",)),
    CreditPosted: ("auditor", "gateway"),
    JobEnded: ("auditor", "curator", "gateway"),
    EditMade: ("curator", "gateway"),
    EntryStaled: ("curator", "gateway"),
    AssertionAnalysisRequested: ("auditor", "curator"),
    LlmStageConfigured: ("gateway",),
    PublisherRated: ("commands",),
    **dict.fromkeys(_CURATOR, ("curator",)),
    MetricSampled: ("commands", "curator"),
}
"""Who tells each fact; a test compares this with the classes that services construct."""

HEAD: Final = """\
# Events

Written by `python -m tests.contract.write` from `contracts/`; change the classes there, then run it again.

Every message is one JSON envelope: `id`, `occurred_at`, `correlation` (one id from the page view to the published
claim), `cause` (the event that led to this one) and `event`, the fact itself. A fact lies on the subject
`errata.v1.<aggregate>.<event>.<key>`, so one aggregate's history is `errata.v1.*.*.<key>` and everything about approved
claims is `errata.v1.claim.approved.>`.

The id of an event follows from its subject and identity: the same fact told twice has the same id. Within `v1` a fact
only ever gains optional fields; readers ignore fields they do not know. A field that has no value is left out.
*Once* marks a fact that the stream accepts only behind its predecessor on the same subject, so two writers cannot both
tell it.

The projector follows `ERRATA`, `VIEWS` and `JOBS` and takes every fact into the read model and the ledger. The
investigator's fold reads all facts of investigations and claims to conclude. Below, *handled by* names the durable
consumers.
"""


def reference() -> dict[Path, str]:
    """The document by its file."""
    return {REFERENCE: "\n".join(_lines()) + "\n"}


def _lines() -> Iterator[str]:
    yield HEAD
    for stream in STREAMS:
        told = [event for event in EVENTS if stream_of(event) is stream]
        if not told:
            continue
        kept = f"kept for {stream.max_age_s // 86_400} days" if stream.max_age_s else "kept for ever"
        yield f"## Stream `{stream.name}`, {kept}"
        yield ""
        yield "| subject | class | meaning | told by | handled by | files |"
        yield "|---|---|---|---|---|---|"
        for event in told:
            yield f"| {' | '.join(_cells(event))} |"
        yield ""
    yield "## Durable consumers"
    yield ""
    yield "| consumer | takes | lost after | attempts | answers the caller |"
    yield "|---|---|---|---|---|"
    for consumer in CONSUMERS:
        answers = "yes" if consumer.answers else "no"
        yield (
            f"| `{consumer.name}` | `{consumer.filter}` | {consumer.ack_wait_s:g} s of silence "
            f"| {consumer.attempts} | {answers} |"
        )


def _cells(event: type[Event]) -> Iterator[str]:
    name = name_of(event)
    yield f"`{PREFIX}{name}.<{_key(event)}>`"
    yield f"`{event.__name__}`"
    yield _meaning(event) + (" *Once.*" if issubclass(event, OnceEvent) else "")
    yield ", ".join(PUBLISHERS[event]) or "–"
    yield ", ".join(f"`{each.name}`" for each in CONSUMERS if each.event is event) or "–"
    yield f"[schema](../contracts/schemas/v1/{name}.json), [examples](../contracts/examples/v1/{name}.json)"


def _meaning(event: type[Event]) -> str:
    paragraph = (event.__doc__ or "").split("\n\n")[0]
    return " ".join(paragraph.split()).replace("|", "\\|")


def _key(event: type[Event]) -> str:
    if issubclass(event, ClaimEvent):
        return "investigation_id"
    aggregate = name_of(event).split(".")[0]
    keys = {
        "integrity": "post_id",
        "erasure": "post_id",
        "finding": "claim_id",
        "appeal": "investigation_id",
        "canonical": "observation_id",
        "credit": "period_id",
        "llm_stage": "stage",
        "retention": "slot",
    }
    if event is JobIdempotencyKeyBound:
        return "key_id"
    return keys.get(aggregate, f"{aggregate}_id")
