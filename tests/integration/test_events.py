"""Following events on a real broker and over real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

import httpx
import pytest
from prometheus_client import CollectorRegistry

from contracts.topology import ANALYST_SUBJECTS, ERRATA
from contracts.v1 import ClaimApproved, decode
from kit import pages, topology
from kit.bus import Bus, connect
from kit.cancelling import cancel_and_wait
from kit.clock import SystemClock
from kit.http import HttpServer, bind
from kit.ordered import StoredMessage
from kit.pages import find_first_since, read_last_sequence, read_page
from services.gateway.adapters import BusEvents
from services.gateway.http import Receive, Scope, Send
from services.gateway.public.stream.admission import Admission
from services.gateway.public.stream.endpoint import EventsEndpoint
from services.gateway.public.stream.feed import Feed
from services.gateway.rate_limit import TokenBuckets
from tests.support.event_stream import Sent, events
from tests.support.findings import REFUSED, SHOWN, facts

pytest_plugins = ["tests.support.servers"]


async def tell(bus: Bus, number: int, *, long: int = 0) -> list[str]:
    """Store a short investigation; the ids of what is shown of it."""
    receipts = [await bus.publish(fact, correlation=uuid4()) for fact in facts(number, long=long)]
    return [str(receipt.sequence) for receipt in receipts[-SHOWN:]]


@asynccontextmanager
async def serving(bus: Bus, *, window: int = 4_096, page: int = 256) -> AsyncIterator[str]:
    """The endpoint alone, on a port of its own."""
    feed = Feed(BusEvents(bus), heartbeat_s=0.2, window=window, page=page)
    admission = Admission(TokenBuckets(SystemClock(), burst=1_000, every_s=1), clients=10, per_network=10)
    endpoint = EventsEndpoint(feed, admission, lambda _: "192.0.2.1", CollectorRegistry(), stall_s=20)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await endpoint(scope, receive, send)

    server = HttpServer(app, bind("127.0.0.1", 0))
    await server.start()
    following = asyncio.create_task(feed.run())
    try:
        yield server.url
    finally:
        await endpoint.stop()
        await server.stop()
        await cancel_and_wait([following])


async def some(http: httpx.AsyncClient, last: str, count: int) -> list[Sent]:
    """Connect, take `count` events, and cut the connection."""
    found: list[Sent] = []
    async with http.stream("GET", "/events", headers={"last-event-id": last}) as response:
        assert response.status_code == 200, await response.aread()
        async for event in events(response):
            found.append(event)
            if len(found) == count:
                break
    return found


async def test_a_client_that_is_cut_sixty_times_misses_and_repeats_nothing(nats_url: str) -> None:
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        told = [sequence for number in range(30) for sequence in await tell(bus, number)]
        async with serving(bus, window=16, page=5) as url, httpx.AsyncClient(base_url=url, timeout=20) as http:

            async def keep_telling() -> None:
                for number in range(30, 90):
                    told.extend(await tell(bus, number))

            telling = asyncio.create_task(keep_telling())
            got: list[Sent] = []
            for cut in range(60):
                got += await some(http, got[-1].id if got else "0", 1 + cut % 5)
            await telling
            if len(got) < len(told):
                got += await some(http, got[-1].id, len(told) - len(got))
            assert [event.id for event in got] == told
            for event in got:
                key = json.loads(event.data)["event"]["investigation_id"]
                assert event.name == decode(f"{event.name}.{key}", event.data.encode()).event.SUBJECT


async def test_what_is_stored_while_history_is_read_is_not_passed_over(
    nats_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The approvals are read before two more events are stored, the results after it."""
    ask, is_stored = pages.direct_get, asyncio.Event()
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        told = await tell(bus, 1)

        async def ask_between(bus: Bus, stream: str, question: dict[str, object]) -> tuple[list[StoredMessage], int]:
            if question["next_by_subj"] != f"{ClaimApproved.SUBJECT}.>":
                await is_stored.wait()
                return await ask(bus, stream, question)
            found = await ask(bus, stream, question)
            if not is_stored.is_set():
                told.extend(await tell(bus, 2))
                is_stored.set()
            return found

        monkeypatch.setattr(pages, "direct_get", ask_between)
        async with asyncio.timeout(30), serving(bus) as url, httpx.AsyncClient(base_url=url, timeout=20) as http:
            got = await some(http, "0", 3)
        assert [event.id for event in got] == told[:3]


async def test_nobody_hears_of_a_candidate_that_was_not_approved(nats_url: str) -> None:
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        told = await tell(bus, 1)
        async with serving(bus) as url, httpx.AsyncClient(base_url=url, timeout=20) as http:
            got = await some(http, "0", 2)
            assert [(event.id, event.name) for event in got] == list(
                zip(told, ["errata.v1.claim.approved", "errata.v1.investigation.completed"], strict=True)
            )
            assert not [event for event in got if REFUSED in event.data]
            for kind in ("claim.proposed", "claim.rejected", "claim.validation_failed"):
                assert (await http.get("/events", params={"type": kind})).status_code == 400


async def test_pages_of_several_patterns_come_in_the_order_of_the_log_whatever_their_size(nats_url: str) -> None:
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        told = [
            int(each) for number in range(6) for each in await tell(bus, number, long=300_000 if number == 2 else 0)
        ]
        for limit, max_bytes in ((1, None), (2, 1_000), (5, 200_000), (100, None)):
            got: list[int] = []
            more = True
            while more:
                after = got[-1] if got else 0
                page = await read_page(
                    bus, ERRATA.name, ANALYST_SUBJECTS, after=after, limit=limit, max_bytes=max_bytes
                )
                got += [message.sequence for message in page.messages]
                more = page.more
            assert got == told
        assert await read_last_sequence(bus, ERRATA.name) == told[-1]
        found = (await read_page(bus, ERRATA.name, ANALYST_SUBJECTS, after=told[3] - 1, limit=1)).messages[0]
        assert await find_first_since(bus, ERRATA.name, found.time) == found.sequence


async def test_a_stop_does_not_wait_for_clients(nats_url: str) -> None:
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        async with asyncio.timeout(60), serving(bus) as url, httpx.AsyncClient(base_url=url, timeout=20) as http:
            request = http.build_request("GET", "/events")
            response = await http.send(request, stream=True)
            assert response.status_code == 200
        with suppress(httpx.ReadError):  # a connection that the server ends may end without a last chunk
            assert [event async for event in events(response)] == []
