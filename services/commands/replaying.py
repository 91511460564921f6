"""An investigation run again over what its providers answered then: the same code, the same facts, or our code changed.

Everything that came from outside is taken from the log and the blob store: the frozen input, each provider's answers,
each page a model read or a validator looked at. What is compared is the facts a run tells, as they are stored, without
who ran it and when.
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
from kit.blobs import BlobMissing
from kit.clock import SystemClock
from kit.errors import Reject, Retry
from kit.history import Past
from kit.models.base import Limits
from kit.models.replay import ReplayModel
from lifecycle.conclusion import conclusion
from lifecycle.investigation import Investigation
from lifecycle.planning import chain
from services.commands.comparing import Compared, differences, earlier, first_line
from services.commands.recorded import REDELIVERED, Blobs, Memory, NoKeys, NoPriors, PastLog, Recorded
from services.commands.rejudging import Judged, rejudged
from services.investigator.handlers import Investigator

_NUMBERED: Final = (ClaimProposed, InvestigationAdvanced, InvestigationDrafted, InvestigationRetryScheduled)
CANCELLED: Final = "cancelled by operator"


async def replay(past: Sequence[Past], blobs: Blobs) -> AsyncIterator[Compared]:
    """Run every recorded step of an investigation again, in the order of the log."""
    kind: FlaggingKind | None = None
    for entry in past:
        event = entry.event
        if isinstance(event, InvestigationStarted):
            kind = flagging_kind(event.analysis)
            look = look_step(kind, is_update=event.input.parent_investigation_id is not None)
            compared = await _attempt(entry.sequence, event, past, blobs)
            yield replace(compared, made_under=earlier(event.rules, event.prompt, kind, look.prompt))
        elif isinstance(event, Judged):
            compared = await rejudged(entry.sequence, event, past, blobs)
            under = earlier(event.rules, event.prompt, kind, kind.review.prompt) if kind is not None else None
            yield replace(compared, made_under=under)
    for compared in _conclusions(past):
        yield compared


async def _attempt(sequence: int, started: InvestigationStarted, entries: Sequence[Past], blobs: Blobs) -> Compared:
    step = f"attempt {started.attempt}"
    before = [entry for entry in entries if entry.sequence < sequence]
    asked = next((each.event for each in reversed(before) if isinstance(each.event, InvestigationRequested)), None)
    then, cut_short = _on_record(list(_told_by(started, sequence, entries)))
    if asked is None:
        return Compared(step, len(then), problem="it was never asked for")
    try:
        transcript = await _transcript(then, entries, blobs)
        if transcript is None:
            return Compared(step, len(then), note="no exchange with a model is on record")
        model = ReplayModel(transcript)
    except (BlobMissing, ValidationError, UnicodeDecodeError) as error:
        return Compared(step, len(then), problem=f"its transcript cannot be read: {first_line(error)}")
    log = PastLog(before, started.input)
    ended_by = _ended_by_the_log(then, transcript, entries)
    investigator = Investigator(
        log,
        Memory(blobs),
        NoKeys(),
        model,
        SystemClock(),
        started.worker,
        priors=NoPriors(),
        research=Recorded(),
        limits=Limits(cost_micro_usd=started.cost_limit_micro_usd),
    )
    now: list[Event] = []
    told = investigator.on_investigation_requested(asked, started.delivery or REDELIVERED)
    try:
        async with aclosing(told) as events:  # type: ignore[type-var]  # async generators have aclose
            async for event in events:
                now.append(event)
                if ended_by and len(now) == len(then) - 1:
                    log.shown = ended_by
                if cut_short and len(now) == len(then):
                    break
    except Retry:
        pass  # the fact that says so was told before
    except (BlobMissing, Reject) as error:
        return Compared(step, len(then), problem=first_line(error))
    return Compared(step, len(then), tuple(differences(step, then, now)))


def _on_record(told: list[Event]) -> tuple[list[Event], bool]:
    """What an attempt told, as far as the exchange that led to it is on record; whether it was cut short there."""
    if any(getattr(event, "transcript", None) is not None for event in told):
        return told, False
    advances = [place for place, event in enumerate(told) if isinstance(event, InvestigationAdvanced)]
    return (told[: advances[-1] + 1], True) if advances else (told, False)


def _ended_by_the_log(then: Sequence[Event], transcript: Transcript, entries: Sequence[Past]) -> list[Past]:
    """What stood in the log that ended an attempt where it had advanced to; nothing if it ended by itself."""
    advanced, end = (None, *then)[-2:]
    if not isinstance(end, InvestigationFailed) or not isinstance(advanced, InvestigationAdvanced):
        return []
    if len(transcript.calls) != advanced.calls:
        return []
    return list(takewhile(lambda entry: entry.event != end, entries))


async def _transcript(told: Sequence[Event], entries: Sequence[Past], blobs: Blobs) -> Transcript | None:
    """The exchange of an attempt: as it was recorded at its end, or as far as it had advanced."""
    for event in told:
        if (ref := getattr(event, "transcript", None)) is not None:
            return Transcript.model_validate_json(await blobs.get_text(ref))
    advances = [event for event in told if isinstance(event, InvestigationAdvanced)]
    if not advances:
        return None
    earlier = [entry.event for entry in entries if isinstance(entry.event, InvestigationAdvanced)]
    refs = chain([*(event for event in earlier if event != advances[-1]), advances[-1]])
    record = join_segments([TranscriptSegment.model_validate_json(await blobs.get_text(ref)) for ref in refs])
    if record is None:
        raise BlobMissing("a segment of it is not on record")
    first = advances[0]
    taken_over = first.calls - len(TranscriptSegment.model_validate_json(await blobs.get_text(first.stretch)).calls)
    return record.model_copy(update={"taken_over": taken_over})


def _told_by(started: InvestigationStarted, sequence: int, entries: Sequence[Past]) -> Iterator[Event]:
    """The facts that this attempt told; what was kept names no attempt, and belongs to the one under way."""
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
            # Only the attempt itself knows by what kind of error it ended.
            if event.attempt == started.attempt and event.error_name is not None:
                yield event
        elif isinstance(event, _NUMBERED) and event.attempt == started.attempt:
            yield event


def _conclusions(entries: Sequence[Past]) -> Iterator[Compared]:
    """Each end that follows from the facts before it, folded again; a run's own failure is not one of them."""
    found: Investigation | None = None
    concluded: dict[int, Event] = {}
    for entry in entries:
        event = entry.event
        if found is None:
            found = Investigation.of([entry])
            continue
        asked = found.round.number
        if isinstance(event, InvestigationCompleted | InvestigationFailed) and asked in concluded:
            then, now = [event], [concluded.pop(asked)]
            if not _is_cancelled(event):
                step = f"the end of round {asked}"
                yield Compared(step, 1, tuple(differences(step, then, now)))
        elif isinstance(event, InvestigationCompleted):
            yield Compared(f"the end of round {asked}", 1, problem="it does not follow from the facts before it")
        found.apply(entry)
        if (end := conclusion(found)) is not None:
            concluded.setdefault(found.round.number, end)


def _is_cancelled(event: Event) -> bool:
    return isinstance(event, InvestigationFailed) and event.reason == CANCELLED
