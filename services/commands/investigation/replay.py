"""Replay an investigation with its recorded inputs, and compare the events with those in the log.

All inputs come from the log and the blob store: the frozen input, the providers' answers, the pages that a model or the
validator read. A difference means that the code or the record has changed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from itertools import takewhile
from typing import Final

from pydantic import ValidationError

from analyses import flagging_kind
from analyses.flagging import FlaggingKind, look_step
from contracts.transcript import Transcript, TranscriptSegment, join_segments
from contracts.v1 import (
    ClaimHeld,
    ClaimProposed,
    ClaimRetained,
    Event,
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
)
from contracts.v1.investigation import CANCELLED
from kit.blob_settings import BlobMissing
from kit.clock import SystemClock
from kit.errors import Reject, Retry
from kit.history import StoredFact
from kit.models.base import Limits
from kit.models.replay import ReplayModel
from lifecycle.conclusion import conclude
from lifecycle.investigation import Investigation
from lifecycle.planning import chain_segments
from services.commands.investigation.comparison import Comparison, describe_rules, diff_events, summarize_error
from services.commands.investigation.recorded_ports import (
    REDELIVERED,
    Blobs,
    DummyKeys,
    NoPriors,
    RecordedBlobs,
    RecordedLog,
    RecordedResearch,
)
from services.commands.investigation.review_replay import ReviewOutcome, replay_review
from services.investigator.handlers import Investigator

_NUMBERED: Final = (ClaimProposed, InvestigationAdvanced, InvestigationDrafted, InvestigationRetryScheduled)


async def replay(past: Sequence[StoredFact], blobs: Blobs) -> AsyncIterator[Comparison]:
    """Replay every recorded step, in the order of the log."""
    kind: FlaggingKind | None = None
    for entry in past:
        event = entry.event.approval if isinstance(entry.event, ClaimHeld) else entry.event
        if isinstance(event, InvestigationStarted):
            kind = flagging_kind(event.analysis)
            look = look_step(kind, is_update=event.input.parent_investigation_id is not None)
            compared = await _replay_attempt(entry.sequence, event, past, blobs)
            yield replace(compared, made_under=describe_rules(event.rules, event.prompt, kind, look.prompt))
        elif isinstance(event, ReviewOutcome):
            compared = await replay_review(entry.sequence, event, past, blobs)
            if kind is not None:
                under = describe_rules(event.rules, event.prompt, kind, kind.review.prompt, event.policy)
                compared = replace(compared, made_under=under)
            yield compared
    for compared in _replay_conclusions(past):
        yield compared


async def _replay_attempt(
    sequence: int, started: InvestigationStarted, entries: Sequence[StoredFact], blobs: Blobs
) -> Comparison:
    step = f"attempt {started.attempt}"
    before = [entry for entry in entries if entry.sequence < sequence]
    request = next((each.event for each in reversed(before) if isinstance(each.event, InvestigationRequested)), None)
    recorded, cut_short = _cut_to_record(list(_events_of_attempt(started, sequence, entries)))
    if request is None:
        return Comparison(step, len(recorded), problem="its request is not in the log")
    try:
        transcript = await _read_transcript(recorded, entries, blobs)
        if transcript is None:
            return Comparison(step, len(recorded), note="no exchange with a model is on record")
        model = ReplayModel(transcript)
    except (BlobMissing, ValidationError, UnicodeDecodeError) as error:
        return Comparison(step, len(recorded), problem=f"its transcript cannot be read: {summarize_error(error)}")
    log = RecordedLog(before, started.input)
    ended_by = _log_that_ended(recorded, transcript, entries)
    investigator = Investigator(
        log,
        RecordedBlobs(blobs),
        DummyKeys(),
        model,
        SystemClock(),
        started.worker,
        priors=NoPriors(),
        research=RecordedResearch(),
        limits=Limits(cost_micro_usd=started.cost_limit_micro_usd),
        gates=started.gates,
    )
    replayed: list[Event] = []
    handling = investigator.on_investigation_requested(request, started.delivery_count or REDELIVERED)
    try:
        async with aclosing(handling) as events:  # type: ignore[type-var]  # async generators have aclose
            async for event in events:
                replayed.append(event)
                if ended_by and len(replayed) == len(recorded) - 1:
                    log.visible = ended_by
                if cut_short and len(replayed) == len(recorded):
                    break
    except Retry:
        pass  # its event was yielded before
    except (BlobMissing, Reject) as error:
        return Comparison(step, len(recorded), problem=summarize_error(error))
    return Comparison(step, len(recorded), tuple(diff_events(step, recorded, replayed)))


def _cut_to_record(events: list[Event]) -> tuple[list[Event], bool]:
    """The events of an attempt that its recorded exchange leads to, and whether others were cut off."""
    if any(getattr(event, "transcript", None) is not None for event in events):
        return events, False
    advances = [place for place, event in enumerate(events) if isinstance(event, InvestigationAdvanced)]
    return (events[: advances[-1] + 1], True) if advances else (events, False)


def _log_that_ended(
    recorded: Sequence[Event], transcript: Transcript, entries: Sequence[StoredFact]
) -> list[StoredFact]:
    """The part of the log that ended an attempt at its last checkpoint; empty if it ended by itself."""
    advanced, end = (None, *recorded)[-2:]
    if not isinstance(end, InvestigationFailed) or not isinstance(advanced, InvestigationAdvanced):
        return []
    if len(transcript.calls) != advanced.calls:
        return []
    return list(takewhile(lambda entry: entry.event != end, entries))


async def _read_transcript(events: Sequence[Event], entries: Sequence[StoredFact], blobs: Blobs) -> Transcript | None:
    """The transcript of an attempt: recorded at its end, or joined from its checkpoints."""
    for event in events:
        if (ref := getattr(event, "transcript", None)) is not None:
            return Transcript.model_validate_json(await blobs.get_text(ref))
    advances = [event for event in events if isinstance(event, InvestigationAdvanced)]
    if not advances:
        return None
    every = [entry.event for entry in entries if isinstance(entry.event, InvestigationAdvanced)]
    refs = chain_segments([*(event for event in every if event != advances[-1]), advances[-1]])
    record = join_segments([TranscriptSegment.model_validate_json(await blobs.get_text(ref)) for ref in refs])
    if record is None:
        raise BlobMissing("a segment of it is not on record")
    first = advances[0]
    taken_over = first.calls - len(TranscriptSegment.model_validate_json(await blobs.get_text(first.segment)).calls)
    return record.model_copy(update={"taken_over": taken_over})


def _events_of_attempt(started: InvestigationStarted, sequence: int, entries: Sequence[StoredFact]) -> Iterator[Event]:
    """The events of this attempt; `ClaimRetained` names no attempt and belongs to the running one."""
    following = (
        each.sequence for each in entries if each.sequence > sequence and isinstance(each.event, InvestigationStarted)
    )
    until = next(following, entries[-1].sequence + 1)
    yield started
    for entry in entries:
        event = entry.event
        if isinstance(event, ClaimRetained):
            if sequence < entry.sequence < until:
                yield event
        elif isinstance(event, InvestigationFailed):
            # An error name is set only by the attempt itself.
            if event.attempt == started.attempt and event.error_name is not None:
                yield event
        elif isinstance(event, _NUMBERED) and event.attempt == started.attempt:
            yield event


def _replay_conclusions(entries: Sequence[StoredFact]) -> Iterator[Comparison]:
    """Derive the end of each round again from the events before it; failures of a run itself are not derived."""
    found: Investigation | None = None
    concluded: dict[int, Event] = {}
    for entry in entries:
        event = entry.event
        if found is None:
            found = Investigation.fold([entry])
            continue
        number = found.round.number
        if isinstance(event, InvestigationCompleted | InvestigationFailed) and number in concluded:
            recorded, replayed = [event], [concluded.pop(number)]
            if not _is_cancelled(event):
                step = f"the end of round {number}"
                yield Comparison(step, 1, tuple(diff_events(step, recorded, replayed)))
        elif isinstance(event, InvestigationCompleted):
            yield Comparison(f"the end of round {number}", 1, problem="it does not follow from the events before it")
        found.apply(entry)
        if (end := conclude(found)) is not None:
            concluded.setdefault(found.round.number, end)


def _is_cancelled(event: Event) -> bool:
    return isinstance(event, InvestigationFailed) and event.reason == CANCELLED
