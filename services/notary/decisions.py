"""Which events enter the decision log, and as what. Pure, and total over all events.

The same facts give the same leaves, so a lost log is built again with the same root. Source: rows TR-3 and TR-4 of
docs/requirements/trust.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from contracts import v1
from contracts.v1.event import event_id
from contracts.v1.investigation import CANCELLED
from services.notary.documents import Document, Run, describe, describe_finding, describe_run
from tlog.leaf import Kind, Leaf, Opening, canonical, open_documents

NOT_LOGGED: Final[frozenset[type[v1.Event]]] = frozenset(
    {
        # what readers and sites show
        v1.ObservationReceived,
        v1.ObservationUnverifiable,
        v1.CanonicalFetched,
        v1.CanonicalUnavailable,
        v1.VersionRegistered,
        v1.VersionSeen,
        v1.VersionVerified,
        v1.PostViewed,
        v1.PostHinted,
        v1.IntegrityAnomalyDetected,
        # the way to a decision; its end is logged, with what the gates refused
        v1.InvestigationRequested,
        v1.InvestigationStarted,
        v1.InvestigationAdvanced,
        v1.InvestigationDrafted,
        v1.InvestigationRetryScheduled,
        v1.ClaimProposed,
        v1.ClaimRetained,
        v1.ClaimValidationStarted,
        v1.ClaimApproved,
        v1.ClaimRejected,
        v1.ClaimValidationRetryScheduled,
        v1.ClaimValidationFailed,
        # proofs of authorship for appeals are no decisions
        v1.AppealProofOffered,
        v1.AppealProofChecked,
        # audits belong to the account that ordered them
        v1.JobIdempotencyKeyBound,
        v1.JobRequested,
        v1.JobFetched,
        v1.JobExtracted,
        v1.JobPlanned,
        v1.JobResolved,
        v1.JobEnded,
        v1.RunStarted,
        v1.RunAdvanced,
        v1.RunRetryScheduled,
        v1.RunFailed,
        v1.AssertionAnalysisRequested,
        v1.AssertionAnalysed,
        v1.AssertionInvalidated,
        v1.CreditPosted,
        v1.LlmStageConfigured,
        v1.FlagRaised,
        v1.RetentionPurged,
        v1.EntityErasureOrdered,
        v1.LabelIssued,
        # the catalogue and publishers of sources; their pages have their history
        v1.EntryPublished,
        v1.EntryStaled,
        v1.EditMade,
        v1.FlagResolved,
        v1.PublisherScored,
        v1.PublisherRated,
        v1.PublisherEpochClosed,
        # figures, which are computed from other facts
        v1.MetricSampled,
        v1.PatternRecorded,
    }
)
LOGGED: Final = tuple(event for event in v1.EVENTS if event not in NOT_LOGGED)
_STATES: Final[dict[str, Kind]] = {
    "RELEASED": "released",
    "SUSPENDED": "suspended",
    "RETRACTED": "retracted",
}
_GATE: Final = re.compile(r"[A-Za-z_]{1,40}")
_ANALYSIS: Final = re.compile(r"[A-Z][A-Z0-9_]{0,39}")


@dataclass(frozen=True, slots=True)
class Fact:
    """An event of the ledger; `event` and `salt` are None if it is erased. Units: `at` is when it was stored."""

    sequence: int
    id: UUID
    at: datetime
    event: v1.Event | None
    salt: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A leaf with what is stored beside it. Shapes: `subjects` are ids under which it is found."""

    leaf: Leaf
    openings: tuple[Opening, ...] = ()
    subjects: tuple[UUID, ...] = ()


def find_attempt(event: v1.InvestigationCompleted) -> Sequence[UUID]:
    """The ids of the events that began and ended the run of a completed investigation."""
    return [
        event_id(kind, event.investigation_id, event.attempt)
        for kind in (v1.InvestigationStarted, v1.InvestigationDrafted)
    ]


def find_verdicts(event: v1.InvestigationCompleted, drafted: v1.InvestigationDrafted) -> Sequence[UUID]:
    """The ids of the verdicts that the run's candidates may have."""
    return [
        event_id(kind, event.investigation_id, f"{claim}|{event.round}")
        for claim in drafted.claim_ids
        for kind in (v1.ClaimApproved, v1.ClaimRejected)
    ]


