"""Getting one answer out of a host within the reader's patience: politely, with retries, not while it is down."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from kit.clock import Clock
from kit.web import Door, Request, WebError, parse_url
from services.verifier.breaker import Breaker
from services.verifier.domain import (
    SITE_BUSY,
    SITE_UNAVAILABLE,
    TIMEOUT,
    Failure,
    Unavailable,
    delay_before_next,
    failed_exchange,
    refused,
)

HOSTS_REMEMBERED: Final = 1_024
"""Readers choose the hosts (any domain can be a Substack), so the memory of them must end somewhere."""


@dataclass(frozen=True)
class Patience:
    """How long and how often. Units: `deadline_s` for everything, `timeout_s` for one try."""

    deadline_s: float
    timeout_s: float
    retries: int
    retry_base_s: float
    per_host: int
    breaker_failures: int
    breaker_pause_s: float


@dataclass(frozen=True)
class _Host:
    turns: asyncio.Semaphore
    breaker: Breaker


class Fetcher:
    """Fetches bodies; trouble is an answer."""

    def __init__(self, door: Door, clock: Clock, patience: Patience) -> None:
        self._door = door
        self._clock = clock
        self._patience = patience
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    async def fetch(self, request: Request) -> bytes | Unavailable:
        """The body of a good answer, or why there is none; after `deadline_s` at the latest."""
        try:
            host = self._host(parse_url(request.url).host)
        except WebError as error:
            return Unavailable(error.kind, error.detail)
        deadline_s = _now_s() + self._patience.deadline_s
        if host.breaker.refuses(_now_s()):
            return Unavailable(SITE_UNAVAILABLE, "the site failed repeatedly and is left alone for a moment")
        last = Failure(SITE_BUSY, "other requests to the site took all the time", passing=False)
        tries = 0
        try:
            async with asyncio.timeout_at(deadline_s):
                while True:
                    async with host.turns:
                        if tries == 0 and not host.breaker.admit(_now_s()):
                            return Unavailable(SITE_UNAVAILABLE, "the site began to fail while this waited its turn")
                        tries += 1
                        last = Failure(TIMEOUT, "the time was up", passing=True)
                        answer = await self._try(request)
                    if isinstance(answer, bytes):
                        host.breaker.answered()
                        return answer
                    last = answer
                    delay_s = delay_before_next(
                        last,
                        tries,
                        retries=self._patience.retries,
                        base_s=self._patience.retry_base_s,
                        remaining_s=deadline_s - _now_s(),
                    )
                    if delay_s is None:
                        break
                    await asyncio.sleep(delay_s)
        except TimeoutError:
            pass
        if last.passing:
            host.breaker.failed(_now_s(), asked_pause_s=last.retry_after_s)
        elif tries:
            host.breaker.answered()
        return Unavailable(last.reason, last.detail)

    async def _try(self, request: Request) -> bytes | Failure:
        try:
            fetched = await self._door.fetch(replace(request, timeout_s=self._patience.timeout_s))
        except WebError as error:
            return failed_exchange(error.kind, error.detail)
        return refused(fetched.status, fetched.headers, self._clock.now()) or fetched.body

    def _host(self, name: str) -> _Host:
        host = self._hosts.get(name)
        if host is None:
            patience = self._patience
            host = self._hosts[name] = _Host(
                asyncio.Semaphore(patience.per_host), Breaker(patience.breaker_failures, patience.breaker_pause_s)
            )
            if len(self._hosts) > HOSTS_REMEMBERED:
                self._hosts.popitem(last=False)
        self._hosts.move_to_end(name)
        return host


def _now_s() -> float:
    return asyncio.get_running_loop().time()
