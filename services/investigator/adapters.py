"""The investigator's view of the log, and the loop that concludes investigations."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from uuid import UUID

import structlog

from contracts.topology import CONCLUDE_MARK, CONCLUDED, ERRATA, MARKS
from contracts.v1 import (
    InvestigationCompleted,
    InvestigationFailed,
    InvestigationRequested,
    OnceEvent,
    Undecodable,
    VersionRegistered,
    VersionSeen,
    VersionVerified,
    decode,
)
from contracts.v1.parts import InvestigationInput
from contracts.v1.version import VersionEvent
from kit.bus import AlreadyThere, Bus, BusError
from kit.cancelling import together
from kit.errors import Reject, Retry
from kit.history import history, latest, standing
from kit.kv import Bucket
from kit.ordered import OrderedLog, Recorded
from kit.vault import UserKeys
from services.investigator.conclude import Open
from services.investigator.domain import Entry
from services.investigator.pictures import Pictures
from services.investigator.ports import Blobs
from services.investigator.snapshot import look, with_markdown
from services.investigator.waiting import Waiting

MARK_EVERY_S = 0.5
LOOK_AFTER_S = 5.0
LOOK_AGAIN_MAX_S = 600.0

log = structlog.get_logger(__name__)


class EventLog:
    """History and snapshots, read from the log each time."""

    def __init__(self, bus: Bus, texts: Blobs, pictures: Pictures) -> None:
        self._bus = bus
        self._texts = texts
        self._pictures = pictures

    async def history(self, investigation_id: UUID) -> Sequence[Entry]:
        """One investigation's own facts in order."""
        return [Entry(past.sequence, past.envelope.event) for past in await history(self._bus, str(investigation_id))]

    async def snapshot(self, version_id: UUID) -> InvestigationInput | None:
        """The version's text, Markdown and pictures, with the best provenance and newest description the log has."""
        subjects = [f"{event.SUBJECT}.{version_id}" for event in (VersionRegistered, VersionVerified, VersionSeen)]
        found = await latest(self._bus, *subjects) or await standing(self._bus, *subjects)  # a replica may lag
        facts = [past.envelope.event for past in found]
        seen = look([fact for fact in facts if isinstance(fact, VersionEvent)])
        if seen is None:
            return None
        taken = await with_markdown(seen, self._texts)
        return taken.model_copy(update={"pictures": await self._pictures.gather(seen.occurrences)})


