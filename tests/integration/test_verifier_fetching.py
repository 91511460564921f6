"""Asking a host over real sockets: retries, patience, politeness, and leaving it alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast

import pytest

from kit.clock import SystemClock
from kit.web import Fetched, GuardedHttpClient, Policy, Request
from services.verifier.domain import Budget, Failure, Unavailable
from services.verifier.fetching import Fetcher, FetchPolicy
from tests.support.sites import Answer, Fault, Sites
from tests.support.system import until
from tests.support.virtual import run_virtually

PATIENCE = FetchPolicy(
    deadline_s=5.0,
    timeout_s=2.0,
    retries=3,
    retry_base_s=0.01,
    per_host=4,
    breaker_failures=100,
    breaker_pause_s=60.0,
)


class Bodies:
    """A fetcher for readers who have not waited yet; what comes is the page unless it says that the site is shut."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    async def fetch(self, request: Request, time: Budget | None = None) -> bytes | Unavailable:
        return await self._fetcher.fetch(request, self._read, time or self._fetcher.make_budget(1), frozenset({404}))

    @staticmethod
    def _read(fetched: Fetched) -> bytes | Failure:
        if b"maintenance" in fetched.body:
            return Failure("bad_answer", "the answer is not JSON", is_transient=False, is_broken=True)
        return fetched.body


@asynccontextmanager
async def fetching(patience: FetchPolicy = PATIENCE) -> AsyncIterator[tuple[Sites, Bodies, Request]]:
    async with Sites() as sites:
        sites.pages["/page"] = Answer(200, {}, b"the page")
        policy = Policy("https://contact.example/", max_bytes=100_000, exempt_origins=frozenset({sites.url}))
        async with GuardedHttpClient(policy) as http:
            yield sites, Bodies(Fetcher(http, SystemClock(), patience)), Request(f"{sites.url}/page")


async def test_a_good_answer() -> None:
    async with fetching() as (sites, fetcher, request):
        assert await fetcher.fetch(request) == b"the page"
        assert len(sites.requests) == 1


@pytest.mark.parametrize("fault", ["server_error", "rate_limited", "reset", "truncated", "truncated_gzip"])
async def test_what_may_pass_is_tried_again(fault: Fault) -> None:
    async with fetching() as (sites, fetcher, request):
        sites.fail(fault, times=3)
        assert await fetcher.fetch(request) == b"the page"
        assert len(sites.requests) == 4


@pytest.mark.parametrize(
    ("fault", "reasons", "requests"),
    [
        ("server_error", {"server_error"}, 4),
        ("rate_limited", {"rate_limited"}, 4),
        ("reset", {"connection_failed", "bad_response"}, 4),
        ("truncated", {"bad_response"}, 4),
        ("truncated_gzip", {"bad_encoding"}, 4),
        ("not_found", {"not_found"}, 1),
        ("huge", {"too_large"}, 1),
        ("gzip_bomb", {"too_large"}, 1),
        ("redirect_private", {"blocked_address"}, 1),
    ],
)
async def test_lasting_faults_become_an_answer(fault: Fault, reasons: set[str], requests: int) -> None:
    async with fetching() as (sites, fetcher, request):
        sites.fail(fault)
        outcome = await fetcher.fetch(request)
        assert isinstance(outcome, Unavailable)
        assert outcome.reason in reasons
        assert outcome.detail
        assert len(sites.requests) == requests


async def test_a_private_address_is_not_asked() -> None:
    async with fetching() as (sites, fetcher, _):
        outcome = await fetcher.fetch(Request(f"http://localhost:{sites.port}/page"))
        assert isinstance(outcome, Unavailable)
        assert outcome.reason == "blocked_address"
        assert sites.connections == 0


async def test_nonsense_is_not_asked() -> None:
    async with fetching() as (_, fetcher, _):
        assert isinstance(await fetcher.fetch(Request("javascript:alert(1)")), Unavailable)


