"""Streams, durable consumers and buckets, as data.

`openerrata topology apply` is the only writer of these; a service that finds something else refuses to start. The names
are what operators see in every tool, so they follow one grammar: `<service>-<aggregate>-<event>`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from contracts.v1 import (
    PREFIX,
    CanonicalFetched,
    CanonicalUnavailable,
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationFailed,
    Event,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationStarted,
    ObservationReceived,
)

DAY_S: Final = 86_400


@dataclass(frozen=True)
class Stream:
    """One log. `max_age_s` 0 keeps everything for ever; of a stream of `work` each message goes once it is handled."""

    name: str
    subjects: tuple[str, ...]
    max_age_s: int = 0
    work: bool = False


@dataclass(frozen=True)
class Consumer:
    """One durable consumer of one fact. `share` names the part of the facts that it handles; the rest it acknowledges.

    Units: `ack_wait_s` is how long a silent worker keeps a message; `attempts` own failures before the dead letter;
    `slots` messages handled at once in one process; `max_ack_pending` is the limit of the whole fleet.
    `answers`: whether the outcome goes to the reply address that came with the message. `costly`: whether handling a
    message costs money, so that nobody begins while another worker is at it.
    """

    service: str
    event: type[Event]
    slots: int = 8
    ack_wait_s: float = 30.0
    attempts: int = 8
    max_ack_pending: int = 1_024
    answers: bool = False
    costly: bool = False
    share: str = ""

    @property
    def name(self) -> str:
        """`<service>-<aggregate>-<event>`, and `-<share>` where there is one."""
        aggregate, event = self.event.SUBJECT.removeprefix(PREFIX).split(".")
        return "-".join(filter(None, (self.service, aggregate, event, self.share)))

    @property
    def filter(self) -> str:
        """The subjects it takes."""
        return f"{self.event.SUBJECT}.*"

    @property
    def again(self) -> str:
        """Where facts are put that this consumer alone shall have once more."""
        return f"errata.again.{self.name}"

    @property
    def direct(self) -> str:
        """Under which subjects, ending in the correlation, a fact is handed straight to its service."""
        return f"errata-direct.{self.name}"

    @property
    def in_hand(self) -> str:
        """Where its workers ask one another who has a message."""
        return f"errata-in-hand.{self.name}"

    @property
    def dead(self) -> str:
        """Where its dead letters lie."""
        return f"errata.dead.{self.name}"


@dataclass(frozen=True)
class Bucket:
    """One key-value bucket. Units: `ttl_s` 0 keeps entries until they are deleted."""

    name: str
    ttl_s: int = 0


ERRATA: Final = Stream(
    "ERRATA",
    tuple(
        f"{PREFIX}{aggregate}.>"
        for aggregate in ("observation", "canonical", "version", "integrity", "investigation", "claim", "erasure")
    ),
)
VIEWS: Final = Stream("VIEWS", (f"{PREFIX}post.>",), max_age_s=400 * DAY_S)
DEAD: Final = Stream("ERRATA_DEAD", ("errata.dead.>",))
AGAIN: Final = Stream("ERRATA_AGAIN", ("errata.again.>",), work=True)
STREAMS: Final = (ERRATA, VIEWS, DEAD, AGAIN)

STORED: Final = "stored"
"""What the stream of facts has stored it publishes again under `stored.<subject>`, with its sequence in a header."""

ANALYST_SUBJECTS: Final = tuple(
    f"{event.SUBJECT}.>" for event in (ClaimApproved, ClaimRetained, InvestigationCompleted)
)
"""What analysts may follow, on the broker and as server-sent events; they do not overlap. A candidate that no review
has approved is not among it, nor is its quote or the reason why it was rejected (decision 0031)."""

CONCLUDED: Final = tuple(
    f"{event.SUBJECT}.*"
    for event in (
        InvestigationRequested,
        InvestigationStarted,
        InvestigationDrafted,
        InvestigationFailed,
        InvestigationCompleted,
        ClaimRetained,
        ClaimApproved,
        ClaimRejected,
        ClaimValidationFailed,
    )
)
"""What the fold that ends investigations reads; the other half of their facts changes nothing for it."""
CONCLUDE_MARK: Final = "investigator-conclude"
"""Where the bucket `marks` says up to which sequence that fold has nothing open any more."""

USER_KEYS: Final = Bucket("user-keys", ttl_s=30 * 60)
MARKS: Final = Bucket("marks")
LEADERS: Final = Bucket("leaders", ttl_s=15)
PAGES: Final = Bucket("pages", ttl_s=60)
FAILURES: Final = Bucket("failures", ttl_s=DAY_S)
HEALTH: Final = Bucket("health", ttl_s=60)
BUCKETS: Final = (USER_KEYS, MARKS, LEADERS, PAGES, FAILURES, HEALTH)

VERIFIER_OBSERVATION_RECEIVED: Final = Consumer("verifier", ObservationReceived, slots=48)
INGEST_OBSERVATION_RECEIVED: Final = Consumer("ingest", ObservationReceived, slots=16, answers=True)
INGEST_CANONICAL_FETCHED: Final = Consumer("ingest", CanonicalFetched, slots=8, answers=True)
INGEST_CANONICAL_UNAVAILABLE: Final = Consumer("ingest", CanonicalUnavailable, slots=8, answers=True)
INVESTIGATOR_INVESTIGATION_REQUESTED: Final = Consumer(
    "investigator", InvestigationRequested, slots=8, attempts=12, costly=True
)
INVESTIGATOR_READERS_INVESTIGATION_REQUESTED: Final = replace(
    INVESTIGATOR_INVESTIGATION_REQUESTED, slots=6, share="readers"
)
"""Runs on readers' own keys: however many there are, a run that the instance pays for has slots, and the reverse."""
VALIDATOR_CLAIM_PROPOSED: Final = Consumer("validator", ClaimProposed, slots=4, costly=True)
CONSUMERS: Final = (
    VERIFIER_OBSERVATION_RECEIVED,
    INGEST_OBSERVATION_RECEIVED,
    INGEST_CANONICAL_FETCHED,
    INGEST_CANONICAL_UNAVAILABLE,
    INVESTIGATOR_INVESTIGATION_REQUESTED,
    INVESTIGATOR_READERS_INVESTIGATION_REQUESTED,
    VALIDATOR_CLAIM_PROPOSED,
)


def stream_of(event: type[Event]) -> Stream:
    """The stream that keeps a fact."""
    aggregate = event.SUBJECT.removeprefix(PREFIX).split(".")[0]
    return next(stream for stream in STREAMS if f"{PREFIX}{aggregate}.>" in stream.subjects)
