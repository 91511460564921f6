"""Decide whether a run was lost, and request it again: only if no worker holds one of its messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from contracts.v1 import InvestigationFailed, InvestigationRequested
from lifecycle.investigation import Investigation

MAX_RESCUES: Final = 3
"""A run that is lost more often fails: probably the run itself is the cause."""


@dataclass(frozen=True, slots=True)
class Watermarks:
    """The sequences up to which each consumer has acknowledged every message.

    `investigator` is the consumer of runs that the instance pays for, `readers` that of runs on readers' keys.
    """

    investigator: int
    validator: int
    readers: int


def rescue(investigation: Investigation, settled: Watermarks) -> InvestigationRequested | InvestigationFailed | None:
    """The request that restarts a lost run, or its failure if it was lost too often.

    None if the run is over, or if a worker still holds one of its messages, which only the broker knows: a run that
    merely takes long must not be paid for twice.
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
        return None  # all verdicts exist: its end will be published
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
        reason=f"it was lost {MAX_RESCUES + 1} times: no worker had it, and it had not ended",
    )
