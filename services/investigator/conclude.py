"""The result of an investigation is a fold over its facts in the order of the log.

`decide` is pure: whoever folds the same facts concludes the same, so replicas and replays are harmless. An
investigation without a verdict for every candidate is never concluded, and an error is never an approval.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from contracts.v1 import (
    ClaimApproved,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationFailed,
    Event,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationStarted,
    OnceEvent,
)
from contracts.v1.parts import ClaimPayload, PublishedClaim

Verdict = ClaimApproved | ClaimRejected | ClaimValidationFailed


@dataclass
class Open:
    """What is known of one investigation that is not over.

    Units: `since` is the sequence of its request, `last_failure` that of an earlier round's end.
    """

    since: int
    request: InvestigationRequested | None = None
    started: InvestigationStarted | None = None
    drafted: InvestigationDrafted | None = None
    verdicts: dict[UUID, Verdict] = field(default_factory=dict)
    retained: dict[UUID, ClaimPayload] = field(default_factory=dict)
    last_failure: int = 0
    over: bool = False

    def add(self, sequence: int, event: Event) -> None:
        """Take the next fact; the first verdict on a claim in this round counts."""
        match event:
            case InvestigationRequested():
                if self.request is None or event.round > self.request.round:
                    self.request, self.drafted, self.over = event, None, False
                    self.verdicts.clear()
            case InvestigationStarted():
                self.started = event
            case InvestigationDrafted():
                self.drafted = event
            case ClaimRetained():
                self.retained.setdefault(event.claim_id, event.payload)
            case ClaimApproved() | ClaimRejected() | ClaimValidationFailed():
                if self.request is not None and event.round == self.request.round:
                    self.verdicts.setdefault(event.claim_id, event)
            case InvestigationFailed():
                self.over, self.last_failure = True, sequence
            case InvestigationCompleted():
                self.over = True
            case _:
                pass

    def decide(self) -> OnceEvent | None:
        """The fact that ends this investigation, once everything it needs is there."""
        if self.over or self.drafted is None or self.started is None or self.request is None:
            return None
        verdicts = [self.verdicts.get(claim_id) for claim_id in self.drafted.claim_ids]
        for verdict in verdicts:
            if isinstance(verdict, ClaimValidationFailed):
                return InvestigationFailed(
                    follows=self.last_failure,
                    investigation_id=self.started.investigation_id,
                    version_id=self.started.version_id,
                    attempt=self.drafted.attempt,
                    round=self.request.round,
                    failure=verdict.failure,
                    reason=f"validation: {verdict.reason}",
                    status_code=verdict.status_code,
                )
        if any(verdict is None for verdict in verdicts):
            return None
        if any(claim_id not in self.retained for claim_id in self.drafted.retained_ids):
            return None
        kept = [
            PublishedClaim(claim_id=claim_id, payload=self.retained[claim_id]) for claim_id in self.drafted.retained_ids
        ]
        approved = [
            PublishedClaim(claim_id=v.claim_id, payload=v.payload) for v in verdicts if isinstance(v, ClaimApproved)
        ]
        return InvestigationCompleted(
            investigation_id=self.started.investigation_id,
            version_id=self.started.version_id,
            post_id=self.started.post_id,
            analysis=self.started.analysis,
            attempt=self.drafted.attempt,
            model=self.drafted.model,
            claims=(*kept, *approved),
        )
