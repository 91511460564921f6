"""The access of each service, as data, from which its logins, secrets and broker permissions are derived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from contracts import v1
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
    TEXTS,
    USER_KEYS,
    Bucket,
    Consumer,
    Stream,
)

POSITION: Final = "errata-position"
"""The projector publishes its position under `<POSITION>.<stream>`."""
REQUESTER: Final = "gateway"
"""The service whose inbox the others may send replies to."""


@dataclass(frozen=True)
class Access:
    """What one service may access.

    `database`: the role it logs in as; `reader_keys`: it seals or opens secrets with the master key;
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
    publishes: tuple[type[v1.Event], ...] = ()
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
        internet=True, publishes=(v1.CanonicalFetched, v1.CanonicalUnavailable, v1.AppealProofChecked), answers=True
    ),
    "ingest": Access(
        publishes=(v1.VersionRegistered, v1.VersionVerified, v1.VersionSeen, v1.IntegrityAnomalyDetected),
        serves_directly=(INGEST_OBSERVATION_UNVERIFIABLE,),
        answers=True,
    ),
    "selector": Access(
        database="reader", publishes=(v1.InvestigationRequested, v1.InvestigationFailed), buckets=(LEADERS,)
    ),
    "investigator": Access(
        database="reader",
        reader_keys=True,
        provider_keys=True,
        internet=True,
        publishes=(
            v1.InvestigationStarted,
            v1.InvestigationAdvanced,
            v1.InvestigationDrafted,
            v1.InvestigationRetryScheduled,
            v1.InvestigationCompleted,
            v1.InvestigationFailed,
            v1.ClaimProposed,
            v1.ClaimRetained,
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
            v1.ClaimValidationStarted,
            v1.ClaimHeld,
            v1.ClaimApproved,
            v1.ClaimRejected,
            v1.ClaimValidationRetryScheduled,
            v1.ClaimValidationFailed,
        ),
        follows=(ERRATA,),
        reads=(USER_KEYS, MARKS),
    ),
    "auditor": Access(
        provider_keys=True,
        internet=True,
        publishes=(
            v1.JobFetched,
            v1.JobExtracted,
            v1.JobPlanned,
            v1.JobResolved,
            v1.JobEnded,
            v1.CreditPosted,
            v1.AssertionAnalysisRequested,
            v1.AssertionAnalysed,
            v1.RunStarted,
            v1.RunAdvanced,
            v1.RunRetryScheduled,
            v1.RunFailed,
        ),
        log=(ERRATA, JOBS),
        follows=(JOBS,),
        buckets=(MEMOS, CLAIM_KEYS, TEXTS),
        reads=(MARKS, RECEIPT_KEYS),
        entries=((MARKS, AUDITS_CONCLUDE_MARK), (RECEIPT_KEYS, RECEIPT_KEYS_ENTRY)),
    ),
    "curator": Access(
        database="curator",
        reader_keys=True,
        internet=True,
        publishes=(
            v1.JobEnded,
            v1.RetentionPurged,
            v1.AssertionInvalidated,
            v1.LabelIssued,
            v1.ClaimHoldEnded,
            v1.ClaimApproved,
            v1.ClaimRejected,
            v1.FindingChanged,
            v1.BreakerChanged,
            v1.VariantChanged,
            v1.InvestigationRequested,
            v1.PublisherScored,
            v1.PublisherEpochClosed,
            v1.EntryStaled,
            v1.EditMade,
            v1.AssertionAnalysisRequested,
            v1.MetricSampled,
            v1.PatternRecorded,
        ),
        log=(ERRATA, JOBS),
        follows=(JOBS,),
        buckets=(LEADERS, TEXTS),
        entries=((MARKS, CURATOR_OVERDUE_MARK), (MARKS, CURATOR_QUOTES_MARK)),
    ),
    "projector": Access(database="projector", follows=PROJECTED, reads=(MARKS, TEXTS), announces_position=True),
    "notary": Access(database="notary", internet=True),
    "gateway": Access(
        database="reader",
        reader_keys=True,
        internet=True,
        publishes=(
            v1.ObservationReceived,
            v1.ObservationUnverifiable,
            v1.PostViewed,
            v1.PostHinted,
            v1.AppealOpened,
            v1.AppealProofOffered,
            v1.InvestigationRequested,
            v1.JobIdempotencyKeyBound,
            v1.JobRequested,
            v1.JobEnded,
            v1.CreditPosted,
            v1.LlmStageConfigured,
            v1.FlagRaised,
            v1.FlagResolved,
            v1.EntryPublished,
            v1.EntryStaled,
            v1.EditMade,
        ),
        log=(ERRATA, JOBS),
        follows=(ERRATA, JOBS),
        sends_directly=(INGEST_OBSERVATION_UNVERIFIABLE,),
        buckets=(USER_KEYS, TEXTS),
        reads=(MARKS, RECEIPT_KEYS, MEMOS),
        awaits_position=True,
    ),
}
