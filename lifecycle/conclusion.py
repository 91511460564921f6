"""Decide how an investigation ends. Deterministic, so replicas and replays conclude the same.

An investigation without a verdict for every candidate is never concluded, and an error is never an approval.
"""

from __future__ import annotations

from uuid import UUID

from contracts.v1 import (
    ClaimApproved,
    ClaimValidationFailed,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationStarted,
)
from contracts.v1.parts import ClaimPayload, PublishedClaim
from lifecycle.investigation import Investigation
from lifecycle.rounds import Round

End = InvestigationCompleted | InvestigationFailed


def conclude(investigation: Investigation) -> End | None:
    """The event that ends this investigation; None while a verdict is missing."""
    round_ = investigation.round
    started = max(round_.started, key=lambda attempt: attempt.number, default=None)
    if not investigation.progress.is_open or started is None or started.started is None:
        return None
    draft = round_.drafted
    if draft is None:  # in progress; a failed review already decides that there will be no result
        lost = next((verdict for verdict in _verdicts(round_) if isinstance(verdict, ClaimValidationFailed)), None)
        return None if lost is None else _fail(investigation, started.number, lost)
    for claim_id in draft.claim_ids:
        verdict = _find_verdict(round_, claim_id)
        if isinstance(verdict, ClaimValidationFailed) and claim_id not in draft.retained_ids:
            return _fail(investigation, draft.attempt, verdict)
    claims = _collect_claims(round_, draft)
    return None if claims is None else _complete(round_, started.started, draft, claims)


def _collect_claims(round_: Round, draft: InvestigationDrafted) -> tuple[PublishedClaim, ...] | None:
    """The claims to publish, in the order of the draft; None if a verdict is missing."""
    before = [each for each in draft.retained_ids if each not in draft.claim_ids]
    found: list[PublishedClaim] = []
    for claim_id in (*before, *draft.claim_ids):
        payload: ClaimPayload | None = None
        if claim_id in draft.retained_ids:
            candidate = round_.candidates.get(claim_id)
            if candidate is None or candidate.retained is None:
                return None
            payload = candidate.retained.payload
        else:
            verdict = _find_verdict(round_, claim_id)
            if verdict is None:
                return None
            payload = verdict.payload if isinstance(verdict, ClaimApproved) else None
        if payload is not None:
            found.append(PublishedClaim(claim_id=claim_id, payload=payload))
    return tuple(found)


def _verdicts(round_: Round) -> list[object]:
    return [candidate.verdict for candidate in round_.candidates.values()]


def _find_verdict(round_: Round, claim_id: UUID) -> object:
    candidate = round_.candidates.get(claim_id)
    return None if candidate is None else candidate.verdict


def _complete(
    round_: Round, started: InvestigationStarted, draft: InvestigationDrafted, claims: tuple[PublishedClaim, ...]
) -> InvestigationCompleted:
    return InvestigationCompleted(
        investigation_id=started.investigation_id,
        version_id=started.version_id,
        post_id=started.post_id,
        analysis=started.analysis,
        attempt=draft.attempt,
        model=draft.model,
        claims=claims,
        provenance=started.input.provenance,
        round=round_.number,
    )


def _fail(investigation: Investigation, attempt: int, verdict: ClaimValidationFailed) -> InvestigationFailed:
    request = investigation.request
    return InvestigationFailed(
        follows=investigation.last_failure,
        investigation_id=request.investigation_id,
        version_id=request.version_id,
        attempt=attempt,
        round=request.round,
        failure=verdict.failure,
        fault=verdict.fault,
        reason=f"validation: {verdict.reason}",
        status_code=verdict.status_code,
    )