class Concluder:
    """Folds the log and publishes the end of each investigation; keeps a low-water mark, so a restart is short."""

    def __init__(self, bus: Bus, keys: UserKeys, waiting: Waiting) -> None:
        self._bus = bus
        self._keys = keys
        self._waiting = waiting
        self._open: dict[str, Open] = {}
        self._correlations: dict[str, UUID] = {}
        self._look: dict[str, tuple[float, float]] = {}
        self._last = 0

    async def run(self) -> None:
        """Fold for ever."""
        marks = await Bucket.open(self._bus, MARKS)
        mark = int(await marks.get(CONCLUDE_MARK) or b"0")
        self._open.clear()
        self._waiting.clear()
        self._look.clear()
        self._last = mark
        # Without its mark a restart would begin ever further back.
        await together(self._keep_mark(marks), self._follow(mark))

    async def _follow(self, mark: int) -> None:
        async for batch in OrderedLog(self._bus, ERRATA.name, mark + 1, subjects=CONCLUDED).batches():
            await self._fold(batch)

    async def _fold(self, batch: Sequence[Recorded]) -> None:
        touched: dict[str, UUID] = {}
        for recorded in batch:
            self._last = recorded.sequence
            try:
                envelope = decode(recorded.subject, recorded.data)
            except Undecodable as error:
                log.warning("undecodable fact passed over", sequence=recorded.sequence, error=str(error))
                continue
            key = envelope.event.key()
            state = self._open.get(key)
            if state is None:
                if not isinstance(envelope.event, InvestigationRequested):
                    self._waiting.passed(recorded.sequence)
                    continue  # a straggler of an investigation that is over
                state = self._open[key] = await self._opened(recorded.sequence, envelope.event)
            state.add(recorded.sequence, envelope.event)
            self._waiting.seen(recorded.sequence, key, envelope.event, recorded.time)
            touched[key] = envelope.id
            self._correlations[key] = envelope.correlation
        over, ends = self._settled(touched)
        await asyncio.gather(
            *(self._close(key, state) for key, state in over),
            *(self._publish(end, self._correlations[key], cause) for key, end, cause in ends),
        )

    async def _opened(self, sequence: int, request: InvestigationRequested) -> Open:
        """An end must follow the end of the round before, which was forgotten when it came."""
        if request.round == 1:
            return Open(since=sequence)
        ends = [
            past.sequence
            for past in await history(self._bus, request.key())
            if isinstance(past.envelope.event, InvestigationFailed) and past.sequence < sequence
        ]
        return Open(since=sequence, last_failure=max(ends, default=0))

    def _settled(self, touched: Mapping[str, UUID]) -> tuple[list[tuple[str, Open]], list[tuple[str, OnceEvent, UUID]]]:
        """Of what was touched, what is over, and the ends that are to be told, each with its cause."""
        over, ends = [], []
        for key, cause in touched.items():
            state = self._open.get(key)
            if state is None:  # closed meanwhile as a repetition
                continue
            if state.over:
                over.append((key, state))
            elif (end := state.decide()) is not None:
                ends.append((key, end, cause))
        return over, ends

    async def _publish(self, end: OnceEvent, correlation: UUID, cause: UUID) -> None:
        with suppress(AlreadyThere):  # a replica was faster, or this is a replay: its fact is on its way to us
            await self._bus.publish(end, correlation=correlation, cause=cause)

    async def _close(self, key: str, state: Open) -> None:
        if state.request is not None and state.request.key_source == "USER" and await self._is_last(state.request):
            await self._keys.discard(UUID(key), state.request.attachment)
        self._open.pop(key, None)
        self._waiting.ended(key)
        self._correlations.pop(key, None)
        self._look.pop(key, None)

    async def _is_last(self, request: InvestigationRequested) -> bool:
        """Whether no later round has the same key. Folding old facts again must not take that of a run under way."""
        newest = [past.envelope.event for past in await latest(self._bus, request.subject())]
        return not any(
            isinstance(each, InvestigationRequested)
            and each.round > request.round
            and each.attachment == request.attachment
            for each in newest
        )

    async def _close_repeated(self) -> None:
        """Close what a request opened that the log holds twice: its investigation is over, and nothing more will come.

        Whether it is over is asked of the log, seldom, and only about what has been open for a while.
        """
        now = asyncio.get_running_loop().time()
        for key, state in tuple(self._open.items()):
            at, delay_s = self._look.setdefault(key, (now + LOOK_AFTER_S, LOOK_AFTER_S))
            if now < at or state.request is None:
                continue
            self._look[key] = now + delay_s, min(delay_s * 2, LOOK_AGAIN_MAX_S)
            ends = await latest(
                self._bus, f"{InvestigationCompleted.SUBJECT}.{key}", f"{InvestigationFailed.SUBJECT}.{key}"
            )
            if any(_ends(end.envelope.event, state.request.round) for end in ends):
                await self._close(key, state)

    async def _keep_mark(self, marks: Bucket) -> None:
        written = None
        while True:
            await asyncio.sleep(MARK_EVERY_S)
            try:
                await self._close_repeated()
                mark = min((state.since - 1 for state in self._open.values()), default=self._last)
                if mark != written:
                    await marks.put(CONCLUDE_MARK, str(mark).encode())
                    written = mark
            except (BusError, Retry, Reject) as error:
                log.warning("mark not kept, trying again", error=str(error))


def _ends(event: object, round_: int) -> bool:
    return isinstance(event, InvestigationCompleted) or (
        isinstance(event, InvestigationFailed) and event.round >= round_
    )
