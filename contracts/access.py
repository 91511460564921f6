"""What each service may access, as data: its logins, secrets and broker permissions are derived from this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from contracts.topology import (
    AUDITS_CONCLUDE_MARK,
    CLAIM_KEYS,
    CONCLUDE_MARK,
    CURATOR_OVERDUE_MARK,
    CURATOR_QUOTES_MARK,
    ERRATA,
    INGEST_OBSERVATION_UNVERIFIABLE,
    JOBS,
    LEADERS,
    MARKS,
    MEMOS,
    PROJECTED,
    RECEIPT_KEYS,
    RECEIPT_KEYS_ENTRY,
    USER_KEYS,
    Bucket,
    Consumer,
    Stream,
)
from contracts.v1 import (
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
    CreditPosted,
    EditMade,
    EntryPublished,
    EntryStaled,
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
    MetricSampled,
    ObservationReceived,
    ObservationUnverifiable,
    PatternRecorded,
    PostHinted,
    PostViewed,
    PublisherEpochClosed,
    PublisherScored,
    RetentionPurged,
    RunAdvanced,
    RunFailed,
    RunRetryScheduled,
    RunStarted,
    VariantChanged,
    VersionRegistered,
    VersionSeen,
    VersionVerified,
)

POSITION: Final = "errata-position"
"""The projector publishes its position under `<POSITION>.<stream>`."""
REQUESTER: Final = "gateway"
"""The service to whose inbox the others send replies."""


@dataclass(frozen=True)
class Access:
    """`database`: the role it logs in as; `reader_keys`: it seals or opens secrets with the master key;
    `provider_keys`: it spends the instance's own money; `internet`: it connects to sites or to model providers.

    On the broker: the events it publishes, the streams whose events it reads one by one (`log`) or follows in order,
    the consumers it sends requests to directly or serves such requests for, the buckets and single entries it writes,
    the buckets it only reads, and whether it replies to the gateway, announces the projector's position or waits for
    it.
    """

    database: Literal["reader", "projector", "curator", "notary"] | None = None
    reader_keys: bool = False
    provider_keys: bool = False
    internet: bool = False
    publishes: tuple[type[Event], ...] = ()
    log: tuple[Stream, ...] = (ERRATA,)
    follows: tuple[Stream, ...] = ()
    sends_directly: tuple[Consumer, ...] = ()
    serves_directly: tuple[Consumer, ...] = ()
    buckets: tuple[Bucket, ...] = ()
    reads: tuple[Bucket, ...] = (MARKS,)
    entries: tuple[tuple[Bucket, str], ...] = ()
    answers: bool = False
    announces_position: bool = False
    awaits_position: bool = False


ACCESS: Final[dict[str, Access]] = {
    "verifier": Access(
        internet=True, publishes=(CanonicalFetched, CanonicalUnavailable, AppealProofChecked), answers=True
    ),
    "ingest": Access(
        publishes=(VersionRegistered, VersionVerified, VersionSeen, IntegrityAnomalyDetected),
        serves_directly=(INGEST_OBSERVATION_UNVERIFIABLE,),
        answers=True,
    ),
    "selector": Access(database="reader", publishes=(InvestigationRequested, InvestigationFailed), buckets=(LEADERS,)),
    "investigator": Access(
        database="reader",
        reader_keys=True,
        provider_keys=True,
        internet=True,
        publishes=(
            InvestigationStarted,
            InvestigationAdvanced,
            InvestigationDrafted,
            InvestigationRetryScheduled,
            InvestigationCompleted,
            InvestigationFailed,
            ClaimProposed,
            ClaimRetained,
        ),
        follows=(ERRATA,),
        buckets=(USER_KEYS,),
        entries=((MARKS, CONCLUDE_MARK),),
    ),
    "validator": Access(
        reader_keys=True,
        provider_keys=True,
        internet=True,
        publishes=(
            ClaimValidationStarted,
            ClaimHeld,
            ClaimApproved,
            ClaimRejected,
            ClaimValidationRetryScheduled,
            ClaimValidationFailed,
        ),
        follows=(ERRATA,),
        reads=(USER_KEYS, MARKS),
    ),
    "auditor": Access(
        provider_keys=True,
        internet=True,
        publishes=(
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
        ),
        log=(ERRATA, JOBS),
        follows=(JOBS,),
        buckets=(MEMOS, CLAIM_KEYS),
        reads=(MARKS, RECEIPT_KEYS),
        entries=((MARKS, AUDITS_CONCLUDE_MARK), (RECEIPT_KEYS, RECEIPT_KEYS_ENTRY)),
    ),
    "curator": Access(
        database="curator",
        reader_keys=True,
        internet=True,
        publishes=(
            JobEnded,
            RetentionPurged,
            AssertionInvalidated,
            LabelIssued,
            ClaimHoldEnded,
            ClaimApproved,
            ClaimRejected,
            FindingChanged,
            BreakerChanged,
            VariantChanged,
            InvestigationRequested,
            PublisherScored,
            PublisherEpochClosed,
            EntryStaled,
            EditMade,
            AssertionAnalysisRequested,
            MetricSampled,
            PatternRecorded,
        ),
        log=(ERRATA, JOBS),
        follows=(JOBS,),
        buckets=(LEADERS,),
        entries=((MARKS, CURATOR_OVERDUE_MARK), (MARKS, CURATOR_QUOTES_MARK)),
    ),
    "projector": Access(database="projector", follows=PROJECTED, announces_position=True),
    "notary": Access(database="notary", internet=True),
    "gateway": Access(
        database="reader",
        reader_keys=True,
        internet=True,
        publishes=(
            ObservationReceived,
            ObservationUnverifiable,
            PostViewed,
            PostHinted,
            AppealOpened,
            AppealProofOffered,
            InvestigationRequested,
            JobIdempotencyKeyBound,
            JobRequested,
            JobEnded,
            CreditPosted,
            LlmStageConfigured,
            FlagRaised,
            FlagResolved,
            EntryPublished,
            EntryStaled,
            EditMade,
        ),
        log=(ERRATA, JOBS),
        follows=(ERRATA, JOBS),
        sends_directly=(INGEST_OBSERVATION_UNVERIFIABLE,),
        buckets=(USER_KEYS,),
        reads=(MARKS, RECEIPT_KEYS, MEMOS),
        awaits_position=True,
    ),
}
