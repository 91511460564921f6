"""The rules by which the concluder opens, ends and closes investigations."""

from __future__ import annotations

from uuid import UUID

from contracts.v1 import Event, InvestigationCompleted, InvestigationFailed, InvestigationRequested
from kit.bus import Bus
from kit.history import StoredFact, read_history, read_latest
from kit.vault import UserKeys
from lifecycle.conclusion import conclude
from lifecycle.investigation import Investigation, ends_round


class InvestigationRules:
    """Rules of the concluder."""

    def __init__(self, bus: Bus, keys: UserKeys) -> None:
        self._bus = bus
        self._keys = keys

    async def route(self, fact: StoredFact) -> tuple[tuple[str, StoredFact]]:
        """The investigation that the fact belongs to."""
        return ((fact.event.key(), fact),)

    async def open(self, fact: StoredFact) -> Investigation | None:
        """The investigation of a request; earlier rounds were evicted when they ended, and are read again."""
        request = fact.event
        if not isinstance(request, InvestigationRequested):
            return None
        before: list[StoredFact] = []
        if request.round > 1:
            before = [past for past in await read_history(self._bus, request.key()) if past.sequence < fact.sequence]
        return Investigation.fold([*before, fact])

    def is_over(self, aggregate: Investigation) -> bool:
        return not aggregate.progress.is_open

    def conclude(self, aggregate: Investigation) -> Event | None:
        """The end, once every candidate has a verdict."""
        return conclude(aggregate)

    async def is_over_in_log(self, key: str, aggregate: Investigation) -> bool:
        """Whether its newest round has ended, by the newest ends in the log; a later round follows an end."""
        ends = await read_latest(
            self._bus, *(f"{end.SUBJECT}.{key}" for end in (InvestigationCompleted, InvestigationFailed))
        )
        return any(ends_round(aggregate.round.number, end.event) for end in ends)

    async def close(self, key: str, aggregate: Investigation) -> None:
        """Discard the reader's key, if it paid."""
        request = aggregate.request
        if request.key_source == "USER" and await self._is_last(request):
            await self._keys.discard(UUID(key), request.attachment)

    async def _is_last(self, request: InvestigationRequested) -> bool:
        """Whether no later round uses the same key: folding old facts again must not discard the key of an open run."""
        newest = [past.event for past in await read_latest(self._bus, request.subject())]
        return not any(
            isinstance(each, InvestigationRequested)
            and each.round > request.round
            and each.attachment == request.attachment
            for each in newest
        )
