"""Events that an operator publishes about an investigation. Pure.

They are once-events that follow what was read, so the log refuses a decision made on outdated information.
"""

from __future__ import annotations

from contracts.v1 import InvestigationFailed, InvestigationRequested
from contracts.v1.investigation import CANCELLED
from lifecycle.investigation import Investigation


class NotAllowed(Exception):
    """The investigation is not in the right state."""


def make_retry(found: Investigation) -> InvestigationRequested:
    """Request another round of a failed investigation. Raises: NotAllowed."""
    if found.progress.status != "FAILED":
        raise NotAllowed(f"it is {found.progress.status}; only a FAILED investigation can be retried")
    request = found.request
    return InvestigationRequested(
        follows=found.last_request,
        investigation_id=request.investigation_id,
        version_id=request.version_id,
        post_id=request.post_id,
        analysis=request.analysis,
        origin=request.origin,
        origin_id=request.origin_id,
        objection=request.objection,
        requested_by="READER",
        round=request.round + 1,
    )


def make_cancellation(found: Investigation) -> InvestigationFailed:
    """End an open investigation. Shapes: the event names the running attempt, if there is one. Raises: NotAllowed."""
    if not found.progress.is_open:
        raise NotAllowed(f"it is {found.progress.status} already; there is nothing to cancel")
    last = max(found.round.started, key=lambda attempt: attempt.number, default=None)
    return InvestigationFailed(
        follows=found.last_failure,
        investigation_id=found.request.investigation_id,
        version_id=found.request.version_id,
        attempt=last.number if last is not None and last.ended is None else 0,
        round=found.round.number,
        failure="NON_RETRYABLE",
        reason=CANCELLED,
    )
