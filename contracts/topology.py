"""Streams, durable consumers and buckets, as data.

Only `openerrata topology apply` writes them to a broker; a service that finds anything else refuses to start. Operators
see the names in every tool, so they follow one grammar: `<service>-<aggregate>-<event>`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from contracts import v1

DAY_S: Final = 86_400


@dataclass(frozen=True)
class Stream:
    """One stream. `max_age_s` 0: no limit; `work`: a work queue, whose messages are deleted once acknowledged.

    `atomic`: it accepts batches, of which all messages or none are stored. `confidential`: handling its messages reads
    words that must not be logged.
    """

    name: str
    subjects: tuple[str, ...]
    max_age_s: int = 0
    work: bool = False
    atomic: bool = False
    confidential: bool = False


@dataclass(frozen=True)
class Consumer:
    """One durable consumer of one event. With a `share` it handles that part of the events and acknowledges the others.

    Units: `ack_wait_s` is the time after which a message of a silent worker is redelivered; `attempts` is the number of
    failures before the dead letter; `slots` is the number of messages handled at once in one process, `max_ack_pending`
    in all processes. `answers`: the outcome is sent to the message's reply address. `costly`: handling a message costs
    money, so no worker begins while another one owns it.
    """

    service: str
    event: type[v1.Event]
    slots: int = 8
    ack_wait_s: float = 30.0
    attempts: int = 8
    max_ack_pending: int = 1_024
    answers: bool = False
    costly: bool = False
    share: str = ""

    @cached_property
    def name(self) -> str:
        """`<service>-<aggregate>-<event>`, and `-<share>` if there is one."""
        aggregate, event = self.event.SUBJECT.removeprefix(v1.PREFIX).split(".")
        return "-".join(filter(None, (self.service, aggregate, event, self.share)))

    @property
    def filter(self) -> str:
        """The subject filter of the consumer."""
        return f"{self.event.SUBJECT}.*"

    @property
    def redelivery_subject(self) -> str:
        """The subject of events that are redelivered to this consumer only."""
        return f"errata.redelivery.{self.name}"

    @property
    def direct_subject(self) -> str:
        """The subject of direct requests to the consumer's service, without the correlation that follows."""
        return f"errata-direct.{self.name}"

    @property
    def ownership_subject(self) -> str:
        """The subject on which the consumer's workers ask which of them owns a message."""
        return f"errata-in-hand.{self.name}"

    @property
    def dead_letter_subject(self) -> str:
        return f"errata.dead.{self.name}"


@dataclass(frozen=True)
class Bucket:
    """One key-value bucket. Units: `ttl_s` 0: entries do not expire. `purged`: entries are removed by a prefix."""

    name: str
    ttl_s: int = 0
    purged: bool = False


ERRATA: Final = Stream(
    "ERRATA",
    tuple(
        f"{v1.PREFIX}{aggregate}.>"
        for aggregate in (
            "observation",
            "canonical",
            "version",
            "integrity",
            "investigation",
            "claim",
            "finding",
            "appeal",
            "review",
            "log",
            "variant",
            "breaker",
            "control",
            "erasure",
        )
    ),
)
VIEWS: Final = Stream("VIEWS", (f"{v1.PREFIX}post.>",), max_age_s=400 * DAY_S)
JOBS: Final = Stream(
    "JOBS",
    tuple(
        f"{v1.PREFIX}{aggregate}.>"
        for aggregate in (
            "job",
            "run",
            "assertion",
            "credit",
            "llm_stage",
            "entry",
            "edit",
            "flag",
            "publisher",
            "metric",
            "pattern",
            "retention",
            "account",
            "label",
            "entity_erasure",
        )
    ),
    atomic=True,
    confidential=True,
)
"""Facts about audits. They are not in ERRATA, since observations wait for its order and analysts get its facts; and
they are one stream, because a batch, an order and a position belong to one stream."""
DEAD: Final = Stream("ERRATA_DEAD", ("errata.dead.>",))
REDELIVERY: Final = Stream("ERRATA_REDELIVERY", ("errata.redelivery.>",), work=True)
STREAMS: Final = (ERRATA, VIEWS, JOBS, DEAD, REDELIVERY)
PROJECTED: Final = (ERRATA, VIEWS, JOBS)
"""The streams that the projector copies to the read model and the ledger, in the order in which a rebuild reads."""

STORED: Final = "stored"
"""The stream republishes stored messages under `stored.<subject>`, with the sequence in a header."""

ANALYST_SUBJECTS: Final = tuple(
    f"{event.SUBJECT}.>" for event in (v1.ClaimApproved, v1.ClaimRetained, v1.InvestigationCompleted, v1.FindingChanged)
)
"""The subjects that analysts may follow, on the broker and as server-sent events; they do not overlap. They have
approved candidates and the later changes of findings, but nothing about rejected candidates (decision 0031)."""

CONCLUDED: Final = tuple(
    f"{event.SUBJECT}.*"
    for event in (
        v1.InvestigationRequested,
        v1.InvestigationStarted,
        v1.InvestigationDrafted,
        v1.InvestigationFailed,
        v1.InvestigationCompleted,
        v1.ClaimRetained,
        v1.ClaimHeld,
        v1.ClaimApproved,
        v1.ClaimRejected,
        v1.ClaimValidationFailed,
    )
)
"""The subjects that the fold that concludes investigations reads."""
CONCLUDE_MARK: Final = "investigator-conclude"
"""The entry of the bucket `marks` that holds that fold's mark."""
AUDITS_CONCLUDED: Final = tuple(
    f"{event.SUBJECT}.*"
    for event in (
        v1.JobRequested,
        v1.JobFetched,
        v1.JobExtracted,
        v1.JobPlanned,
        v1.JobResolved,
        v1.JobEnded,
        v1.RunFailed,
        v1.AssertionAnalysisRequested,
        v1.AssertionAnalysed,
    )
)
"""The subjects that the fold that concludes audits reads."""
AUDITS_CONCLUDE_MARK: Final = "auditor-conclude"
"""The entry of the bucket `marks` that holds that fold's mark."""

