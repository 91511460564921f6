"""Whether a run was lost, and how it is requested anew: only if no worker holds one of its messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from contracts.v1 import InvestigationFailed, InvestigationRequested
from lifecycle.investigation import Investigation

MAX_RESCUES: Final = 3
"""A run that was lost more often fails: the loss is not by chance."""


@dataclass(frozen=True, slots=True)
class Watermarks:
    """The sequences up to which a service's consumer has acknowledged every message.

    `investigator` is for runs that the instance pays for, `readers` for those on readers' keys.
    """

    investigator: int
    validator: int
    readers: int


def rescue(investigation: Investigation, settled: Watermarks) -> InvestigationRequested | InvestigationFailed | None:
    """The request that restarts a lost run, or its failure if it was lost too often.

    None if it is over, or a worker still holds one of its messages, which only the broker knows: a run that merely
    takes long must not be paid for twice.
    Shapes: `investigation` was read after `settled`.
    """
    round_, request = investigation.round, investigation.request
    if investigation.last_request > (settled.readers if request.key_source == "USER" else settled.investigator):
        return None
    if not investigation.progress.is_open:
        return None
    if any(each.proposed_at > settled.validator for each in round_.candidates.values() if not each.is_settled):
        return None
    judged = {each.claim_id for each in round_.candidates.values() if each.is_settled}
    if round_.drafted is not None and judged.issuperset(round_.drafted.claim_ids):
        return None  # all verdicts are there: its end will be published
    if sum(each.sequence > investigation.last_failure for each in investigation.rounds) > MAX_RESCUES:
        return _give_up(investigation)
    follows = investigation.last_request
    return request.model_copy(update={"round": round_.number + 1, "follows": follows, "requested_by": "SELECTOR"})


def _give_up(investigation: Investigation) -> InvestigationFailed:
    request = investigation.request
    started = (attempt.number for each in investigation.rounds for attempt in each.started)
    return InvestigationFailed(
        follows=investigation.last_failure,
        investigation_id=request.investigation_id,
        version_id=request.version_id,
        attempt=max(started, default=0),
        round=request.round,
        failure="TRANSIENT",
        reason=f"it was lost {MAX_RESCUES + 1} times: nobody had it in hand, and it had not ended",
    )
