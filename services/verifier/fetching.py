"""Fetches one answer from a host within a time budget: limited concurrency, retries, circuit breaker.

Only failures of the host count against it. A try that was cut short because its turn came late is not counted, or a
crowd of readers would open the breaker of a healthy site.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from kit.clock import Clock
from kit.web import Fetched, GuardedHttpClient, Request, WebError, parse_url
from services.verifier.breaker import Breaker
from services.verifier.domain import (
    SITE_BUSY,
    SITE_UNAVAILABLE,
    TIMEOUT,
    Budget,
    Failure,
    Unavailable,
    classify_error,
    classify_status,
    delay_before_retry,
    make_budget,
)
from services.verifier.hosts import Demand, Host, Hosts

Found = TypeVar("Found")
_FULL_TRY: Final = 0.9
"""A try that had this share of its time counts as a full try."""
_CIRCUIT_OPEN: Final = Unavailable(SITE_UNAVAILABLE, "the site failed or asked for a pause; no requests for now")
_BUSY: Final = Unavailable(SITE_BUSY, "other requests to the site left no time")
_CUT_SHORT: Final = Failure(SITE_BUSY, "the turn came too late", is_transient=False, was_cut_short=True)


@dataclass(frozen=True)
class FetchPolicy:
    """Limits of fetching. Units: `deadline_s` for everything, `timeout_s` for one try."""

    deadline_s: float
    timeout_s: float
    retries: int
    retry_base_s: float
    per_host: int
    breaker_failures: int
    breaker_pause_s: float

    @property
    def try_s(self) -> float:
        """The time limit of a try that starts at once."""
        return min(self.timeout_s, self.deadline_s)


class Fetcher:
    """Fetches and parses; failures are results."""

    def __init__(self, http: GuardedHttpClient, clock: Clock, policy: FetchPolicy) -> None:
        self._http = http
        self._clock = clock
        self._policy = policy
        self._hosts = Hosts(lambda: Host(policy.per_host, Breaker(policy.breaker_failures, policy.breaker_pause_s)))

    def make_budget(self, delivery_count: int) -> Budget:
        """The time for an observation at its nth delivery."""
        return make_budget(delivery_count, deadline_s=self._policy.deadline_s, timeout_s=self._policy.timeout_s)

    async def fetch(
        self,
        request: Request,
        read: Callable[[Fetched], Found | Failure],
        time: Budget,
        missing: frozenset[int] = frozenset(),
        demand: Demand | None = None,
        readable: frozenset[int] = frozenset(),
    ) -> Found | Unavailable:
        """The result of `read` for a successful answer, or why there is none, within the time.

        `missing` are the statuses that deny that the page exists; `demand` decides about the order of turns.
        Responses of status 200 and of those in `readable` are read.
        """
        try:
            host = self._hosts.get(parse_url(request.url).host)
        except WebError as error:
            return Unavailable(error.kind, error.detail)
        began_s = _now_s()
        starts_s, ends_s = began_s + time.start_s, began_s + time.end_s
        last: Failure | None = None
        tries = 0
        if host.breaker.is_open(began_s):
            return _CIRCUIT_OPEN
        while True:
            async with host.turn(starts_s, demand) as has_turn:
                if not has_turn:
                    return _make_unavailable(last, _BUSY)
                if not host.breaker.admit(_now_s()):
                    return _make_unavailable(last, _CIRCUIT_OPEN)
                tries += 1
                answer = await self._try(host, request, read, ends_s, missing, readable)
            now_s = _now_s()
            if not isinstance(answer, Failure):
                host.breaker.record_success(now_s)
                return answer
            last = answer
            if last.retry_after_s and not host.breaker.record_pause_request(now_s, last.retry_after_s):
                return _make_unavailable(last, _CIRCUIT_OPEN)  # the request that opened the breaker retries
            delay_s = delay_before_retry(
                last,
                tries,
                retries=self._policy.retries,
                base_s=self._policy.retry_base_s,
                remaining_s=starts_s - now_s,
            )
            if delay_s is None:
                break
            await asyncio.sleep(delay_s)
            # Another request may have been asked for its pause a moment later, and timers may fire a moment early.
            left_s = host.breaker.pause_left_s(_now_s()) if last.retry_after_s else 0.0
            while 0.0 < left_s < starts_s - _now_s():
                await asyncio.sleep(left_s)
                left_s = host.breaker.pause_left_s(_now_s())
        if last.counts_against_host:
            host.breaker.record_failure(_now_s())
        elif not last.was_cut_short:
            host.breaker.record_success(_now_s())
        return _make_unavailable(last, _BUSY)

    async def _try(
        self,
        host: Host,
        request: Request,
        read: Callable[[Fetched], Found | Failure],
        ends_s: float,
        missing: frozenset[int],
        readable: frozenset[int],
    ) -> Found | Failure:
        began_s = _now_s()
        time_s = min(self._policy.try_s, max(ends_s - began_s, 0.0))
        try:
            fetched = await self._http.fetch(replace(request, timeout_s=time_s))
        except WebError as error:
            if error.kind == TIMEOUT and time_s < _FULL_TRY * self._policy.try_s:
                return _CUT_SHORT
            return classify_error(error.kind, error.detail)
        finally:
            host.record_duration(_now_s() - began_s)
        if fetched.status in readable:
            return read(fetched)
        return classify_status(fetched.status, fetched.headers, self._clock.now(), missing) or read(fetched)


def _make_unavailable(last: Failure | None, otherwise: Unavailable) -> Unavailable:
    return otherwise if last is None else Unavailable(last.reason, last.detail)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
