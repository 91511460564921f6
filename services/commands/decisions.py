"""What an operator decides about an investigation, as the facts that say so: pure.

They follow the facts that were read, so one who acts upon an old view is refused by the log and not obeyed.
"""

from __future__ import annotations

from collections.abc import Sequence

from contracts.v1 import Event, InvestigationFailed, InvestigationRequested
from kit.history import Past
from services.commands.replaying import CANCELLED
from services.commands.story import Story


class Refused(Exception):
    """That cannot be done to an investigation in this state."""


def again(past: Sequence[Past], story: Story) -> InvestigationRequested:
    """A new round of a failed one. Raises: Refused."""
    if story.status != "FAILED":
        raise Refused(f"it is {story.status}; only a FAILED investigation can be asked for again")
    return InvestigationRequested(
        follows=_last(past, InvestigationRequested),
        investigation_id=story.investigation_id,
        version_id=story.version_id,
        post_id=story.post_id,
        analysis=story.analysis,
        requested_by="READER",
        round=story.rounds[-1].number + 1,
    )


def cancelled(past: Sequence[Past], story: Story) -> InvestigationFailed:
    """The end of one that is not over. Shapes: it names the attempt under way, if one is. Raises: Refused."""
    if story.status not in ("PENDING", "PROCESSING"):
        raise Refused(f"it is {story.status} already; there is nothing to cancel")
    attempts = story.rounds[-1].attempts
    under_way = attempts[-1].number if attempts and attempts[-1].ended_at is None else 0
    return InvestigationFailed(
        follows=_last(past, InvestigationFailed),
        investigation_id=story.investigation_id,
        version_id=story.version_id,
        attempt=under_way,
        round=story.rounds[-1].number,
        failure="NON_RETRYABLE",
        reason=CANCELLED,
    )


def _last(past: Sequence[Past], kind: type[Event]) -> int:
    return max((each.sequence for each in past if isinstance(each.envelope.event, kind)), default=0)
