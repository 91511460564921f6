"""The investigator's view of the log, and the loop that concludes investigations."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

import structlog

from contracts.topology import CONCLUDE_MARK, CONCLUDED, ERRATA, MARKS
from contracts.v1 import (
    InvestigationRequested,
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
from kit.history import Past, history, latest, standing
from kit.kv import Bucket
from kit.ordered import OrderedLog, Recorded
from kit.vault import UserKeys
from lifecycle.conclusion import End, conclusion
from lifecycle.investigation import Investigation, LoggedEvent
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

    async def history(self, investigation_id: UUID) -> Sequence[LoggedEvent]:
        """One investigation's own facts in order."""
        return await history(self._bus, str(investigation_id))

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


@dataclass(slots=True)
class _Open:
    """An investigation that is not over.

    Units: `since` is the place in the log from which it is folded. `look_at` is the loop's time at which the log is
    asked whether it is over, None before it is scheduled; it is asked again after `look_after_s`.
    """

    investigation: Investigation
    since: int
    look_at: float | None = None
    look_after_s: float = LOOK_AFTER_S


class Concluder:
    """Folds the log and publishes the end of each investigation; keeps a low-water mark, so a restart is short."""

    def __init__(self, bus: Bus, keys: UserKeys, waiting: Waiting) -> None:
        self._bus = bus
        self._keys = keys
        self._waiting = waiting
        self._open: dict[str, _Open] = {}
        self._last = 0

    async def run(self) -> None:
        """Fold for ever."""
        marks = await Bucket.open(self._bus, MARKS)
        mark = int(await marks.get(CONCLUDE_MARK) or b"0")
        self._open.clear()
        self._waiting.clear()
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
                fact = Past(recorded.sequence, decode(recorded.subject, recorded.data))
            except Undecodable as error:
                log.warning("undecodable fact passed over", sequence=recorded.sequence, error=str(error))
                continue
            event = fact.envelope.event
            key = event.key()
            known = self._open.get(key)
            if known is not None:
                known.investigation.apply(fact)
            elif isinstance(event, InvestigationRequested):
                self._open[key] = _Open(await self._opened(fact, event), recorded.sequence)
            else:
                self._waiting.passed(recorded.sequence)
                continue  # a straggler of an investigation that is over
            self._waiting.seen(recorded.sequence, key, event, recorded.time)
            touched[key] = fact.envelope.id
        over, ends = self._settled(touched)
        await asyncio.gather(
            *(self._close(key) for key in over),
            *(self._publish(end, self._open[key].investigation.correlation, cause) for key, end, cause in ends),
        )

    async def _opened(self, fact: Past, request: InvestigationRequested) -> Investigation:
        """As it is with this request; the rounds before were forgotten when they ended, and are read again."""
        before: list[Past] = []
        if request.round > 1:
            before = [past for past in await history(self._bus, request.key()) if past.sequence < fact.sequence]
        found = Investigation.of([*before, fact])
        assert found is not None, "this fact asks for it"
        return found

    def _settled(self, touched: Mapping[str, UUID]) -> tuple[list[str], list[tuple[str, End, UUID]]]:
        """Of what was touched, what is over, and the ends that are to be published, each with its cause."""
        over, ends = [], []
        for key, cause in touched.items():
            known = self._open.get(key)
            if known is None:  # closed meanwhile as a repetition
                continue
            if not known.investigation.progress.is_open:
                over.append(key)
            elif (end := conclusion(known.investigation)) is not None:
                ends.append((key, end, cause))
        return over, ends

    async def _publish(self, end: End, correlation: UUID, cause: UUID) -> None:
        with suppress(AlreadyThere):  # a replica was faster, or this is a replay: its fact is on its way to us
            await self._bus.publish(end, correlation=correlation, cause=cause)

    async def _close(self, key: str) -> None:
        request = self._open[key].investigation.request
        if request.key_source == "USER" and await self._is_last(request):
            await self._keys.discard(UUID(key), request.attachment)
        self._open.pop(key, None)
        self._waiting.ended(key)

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
        for key, known in tuple(self._open.items()):
            if known.look_at is None:
                known.look_at = now + known.look_after_s
            if now < known.look_at:
                continue
            known.look_at, known.look_after_s = now + known.look_after_s, min(known.look_after_s * 2, LOOK_AGAIN_MAX_S)
            found = Investigation.of(await history(self._bus, key))
            if found is not None and found.is_over(known.investigation.round.number):
                await self._close(key)

    async def _keep_mark(self, marks: Bucket) -> None:
        written = None
        while True:
            await asyncio.sleep(MARK_EVERY_S)
            try:
                await self._close_repeated()
                mark = min((known.since - 1 for known in self._open.values()), default=self._last)
                if mark != written:
                    await marks.put(CONCLUDE_MARK, str(mark).encode())
                    written = mark
            except (BusError, Retry, Reject) as error:
                log.warning("mark not kept, trying again", error=str(error))