async def test_patience_ends() -> None:
    async with fetching() as (sites, fetcher, request):
        sites.fail("slow")
        began = asyncio.get_running_loop().time()
        outcome = await fetcher.fetch(request)
        assert isinstance(outcome, Unavailable)
        assert outcome.reason == "timeout"
        assert asyncio.get_running_loop().time() - began < 4 * PATIENCE.deadline_s
        assert 2 <= len(sites.requests) <= 3


async def test_a_site_that_asks_for_more_time_than_there_is_gets_it() -> None:
    async with fetching() as (sites, fetcher, request):
        sites.retry_after = "60"
        sites.fail("rate_limited")
        outcome = await fetcher.fetch(request)
        assert isinstance(outcome, Unavailable)
        assert outcome.reason == "rate_limited"
        sites.heal()
        again = await fetcher.fetch(request)
        assert isinstance(again, Unavailable)
        assert again.reason == "site_unavailable"
        assert len(sites.requests) == 1


async def test_a_failing_host_is_left_alone_and_then_tried_once() -> None:
    patience = replace(PATIENCE, retries=0, breaker_failures=3, breaker_pause_s=2.0)
    async with fetching(patience) as (sites, fetcher, request):
        sites.fail("server_error")
        outcomes = [await fetcher.fetch(request) for _ in range(6)]
        reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, Unavailable)]
        assert reasons == ["server_error"] * 3 + ["site_unavailable"] * 3
        assert len(sites.requests) == 3
        sites.heal()

        async def answered() -> bool:
            return await fetcher.fetch(request) == b"the page"

        await until(answered, "the host is asked again")
        assert len(sites.requests) == 4
        assert await fetcher.fetch(request) == b"the page"


async def test_pages_that_are_not_there_do_not_count_against_a_host() -> None:
    async with fetching(replace(PATIENCE, breaker_failures=2)) as (sites, fetcher, request):
        sites.fail("not_found")
        for _ in range(5):
            await fetcher.fetch(request)
        sites.heal()
        assert await fetcher.fetch(request) == b"the page"


async def test_a_host_that_denies_a_page_after_a_pause_works_again() -> None:
    patience = replace(PATIENCE, retries=0, breaker_failures=1, breaker_pause_s=0.5)
    async with fetching(patience) as (sites, fetcher, request):
        sites.fail("server_error", times=1)
        await fetcher.fetch(request)
        sites.fail("not_found", times=1)

        async def denied() -> bool:
            outcome = await fetcher.fetch(request)
            return isinstance(outcome, Unavailable) and outcome.reason == "not_found"

        await until(denied, "the host is asked again")
        assert await fetcher.fetch(request) == b"the page"


async def test_a_host_is_asked_by_few_at_once() -> None:
    async with fetching(replace(PATIENCE, per_host=2)) as (sites, fetcher, request):
        sites.fail("slow")
        asking = [asyncio.create_task(fetcher.fetch(request)) for _ in range(10)]
        await sites.seen(2)
        sites.heal()
        assert await asyncio.gather(*asking) == [b"the page"] * 10
        assert sites.busy_most == 2


async def test_those_whose_turn_never_comes_get_an_answer_too() -> None:
    patience = replace(PATIENCE, per_host=1, timeout_s=2 * PATIENCE.deadline_s)
    async with fetching(patience) as (sites, fetcher, request):
        sites.fail("slow")
        outcomes = await asyncio.gather(*(fetcher.fetch(request) for _ in range(3)))
        reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, Unavailable)]
        assert len(reasons) == 3
        assert reasons == ["timeout", "site_busy", "site_busy"]
        assert len(sites.requests) == 1, "nothing is begun that has too little time"


async def test_a_pause_that_one_was_asked_for_holds_for_all_and_one_tries_afterwards() -> None:
    async with fetching() as (sites, fetcher, request):
        sites.retry_after = "1"
        sites.fail("rate_limited", times=4)
        outcomes = await asyncio.gather(*(fetcher.fetch(request) for _ in range(8)))
        assert len(sites.requests) == 5, "four at once, and one when the pause is over"
        assert outcomes.count(b"the page") == 1
        assert {each.reason for each in outcomes if isinstance(each, Unavailable)} <= {
            "rate_limited",
            "site_unavailable",
        }
        assert await fetcher.fetch(request) == b"the page"


