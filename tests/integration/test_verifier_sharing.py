"""Several verifier processes ask a site once for a page, and none waits for one that has gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from time import monotonic

import pytest

from contracts.topology import PAGES
from contracts.v1.parts import CanonicalPage
from kit import topology
from kit.bus import Bus, connect
from kit.clock import SystemClock
from kit.kv import Bucket
from services.verifier.domain import Unavailable
from services.verifier.sharing import SharedPages
from tests.integration.test_verifier import verifying, wikipedia
from tests.support.factories import page
from tests.support.sites import Sites
from tests.support.system import until

pytest_plugins = ["tests.support.servers"]

FOUND = page("<p>Found.</p>")


@pytest.fixture
async def buses(nats_url: str) -> AsyncIterator[tuple[Bus, Bus]]:
    """Two processes' connections."""
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(connect(nats_url, name=name)) for name in ("one", "two")]
        await topology.apply(first)
        yield first, second


@pytest.mark.requirement("2.9-01")
async def test_readers_of_one_page_at_two_verifiers_are_one_request(buses: tuple[Bus, Bus]) -> None:
    """2.9-01: LessWrong server verification."""
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(verifying(shared=SharedPages(buses[0], SystemClock())))
        sites: Sites = one.sites
        two = await stack.enter_async_context(verifying(shared=SharedPages(buses[1], SystemClock()), given=sites))
        seen = [wikipedia() for _ in range(100)]
        pages = await asyncio.gather(*(each.fetched(observed) for each in (one, two) for observed in seen))
        assert len(sites.requests) == 1
        assert {found.text for found in pages} == {pages[0].text}


async def test_what_one_found_another_is_told_until_it_is_not_believed_any_more(buses: tuple[Bus, Bus]) -> None:
    one, two = (SharedPages(bus, SystemClock()) for bus in buses)

    async def failing() -> tuple[CanonicalPage | Unavailable, float]:
        return Unavailable("server_error", "500"), 0.0

    async def fetching() -> tuple[CanonicalPage | Unavailable, float]:
        return FOUND, 300.0

    assert await one.get("k", failing, 5.0) == Unavailable("server_error", "500")
    assert await two.get("k", fetching, 5.0) == FOUND
    assert await one.get("k", failing, 5.0) == FOUND


async def test_a_look_up_that_breaks_is_nobodys(buses: tuple[Bus, Bus]) -> None:
    one, two = (SharedPages(bus, SystemClock()) for bus in buses)

    async def breaking() -> tuple[CanonicalPage | Unavailable, float]:
        raise RuntimeError

    async def fetching() -> tuple[CanonicalPage | Unavailable, float]:
        return FOUND, 300.0

    with pytest.raises(RuntimeError):
        await one.get("k", breaking, 60.0)
    began = monotonic()
    assert await two.get("k", fetching, 60.0) == FOUND
    assert monotonic() - began < 30


async def test_the_page_of_a_process_that_is_gone_is_fetched_by_another(buses: tuple[Bus, Bus]) -> None:
    async def never() -> tuple[CanonicalPage | Unavailable, float]:
        await asyncio.Event().wait()
        raise AssertionError

    async def fetching() -> tuple[CanonicalPage | Unavailable, float]:
        return FOUND, 300.0

    bucket = await Bucket.open(buses[0], PAGES)
    stuck = asyncio.create_task(SharedPages(buses[0], SystemClock()).get("k", never, 0.3))
    await until(lambda: _has_lease(bucket), "a lease is there", within_s=10)
    assert await SharedPages(buses[1], SystemClock()).get("k", fetching, 5.0) == FOUND
    stuck.cancel()


async def _has_lease(bucket: Bucket) -> bool:
    return await bucket.get("k") is not None
