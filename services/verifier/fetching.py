"""Getting one answer out of a host within the reader's patience: politely, with retries, not while it is down.

Only what the host did counts against it. A try that was cut short because its turn came late says nothing about the
host; counted, a crowd of readers would shut a healthy site.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from kit.clock import Clock
from kit.web import Door, Fetched, Request, WebError, parse_url
from services.verifier.breaker import Breaker
from services.verifier.domain import (
    SITE_BUSY,
    SITE_UNAVAILABLE,
    TIMEOUT,
    Budget,
    Failure,
    Unavailable,
    budget,
    delay_before_next,
    failed_exchange,
    refused,
)
from services.verifier.hosts import Claim, Host, Hosts

Found = TypeVar("Found")
_WHOLE: Final = 0.9
"""A try that had this share of its time has had its chance."""
_LEFT_ALONE: Final = Unavailable(SITE_UNAVAILABLE, "the site failed or asked for a pause, and is left alone for now")
_BUSY: Final = Unavailable(SITE_BUSY, "other requests to the site would have taken all the time")
_CUT_SHORT: Final = Failure(SITE_BUSY, "the turn came late and the time was up", passing=False, cut_short=True)


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

    @property
    def try_s(self) -> float:
        """How long a try may take that starts at once."""
        return min(self.timeout_s, self.deadline_s)


class Fetcher:
    """Fetches and reads; trouble is an answer."""

    def __init__(self, door: Door, clock: Clock, patience: Patience) -> None:
        self._door = door
        self._clock = clock
        self._patience = patience
        self._hosts = Hosts(
            lambda: Host(patience.per_host, Breaker(patience.breaker_failures, patience.breaker_pause_s))
        )

    def budget(self, attempt: int) -> Budget:
        """The time there is for an observation that comes for the nth time."""
        return budget(attempt, deadline_s=self._patience.deadline_s, timeout_s=self._patience.timeout_s)

    async def fetch(
        self,
        request: Request,
        read: Callable[[Fetched], Found | Failure],
        time: Budget,
        missing: frozenset[int] = frozenset(),
        claim: Claim | None = None,
    ) -> Found | Unavailable:
        """What `read` makes of a good answer, or why there is none; when the time is up at the latest.

        `missing` are the statuses by which the site denies that there is such a page, `claim` says whose turn it is.
        """
        try:
            host = self._hosts.named(parse_url(request.url).host)
        except WebError as error:
            return Unavailable(error.kind, error.detail)
        began_s = _now_s()
        starts_s, ends_s = began_s + time.start_s, began_s + time.end_s
        last: Failure | None = None
        tries = 0
        if host.breaker.refuses(began_s):
            return _LEFT_ALONE
        while True:
            async with host.turn(starts_s, claim) as has_turn:
                if not has_turn:
                    return _said(last, _BUSY)
                if not host.breaker.admit(_now_s()):
                    return _said(last, _LEFT_ALONE)
                tries += 1
                answer = await self._try(host, request, read, ends_s, missing)
            now_s = _now_s()
            if not isinstance(answer, Failure):
                host.breaker.answered(now_s)
                return answer
            last = answer
            if last.retry_after_s and not host.breaker.asked(now_s, last.retry_after_s):
                return _said(last, _LEFT_ALONE)  # whoever was told first tries for all
            delay_s = delay_before_next(
                last,
                tries,
                retries=self._patience.retries,
                base_s=self._patience.retry_base_s,
                remaining_s=starts_s - now_s,
            )
            if delay_s is None:
                break
            await asyncio.sleep(delay_s)
        if last.of_the_host:
            host.breaker.failed(_now_s())
        elif not last.cut_short:
            host.breaker.answered(_now_s())
        return _said(last, _BUSY)

    async def _try(
        self,
        host: Host,
        request: Request,
        read: Callable[[Fetched], Found | Failure],
        ends_s: float,
        missing: frozenset[int],
    ) -> Found | Failure:
        began_s = _now_s()
        time_s = min(self._patience.try_s, max(ends_s - began_s, 0.0))
        try:
            fetched = await self._door.fetch(replace(request, timeout_s=time_s))
        except WebError as error:
            if error.kind == TIMEOUT and time_s < _WHOLE * self._patience.try_s:
                return _CUT_SHORT
            return failed_exchange(error.kind, error.detail)
        finally:
            host.took(_now_s() - began_s)
        return refused(fetched.status, fetched.headers, self._clock.now(), missing) or read(fetched)


def _said(last: Failure | None, otherwise: Unavailable) -> Unavailable:
    return otherwise if last is None else Unavailable(last.reason, last.detail)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