class SlowToRefuse:
    """Asks for a pause at once, then once more, `later_s` afterwards; from then on it answers."""

    def __init__(self, later_s: float) -> None:
        self._later_s = later_s
        self.asked_s: list[float] = []

    async def fetch(self, request: Request) -> Fetched:
        now_s = asyncio.get_running_loop().time
        self.asked_s.append(now_s())
        place = len(self.asked_s)
        if place > 2:
            return Fetched(200, {}, b"the page", request.url)
        await asyncio.sleep(self._later_s if place == 2 else 0.0)
        return Fetched(429, {"retry-after": "1"}, b"", request.url)


@pytest.mark.parametrize(("later_s", "tries"), [(0.5, 3), (0.95, 2)], ids=["in time", "too long for the reader"])
def test_the_one_that_tries_waits_for_the_pause_that_others_were_asked_for(later_s: float, tries: int) -> None:
    async def scenario() -> tuple[SlowToRefuse, list[bytes | Unavailable]]:
        site = SlowToRefuse(later_s)
        patience = replace(PATIENCE, deadline_s=1.9, timeout_s=0.4)
        fetcher = Bodies(Fetcher(cast(GuardedHttpClient, site), SystemClock(), patience))
        request = Request("https://site.example/page")
        return site, list(await asyncio.gather(*(fetcher.fetch(request) for _ in range(2))))

    site, outcomes = run_virtually(scenario())
    assert len(site.asked_s) == tries
    assert outcomes.count(b"the page") == tries - 2
    assert all(at - site.asked_s[1] >= later_s + 1.0 for at in site.asked_s[2:]), "not before the later pause is over"


async def test_a_crowd_does_not_shut_a_healthy_host() -> None:
    patience = replace(PATIENCE, per_host=1, deadline_s=2.4, timeout_s=2.0, breaker_failures=2, retries=0)
    async with fetching(patience) as (sites, fetcher, request):
        sites.fail("slow")
        first = asyncio.create_task(fetcher.fetch(request))
        await sites.seen(1)
        crowd = [asyncio.create_task(fetcher.fetch(request)) for _ in range(10)]
        late = await asyncio.gather(*crowd)
        assert {each.reason for each in late if isinstance(each, Unavailable)} == {"site_busy"}
        await first
        sites.heal()
        assert await fetcher.fetch(request) == b"the page"


async def test_a_try_with_too_little_time_says_nothing_about_the_host() -> None:
    async with fetching(replace(PATIENCE, breaker_failures=1, retries=0)) as (sites, fetcher, request):
        sites.fail("slow")
        outcome = await fetcher.fetch(request, Budget(0.05, 0.1, 0.1))
        assert isinstance(outcome, Unavailable)
        assert outcome.reason == "site_busy"
        sites.heal()
        assert await fetcher.fetch(request) == b"the page"


async def test_who_comes_late_takes_a_free_turn_and_waits_for_none() -> None:
    async with fetching(replace(PATIENCE, per_host=1)) as (sites, fetcher, request):
        late = Budget(0.0, 2.0, 0.1)
        assert await fetcher.fetch(request, late) == b"the page"
        sites.fail("slow")
        first = asyncio.create_task(fetcher.fetch(request))
        await sites.seen(2)
        outcome = await fetcher.fetch(request, late)
        assert isinstance(outcome, Unavailable)
        assert outcome.reason == "site_busy"
        sites.heal()
        assert await first == b"the page"


async def test_a_host_that_answers_with_a_maintenance_page_is_left_alone() -> None:
    async with fetching(replace(PATIENCE, breaker_failures=2)) as (sites, fetcher, request):
        sites.fail("invalid_json")
        outcomes = [await fetcher.fetch(request) for _ in range(4)]
        reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, Unavailable)]
        assert reasons == ["bad_answer", "bad_answer", "site_unavailable", "site_unavailable"]
        assert len(sites.requests) == 2
