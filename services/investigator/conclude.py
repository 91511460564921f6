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
                    self.request, self.started, self.drafted, self.over = event, None, None, False
                    self.verdicts.clear()
                    self.retained.clear()
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
        if self.over or self.started is None or self.request is None:
            return None
        if self.drafted is None:
            return self._hopeless(self.request, self.started)
        kept = set(self.drafted.retained_ids)
        before = [each for each in self.drafted.retained_ids if each not in self.drafted.claim_ids]
        payloads: list[tuple[UUID, ClaimPayload]] = []
        missing = False
        for claim_id in (*before, *self.drafted.claim_ids):
            verdict = self.verdicts.get(claim_id)
            if claim_id in kept:
                payload = self.retained.get(claim_id)
                missing |= payload is None
            elif isinstance(verdict, ClaimValidationFailed):
                return self._failed(self.request, self.drafted.attempt, verdict)
            else:
                payload = verdict.payload if isinstance(verdict, ClaimApproved) else None
                missing |= verdict is None
            if payload is not None:
                payloads.append((claim_id, payload))
        if missing:
            return None
        return InvestigationCompleted(
            investigation_id=self.started.investigation_id,
            version_id=self.started.version_id,
            post_id=self.started.post_id,
            analysis=self.started.analysis,
            attempt=self.drafted.attempt,
            model=self.drafted.model,
            claims=tuple(PublishedClaim(claim_id=claim_id, payload=payload) for claim_id, payload in payloads),
            provenance=self.started.input.provenance,
            round=self.request.round,
        )

    def _hopeless(self, request: InvestigationRequested, started: InvestigationStarted) -> InvestigationFailed | None:
        """The end of a run under way whose result is lost with one of its reviews: the rest would be for nothing."""
        for verdict in self.verdicts.values():
            if isinstance(verdict, ClaimValidationFailed):
                return self._failed(request, started.attempt, verdict)
        return None

    def _failed(
        self, request: InvestigationRequested, attempt: int, verdict: ClaimValidationFailed
    ) -> InvestigationFailed:
        return InvestigationFailed(
            follows=self.last_failure,
            investigation_id=request.investigation_id,
            version_id=request.version_id,
            attempt=attempt,
            round=request.round,
            failure=verdict.failure,
            fault=verdict.fault,
            reason=f"validation: {verdict.reason}",
            status_code=verdict.status_code,
        )
