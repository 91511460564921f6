"""Replay a review: today's validator over the claim, its recorded pages and the recorded answer of the model.

Older verdicts do not record whether unchecked sources were allowed; such a verdict is the same if either setting
reproduces it.
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
from kit.blob_settings import BlobMissing
from kit.clock import SystemClock
from kit.errors import Retry
from kit.history import StoredFact
from kit.models.base import Model
from kit.models.replay import ReplayModel
from services.commands.investigation.comparison import Comparison, Difference, diff_events, summarize_error
from services.commands.investigation.recorded_ports import (
    REDELIVERED,
    Blobs,
    CallNotRecorded,
    DummyKeys,
    RecordedBlobs,
    RecordedPages,
    RecordedRuns,
    UnrecordedModel,
)
from services.validator.handlers import Validator
from services.validator.opinion import SecondOpinion

ReviewOutcome = ClaimApproved | ClaimRejected | ClaimValidationFailed | ClaimValidationRetryScheduled
_LATER_FIELDS: Final = ("prompt", "rules", "unchecked_allowed")
"""Fields that older verdicts do not have."""


async def replay_review(
    sequence: int, outcome: ReviewOutcome, entries: Sequence[StoredFact], blobs: Blobs
) -> Comparison:
    """Review one claim again, with the log as it was then."""
    step = f"review of claim {outcome.claim_id} in round {outcome.round}"
    if isinstance(outcome, ClaimValidationRetryScheduled):
        step = f"{step}, review attempt {outcome.review_attempt}"
    before = [entry for entry in entries if entry.sequence < sequence]
    proposed = next((each.event for each in before if _proposes(outcome, each.event)), None)
    if not isinstance(proposed, ClaimProposed):
        return Comparison(step, 1, problem="the claim was never proposed")
    if isinstance(outcome, ClaimValidationFailed) and outcome.transcript is None:
        return Comparison(step, 1, note="no exchange with a model is on record")
    if outcome.policy is not None and outcome.policy.opinion and outcome.transcript and not outcome.prompt:
        return Comparison(step, 1, note="the second opinion failed before the review")
    runs = RecordedRuns(before)
    if (await runs.review_state(proposed)).settled:
        return Comparison(step, 1, note="the claim had a verdict before; the first one counts")
    found: list[Comparison] = []
    then, policy = outcome.unchecked_allowed, outcome.policy
    for unchecked_allowed in (False, True) if then is None else (then,):
        try:
            model = await _model(outcome, blobs)
            validator = Validator(
                runs,
                RecordedBlobs(blobs),
                DummyKeys(),
                model,
                RecordedPages(outcome.sources, blobs, policy.own_hosts if policy is not None else ()),
                SystemClock(),
                unchecked_allowed=unchecked_allowed,
                policy=policy,
                opinion=await _opinion(outcome, blobs),
            )
            now = await _collect_events(validator, proposed)
        except (BlobMissing, ValidationError, UnicodeDecodeError) as error:
            return Comparison(step, 1, problem=f"the recorded data cannot be read: {summarize_error(error)}")
        except CallNotRecorded as error:
            found.append(Comparison(step, 1, (Difference(step, outcome.SUBJECT, str(error)),)))
            continue
        found.append(
            Comparison(
                step, 1, tuple(diff_events(step, [outcome], [_drop_newer_fields(outcome, event) for event in now]))
            )
        )
        if found[-1].same:
            return found[-1]
    return found[0]


async def _model(outcome: ReviewOutcome, blobs: Blobs) -> Model:
    if outcome.transcript is None:
        return UnrecordedModel()
    return ReplayModel(Transcript.model_validate_json(await blobs.get_text(outcome.transcript)))


async def _opinion(outcome: ReviewOutcome, blobs: Blobs) -> SecondOpinion | None:
    """The second opinion, replayed from its transcript; None if none was recorded."""
    said = outcome.opinion
    if said is None or said.transcript is None:
        return None
    transcript = Transcript.model_validate_json(await blobs.get_text(said.transcript))
    return SecondOpinion(ReplayModel(transcript), RecordedBlobs(blobs))


async def _collect_events(validator: Validator, proposed: ClaimProposed) -> list[Event]:
    now: list[Event] = []
    try:
        async for event in validator.on_claim_proposed(proposed, REDELIVERED):
            if not isinstance(event, ClaimValidationStarted):
                now.append(event)  # noqa: PERF401 (events before an exception count)
    except Retry:
        pass  # its event was yielded before
    return now


def _proposes(outcome: ReviewOutcome, event: Event) -> bool:
    return isinstance(event, ClaimProposed) and (event.claim_id, event.round) == (outcome.claim_id, outcome.round)


def _drop_newer_fields(outcome: ReviewOutcome, now: Event) -> Event:
    """The event without fields that events of that time did not have."""
    lacking = {name: None for name in _LATER_FIELDS if getattr(outcome, name) is None and hasattr(now, name)}
    return now.model_copy(update=lacking)
