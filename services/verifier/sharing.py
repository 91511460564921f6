"""One look-up at a time per page among all verifier processes, whose outcome is there for all of them for a moment.

Who finds nothing leaves a lease and looks the page up; the others wait for what becomes of it. A lease that ran out is
anybody's, so a process that ends takes no page with it. Without the broker everybody looks for themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from pydantic import BaseModel

from contracts.topology import PAGES
from contracts.v1.parts import CanonicalPage
from kit.bus import Bus, BusError
from kit.clock import Clock
from kit.kv import Bucket
from services.verifier.domain import TIMEOUT, Unavailable

Outcome = CanonicalPage | Unavailable
LookUp = Callable[[], Awaitable[tuple[Outcome, float]]]
"""Brings an outcome and the number of seconds for which it can be believed."""

_LOOK_AGAIN_S: Final = 0.05


class _Shared(BaseModel):
    """What lies in the bucket: a lease, or what has become of it. Units: `until_s` is a time of the clock."""

    until_s: float
    page: CanonicalPage | None = None
    reason: str = ""
    detail: str = ""

    @property
    def outcome(self) -> Outcome | None:
        """What was found; None while somebody is looking."""
        return self.page or (Unavailable(self.reason, self.detail) if self.reason else None)


class SharedPages:
    """Outcomes by key, in a bucket of the broker."""

    def __init__(self, bus: Bus, clock: Clock) -> None:
        self._bus = bus
        self._clock = clock
        self._bucket: Bucket | None = None

    async def get(self, key: str, look_up: LookUp, lease_s: float) -> Outcome:
        """What another process found or is finding out, else what the look-up brings; within that many seconds."""
        try:
            found = await self._found_or_leased(key, lease_s)
        except BusError:
            return (await look_up())[0]
        if found is not None:
            return found
        try:
            outcome, believed_s = await look_up()
        except BaseException:
            with suppress(BusError):
                await (await self._open()).purge(key)
            raise
        until_s = self._now_s() + min(believed_s, PAGES.ttl_s or believed_s)
        shared = (
            _Shared(until_s=until_s, reason=outcome.reason, detail=outcome.detail)
            if isinstance(outcome, Unavailable)
            else _Shared(until_s=until_s, page=outcome)
        )
        with suppress(BusError):
            await (await self._open()).put(key, _bytes(shared))
        return outcome

    async def _found_or_leased(self, key: str, lease_s: float) -> Outcome | None:
        bucket = await self._open()
        ends_s = self._clock.monotonic() + lease_s
        while True:
            entry = await bucket.entry(key)
            now_s = self._now_s()
            there = _Shared.model_validate_json(entry.value) if entry and entry.value else None
            if there is not None and now_s < there.until_s:
                if there.outcome is not None:
                    return there.outcome
                if self._clock.monotonic() >= ends_s:
                    return Unavailable(TIMEOUT, "the time was up before another process had the page")
                await asyncio.sleep(_LOOK_AGAIN_S)
                continue
            lease = _bytes(_Shared(until_s=now_s + lease_s))
            if await (bucket.create(key, lease) if entry is None else bucket.update(key, lease, entry.revision)):
                return None

    async def _open(self) -> Bucket:
        if self._bucket is None:
            self._bucket = await Bucket.open(self._bus, PAGES)
        return self._bucket

    def _now_s(self) -> float:
        return self._clock.now().timestamp()


def _bytes(shared: _Shared) -> bytes:
    return shared.model_dump_json().encode()
