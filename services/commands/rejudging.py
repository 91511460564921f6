"""A verdict reached again: today's validator over the claim, its pages as they were fetched, and the recorded answer.

What is compared is the whole fact. Verdicts of before do not say whether the operator let pages count that nobody could
read: such a one is the same if it follows from either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import ValidationError

from contracts.transcript import Transcript
from contracts.v1 import (
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    ClaimValidationStarted,
    Event,
)
from kit.blobs import BlobMissing
from kit.clock import SystemClock
from kit.errors import Retry
from kit.history import Past
from kit.models.replay import ReplayModel
from services.commands.comparing import Compared, Difference, differences, first_line
from services.commands.recorded import (
    REDELIVERED,
    Blobs,
    Memory,
    NobodysModel,
    NoKeys,
    NotAsked,
    PastRuns,
    RecordedPages,
)
from services.validator.handlers import Validator
from services.validator.ports import Model

Judged = ClaimApproved | ClaimRejected | ClaimValidationFailed | ClaimValidationRetryScheduled
_LATER_FIELDS: Final = ("prompt", "rules", "unchecked_allowed")
"""What verdicts of before did not hold."""


async def rejudged(sequence: int, judged: Judged, entries: Sequence[Past], blobs: Blobs) -> Compared:
    """Judge one claim again, as far as the log had come."""
    step = f"review of claim {judged.claim_id} in round {judged.round}"
    if isinstance(judged, ClaimValidationRetryScheduled):
        step = f"{step}, try {judged.attempt}"
    before = [entry for entry in entries if entry.sequence < sequence]
    proposed = next((each.event for each in before if _proposes(judged, each.event)), None)
    if not isinstance(proposed, ClaimProposed):
        return Compared(step, 1, problem="the claim was never proposed")
    if isinstance(judged, ClaimValidationFailed) and judged.transcript is None:
        return Compared(step, 1, note="no exchange with a model is on record")
    runs = PastRuns(before)
    if (await runs.review_state(proposed)).settled:
        return Compared(step, 1, note="the claim was judged before; the first verdict counts")
    found: list[Compared] = []
    then = judged.unchecked_allowed
    for unchecked_allowed in (False, True) if then is None else (then,):
        try:
            model = await _model(judged, blobs)
            validator = Validator(
                runs,
                Memory(blobs),
                NoKeys(),
                model,
                RecordedPages(judged.sources, blobs),
                SystemClock(),
                unchecked_allowed=unchecked_allowed,
            )
            now = await _told(validator, proposed)
        except (BlobMissing, ValidationError, UnicodeDecodeError) as error:
            return Compared(step, 1, problem=f"what it was judged by cannot be read: {first_line(error)}")
        except NotAsked as error:
            found.append(Compared(step, 1, (Difference(step, judged.SUBJECT, str(error)),)))
            continue
        found.append(Compared(step, 1, tuple(differences(step, [judged], [_as_then(judged, event) for event in now]))))
        if found[-1].same:
            return found[-1]
    return found[0]


async def _model(judged: Judged, blobs: Blobs) -> Model:
    if judged.transcript is None:
        return NobodysModel()
    return ReplayModel(Transcript.model_validate_json(await blobs.get_text(judged.transcript)))


async def _told(validator: Validator, proposed: ClaimProposed) -> list[Event]:
    now: list[Event] = []
    try:
        async for event in validator.on_claim_proposed(proposed, REDELIVERED):
            if not isinstance(event, ClaimValidationStarted):
                now.append(event)  # noqa: PERF401 (what was told before an exception counts)
    except Retry:
        pass  # the fact that says so was told before
    return now


def _proposes(judged: Judged, event: Event) -> bool:
    return isinstance(event, ClaimProposed) and (event.claim_id, event.round) == (judged.claim_id, judged.round)


def _as_then(judged: Judged, now: Event) -> Event:
    """Without what facts of that time did not hold."""
    lacking = {name: None for name in _LATER_FIELDS if getattr(judged, name) is None and hasattr(now, name)}
    return now.model_copy(update=lacking)
