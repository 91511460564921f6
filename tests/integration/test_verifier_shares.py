"""Readers of real pages are confirmed while a crowd names pages that do not exist, of a site that takes seconds."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from typing import cast
from urllib.parse import parse_qs, urlsplit

import pytest
from prometheus_client import CollectorRegistry

from contracts.v1 import CanonicalFetched, Event, ObservationReceived
from contracts.v1.pages import Observation
from kit.clock import SystemClock
from kit.errors import Retry
from kit.web import Fetched, GuardedHttpClient, Request
from services.verifier.adapters import SitePages
from services.verifier.domain import Lifetimes
from services.verifier.fetching import Fetcher, FetchPolicy
from services.verifier.handlers import Verifier
from tests.integration.test_verifier import HTML, MemoryTexts, wikipedia
from tests.support.virtual import run_virtually

PATIENCE = FetchPolicy(
    deadline_s=8.0, timeout_s=5.0, retries=3, retry_base_s=0.2, per_host=4, breaker_failures=5, breaker_pause_s=15.0
)
SLOTS, PLACES = 60, 12
"""As the settings have it."""
REAL = 100_000
MADE_UP = 900_000


class SlowWiki:
    """Every answer takes `takes_s` seconds; revisions from MADE_UP on do not exist."""

    def __init__(self, takes_s: float) -> None:
        self._takes_s = takes_s
        self.asked: Counter[int] = Counter()

    async def fetch(self, request: Request) -> Fetched:
        revision = int(parse_qs(urlsplit(request.url).query)["oldid"][0])
        self.asked[revision] += 1
        await asyncio.sleep(self._takes_s)
        page = {"title": "A page", "pageid": 12, "revid": revision, "text": HTML}
        answer = {"error": {"code": "nosuchrevid"}} if revision >= MADE_UP else {"parse": page}
        return Fetched(200, {}, json.dumps(answer).encode(), request.url)


class LoopClock(SystemClock):
    """What is remembered grows old by the loop's time."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class Crowd:
    """A verifier with its slots, and readers whose observations come one after the other."""

    def __init__(self, site: SlowWiki) -> None:
        pages = SitePages(
            Fetcher(cast(GuardedHttpClient, site), SystemClock(), PATIENCE),
            Lifetimes(page_s=300.0, failure_s=5.0, refusal_s=120.0),
            MemoryTexts(),
            LoopClock(),
            {},
            CollectorRegistry(),
            capacity=PLACES,
            cached=100,
        )
        self._verifier = Verifier(pages)
        self._slots = asyncio.Semaphore(SLOTS)

    async def deliver(self, observation: Observation) -> Event:
        """What becomes of an observation, delivered again when it is put off."""
        event = ObservationReceived(observation=observation)
        for attempt in range(1, 20):
            try:
                async with self._slots:
                    (fact,) = [fact async for fact in self._verifier.on_observation_received(event, attempt)]
                    return fact
            except Retry as retry:
                await asyncio.sleep(retry.after_s)
        raise AssertionError("put off for ever")

    async def confirmed(self, observations: Sequence[Observation]) -> int:
        """How many of them the site confirmed."""
        facts = await asyncio.gather(*map(self.deliver, observations))
        return sum(isinstance(fact, CanonicalFetched) for fact in facts)


def seen(revision: int, network: int) -> Observation:
    """A reader's page, from an address range."""
    key = sha256(f"iprange:{network}".encode()).hexdigest()
    return wikipedia(str(revision)).model_copy(update={"network_key": key})


@pytest.mark.parametrize(
    ("takes_s", "pages"), [(1.0, 15), (1.5, 10), (2.0, 8)], ids=["a second", "a second and a half", "two seconds"]
)
@pytest.mark.parametrize("networks", [1, 3])
def test_strangers_on_made_up_pages_keep_no_reader_from_being_confirmed(
    takes_s: float, pages: int, networks: int
) -> None:
    """As many pages as the site can serve in a reader's time; all readers of one page share its look-up."""

    async def scenario() -> int:
        crowd = Crowd(SlowWiki(takes_s))
        strangers = [
            asyncio.create_task(crowd.deliver(seen(MADE_UP + number, number % networks))) for number in range(40)
        ]
        await asyncio.sleep(0.01)
        honest = await crowd.confirmed([seen(REAL + number % pages, 100 + number) for number in range(15)])
        await asyncio.gather(*strangers)
        return honest

    assert run_virtually(scenario()) == 15


def test_whoever_named_pages_in_vain_goes_last_even_from_many_networks() -> None:
    async def scenario() -> int:
        crowd = Crowd(SlowWiki(1.0))
        for number in range(40):
            await crowd.deliver(seen(MADE_UP + number, number))
        strangers = [asyncio.create_task(crowd.deliver(seen(MADE_UP + 100 + each, each))) for each in range(40)]
        await asyncio.sleep(0.01)
        honest = await crowd.confirmed([seen(REAL + number, 100 + number) for number in range(15)])
        await asyncio.gather(*strangers)
        return honest

    assert run_virtually(scenario()) == 15


def test_a_page_that_was_denied_is_not_asked_for_again_for_minutes_and_then_is() -> None:
    async def scenario() -> list[int]:
        site = SlowWiki(1.0)
        crowd = Crowd(site)
        counts = []
        for pause_s in (0.0, 60.0, 120.0):
            await asyncio.sleep(pause_s)
            await crowd.deliver(seen(MADE_UP, 1))
            counts.append(site.asked[MADE_UP])
        return counts

    assert run_virtually(scenario()) == [1, 1, 2]


def test_made_up_pages_push_no_real_page_out_of_memory() -> None:
    async def scenario() -> int:
        site = SlowWiki(0.01)
        crowd = Crowd(site)
        await crowd.deliver(seen(REAL, 1))
        for number in range(200):
            await crowd.deliver(seen(MADE_UP + number, 2))
        await crowd.deliver(seen(REAL, 1))
        return site.asked[REAL]

    assert run_virtually(scenario()) == 1


def test_one_network_alone_is_served_as_many_are() -> None:
    """Behind one address there may be a whole school; it shares with nobody while nobody else is there."""

    async def scenario() -> int:
        return await Crowd(SlowWiki(1.0)).confirmed([seen(REAL + number, 1) for number in range(12)])

    assert run_virtually(scenario()) == 12