def make_entry(fact: Fact, references: Iterable[int], run: Run | None = None) -> Entry | None:
    """The entry of a fact in the log, or None if it is no decision.

    `references` are the leaves of its subject, or of the facts that it erases.
    """
    if fact.event is None:
        return Entry(Leaf(k="erased", t=_milliseconds(fact.at)))
    made = _make(fact.event, run or Run())
    if made is None:
        return None
    leaf, documents, subjects = made
    openings = () if fact.salt is None else open_documents(fact.salt, [canonical(each) for each in documents])
    commitments = tuple(opening.commitment for opening in openings)
    complete = leaf.model_copy(update={"t": _milliseconds(fact.at), "c": commitments, "ref": tuple(sorted(references))})
    return Entry(complete, openings, tuple(dict.fromkeys(subjects)))


def _make(event: v1.Event, run: Run) -> tuple[Leaf, list[Document], list[UUID]] | None:
    match event:
        case v1.InvestigationCompleted():
            return _complete(event, run)
        case v1.InvestigationFailed():
            cancelled = event.reason == CANCELLED
            leaf = Leaf(k="cancelled" if cancelled else "failed", t=0, why=None if cancelled else event.failure)
            about: Document = {"investigation": str(event.investigation_id), "version": str(event.version_id)}
            return leaf, [about], [event.investigation_id]
        case v1.ClaimHeld():
            held: Document = {"claim": str(event.claim_id), "investigation": str(event.investigation_id)}
            return Leaf(k="held", t=0), [held], []
        case v1.ClaimHoldEnded():
            ended: Document = {"claim": str(event.claim_id), "investigation": str(event.investigation_id)}
            hold = None if event.hold_s is None else event.hold_s * 1_000
            return Leaf(k="hold_ended", t=0, h=hold, why=event.state), [ended], []
        case v1.FindingChanged():
            changed: Document = {
                "claim": str(event.claim_id),
                "investigation": str(event.investigation_id),
                "state": event.state,
                "cause": event.cause,
                "note": event.note,
            }
            return Leaf(k=_STATES[event.state], t=0, why=event.cause), [changed], [event.investigation_id]
        case v1.AppealOpened():
            opened: Document = {
                "appeal": str(event.appeal_id),
                "investigation": str(event.investigation_id),
                "kind": event.kind,
                "claims": [str(each) for each in event.claim_ids],
            }
            return Leaf(k="appeal_opened", t=0, n=len(event.claim_ids), why=event.kind), [opened], []
        case v1.AppealDecided():
            decided: Document = {
                "appeal": str(event.appeal_id),
                "investigation": str(event.investigation_id),
                "outcome": event.outcome,
            }
            return Leaf(k="appeal_decided", t=0, why=event.outcome), [decided], []
        case v1.ReviewSampled():
            return Leaf(k="review_sampled", t=0, n=len(event.claim_ids)), [describe(event)], [event.sample_id]
        case v1.ReviewDecided():
            return Leaf(k="review_decided", t=0, why=event.verdict), [describe(event)], [event.claim_id]
        case v1.VariantChanged():
            return Leaf(k="variant", t=0, why=event.state, n=event.quota), [describe(event)], []
        case v1.BreakerChanged():
            return Leaf(k="breaker", t=0, why=event.trigger or event.state), [describe(event)], []
        case v1.ControlCommitted():
            return Leaf(k="control_committed", t=0, n=event.size), [describe(event)], [event.batch_id]
        case v1.ControlOpened():
            flagged = sum(each.outcome == "FLAGGED" for each in event.controls)
            return Leaf(k="control_opened", t=0, n=flagged), [describe(event)], []
        case v1.LogChanged():
            return Leaf(k="log", t=0, n=event.earlier or None, why=event.what), [describe(event)], [event.log_id]
        case v1.ErasureOrdered():
            return Leaf(k="redacted", t=0), [], []
        case _:
            return None


def _complete(event: v1.InvestigationCompleted, run: Run) -> tuple[Leaf, list[Document], list[UUID]]:
    refused = Counter(
        each.gate.lower() if _GATE.fullmatch(each.gate) else "other"
        for each in run.verdicts.values()
        if isinstance(each, v1.ClaimRejected)
    )
    leaf = Leaf(
        k="found" if event.claims else "nothing_found",
        t=0,
        a=event.analysis if _ANALYSIS.fullmatch(event.analysis) else None,
        n=len(event.claims),
        g=dict(refused),
    )
    documents = [describe_run(event, run), *(describe_finding(each, run) for each in event.claims)]
    return leaf, documents, [event.investigation_id, *(each.claim_id for each in event.claims)]


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000)