CURATOR_OVERDUE: Final = tuple(f"{event.SUBJECT}.*" for event in (v1.JobRequested, v1.JobEnded))
"""The subjects that the fold that ends overdue jobs reads."""
CURATOR_OVERDUE_MARK: Final = "curator-overdue"
"""The entry of the bucket `marks` that holds that fold's mark."""
CURATOR_QUOTES_MARK: Final = "curator-quotes"
"""The entry of the bucket `marks` with the position up to which displayed quotes were compared with their pages."""

USER_KEYS: Final = Bucket("user-keys", ttl_s=30 * 60)
MARKS: Final = Bucket("marks")
LEADERS: Final = Bucket("leaders", ttl_s=15)
FAILURES: Final = Bucket("failures", ttl_s=DAY_S)
HEALTH: Final = Bucket("health", ttl_s=60)
RECEIPT_KEYS: Final = Bucket("receipt-keys")
RECEIPT_KEYS_ENTRY: Final = "jwks"
"""The only entry of RECEIPT_KEYS: the public keys of all receipts."""
MEMOS: Final = Bucket("memos", ttl_s=DAY_S)
"""The job of an extraction, by the id of the extraction or of what the account sent; entries expire with its words."""
CLAIM_KEYS: Final = Bucket("claim-keys", ttl_s=90 * DAY_S)
"""The first assertion with a published key, by that key; assertions that share a key are counted."""
TEXTS: Final = Bucket("texts", purged=True)
"""Words of audits, each stored under the hour of its expiry."""
BUCKETS: Final = (USER_KEYS, MARKS, LEADERS, FAILURES, HEALTH, RECEIPT_KEYS, MEMOS, CLAIM_KEYS, TEXTS)

VERIFIER_OBSERVATION_RECEIVED: Final = Consumer("verifier", v1.ObservationReceived, slots=48)
VERIFIER_APPEAL_PROOF_OFFERED: Final = Consumer("verifier", v1.AppealProofOffered, slots=4)
INGEST_OBSERVATION_UNVERIFIABLE: Final = Consumer("ingest", v1.ObservationUnverifiable, slots=16, answers=True)
INGEST_CANONICAL_FETCHED: Final = Consumer("ingest", v1.CanonicalFetched, slots=8, answers=True)
INGEST_CANONICAL_UNAVAILABLE: Final = Consumer("ingest", v1.CanonicalUnavailable, slots=8, answers=True)
INVESTIGATOR_INVESTIGATION_REQUESTED: Final = Consumer(
    "investigator", v1.InvestigationRequested, slots=8, attempts=12, costly=True
)
INVESTIGATOR_READERS_INVESTIGATION_REQUESTED: Final = replace(
    INVESTIGATOR_INVESTIGATION_REQUESTED, slots=6, share="readers"
)
"""Runs on readers' own keys have separate slots, so that they and the instance's runs do not block each other."""
VALIDATOR_CLAIM_PROPOSED: Final = Consumer("validator", v1.ClaimProposed, slots=4, costly=True)
AUDITOR_JOB_REQUESTED: Final = Consumer("auditor", v1.JobRequested, slots=4, attempts=12, costly=True)
AUDITOR_ASSERTION_ANALYSIS_REQUESTED: Final = Consumer(
    "auditor", v1.AssertionAnalysisRequested, slots=4, attempts=12, costly=True
)
AUDITOR_JOB_RESOLVED: Final = Consumer("auditor", v1.JobResolved, slots=2, attempts=12, costly=True)
CURATOR_JOB_ENDED: Final = Consumer("curator", v1.JobEnded, slots=8, attempts=7, max_ack_pending=10_000)
"""Most of its messages wait for hours until a webhook is tried again."""
CURATOR_FLAG_RAISED: Final = Consumer("curator", v1.FlagRaised, slots=1, attempts=12)
CURATOR_FLAG_RESOLVED: Final = Consumer("curator", v1.FlagResolved, slots=1, attempts=12)
CURATOR_CLAIM_HELD: Final = Consumer("curator", v1.ClaimHeld, slots=8, attempts=200, max_ack_pending=10_000)
"""Its messages wait until their hold is over; while a breaker is open they are retried every ten minutes, for a day."""
CONSUMERS: Final = (
    VERIFIER_OBSERVATION_RECEIVED,
    VERIFIER_APPEAL_PROOF_OFFERED,
    INGEST_OBSERVATION_UNVERIFIABLE,
    INGEST_CANONICAL_FETCHED,
    INGEST_CANONICAL_UNAVAILABLE,
    INVESTIGATOR_INVESTIGATION_REQUESTED,
    INVESTIGATOR_READERS_INVESTIGATION_REQUESTED,
    VALIDATOR_CLAIM_PROPOSED,
    AUDITOR_JOB_REQUESTED,
    AUDITOR_ASSERTION_ANALYSIS_REQUESTED,
    AUDITOR_JOB_RESOLVED,
    CURATOR_JOB_ENDED,
    CURATOR_FLAG_RAISED,
    CURATOR_FLAG_RESOLVED,
    CURATOR_CLAIM_HELD,
)


def stream_of(event: type[v1.Event]) -> Stream:
    """The stream that stores an event."""
    aggregate = event.SUBJECT.removeprefix(v1.PREFIX).split(".")[0]
    return next(stream for stream in STREAMS if f"{v1.PREFIX}{aggregate}.>" in stream.subjects)
