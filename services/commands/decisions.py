"""What an operator decides about an investigation, as the facts that say so: pure.

They follow the facts that were read, so one who acts upon an old view is refused by the log and not obeyed.
"""

from __future__ import annotations

from contracts.v1 import InvestigationFailed, InvestigationRequested
from lifecycle.investigation import Investigation
from services.commands.replaying import CANCELLED


class Refused(Exception):
    """That cannot be done to an investigation in this state."""


def again(found: Investigation) -> InvestigationRequested:
    """A new round of a failed one. Raises: Refused."""
    if found.progress.status != "FAILED":
        raise Refused(f"it is {found.progress.status}; only a FAILED investigation can be asked for again")
    request = found.request
    return InvestigationRequested(
        follows=found.last_request,
        investigation_id=request.investigation_id,
        version_id=request.version_id,
        post_id=request.post_id,
        analysis=request.analysis,
        requested_by="READER",
        round=request.round + 1,
    )


def cancelled(found: Investigation) -> InvestigationFailed:
    """The end of one that is not over. Shapes: it names the attempt under way, if one is. Raises: Refused."""
    if not found.progress.is_open:
        raise Refused(f"it is {found.progress.status} already; there is nothing to cancel")
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
