"""What the fold that concludes investigations is about: how one opens, ends, and lets go of a reader's key."""

from __future__ import annotations

from uuid import UUID

from contracts.v1 import Event, InvestigationRequested
from kit.bus import Bus
from kit.history import Past, history, latest
from kit.vault import UserKeys
from lifecycle.conclusion import conclusion
from lifecycle.investigation import Investigation


class InvestigationRules:
    """Rules of a fold over investigations."""

    def __init__(self, bus: Bus, keys: UserKeys) -> None:
        self._bus = bus
        self._keys = keys

    async def open(self, fact: Past) -> Investigation | None:
        """As it is with this request; the rounds before were evicted when they ended, and are read again."""
        request = fact.event
        if not isinstance(request, InvestigationRequested):
            return None
        before: list[Past] = []
        if request.round > 1:
            before = [past for past in await history(self._bus, request.key()) if past.sequence < fact.sequence]
        return Investigation.of([*before, fact])

    def is_over(self, aggregate: Investigation) -> bool:
        """Whether its newest round has ended."""
        return not aggregate.progress.is_open

    def conclude(self, aggregate: Investigation) -> Event | None:
        """Its end, once every candidate has a verdict."""
        return conclusion(aggregate)

    async def is_over_in_log(self, key: str, aggregate: Investigation) -> bool:
        """Whether its newest round has ended, asked of the log."""
        found = Investigation.of(await history(self._bus, key))
        return found is not None and found.is_over(aggregate.round.number)

    async def close(self, key: str, aggregate: Investigation) -> None:
        """Discard the reader's key, if one paid."""
        request = aggregate.request
        if request.key_source == "USER" and await self._is_last(request):
            await self._keys.discard(UUID(key), request.attachment)

    async def _is_last(self, request: InvestigationRequested) -> bool:
        """Whether no later round has the same key. Folding old facts again must not take that of a run under way."""
        newest = [past.event for past in await latest(self._bus, request.subject())]
        return not any(
            isinstance(each, InvestigationRequested)
            and each.round > request.round
            and each.attachment == request.attachment
            for each in newest
        )
