"""Following events: nothing is missed and nothing comes twice, wherever and whenever a client is cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.topology import ANALYST_SUBJECTS
from contracts.v1 import Envelope, ErasureOrdered, decode, encode_parts
from contracts.v1.erasure import ErasedFact
from kit.pages import LogPage
from services.gateway.public.stream.feed import Feed
from services.gateway.public.stream.question import SHOWN, BadQuestion, Question, encode_frame, read_question
from services.gateway.public.stream.window import Window
from services.gateway.streaming import HEARTBEAT
from tests.support.envelopes import encode
from tests.support.event_log import MemoryEvents
from tests.support.factories import completed
from tests.support.system import until
from tests.unit.gateway.fakes import Bench

ONE, OTHER = str(UUID(int=1)), str(UUID(int=2))
APPROVED = f"errata.v1.claim.approved.{ONE}"
APPROVED = f"errata.v1.claim.approved.{OTHER}"
COMPLETED = f"errata.v1.investigation.completed.{ONE}"
ERASURE = f"errata.v1.erasure.ordered.{ONE}"
REQUESTED = f"errata.v1.investigation.requested.{ONE}"
SUBJECTS = (APPROVED, APPROVED, COMPLETED, REQUESTED)


@asynccontextmanager
async def running(feed: Feed) -> AsyncIterator[Window]:
    """A feed that hears erasures and that somebody looks into."""
    async with unseen(feed), feed.open_window() as window:
        yield window


@asynccontextmanager
async def unseen(feed: Feed) -> AsyncIterator[None]:
    """A feed that hears erasures."""
    task = asyncio.create_task(feed.run())

    async def hears() -> bool:
        assert isinstance(feed.log, MemoryEvents)
        return bool(feed.log.reading(ERASURE))

    try:
        await until(hears, "erasures are heard")
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def ids(chunk: bytes) -> list[int]:
    return [int(line[4:]) for line in chunk.split(b"\n") if line.startswith(b"id: ")]


async def take(feed: Feed, window: Window, question: Question, count: int) -> list[int]:
    """Ids of the first `count` events or a few more: a client is cut between chunks."""
    found: list[int] = []
    async with aclosing(feed.chunks(window, question)) as chunks:
        while len(found) < count:
            found += ids(await anext(chunks))
    return found


def test_what_is_shown_is_what_the_broker_shows_to_analysts() -> None:
    names = ("claim.approved", "claim.retained", "investigation.completed", "finding.changed")
    shown = {f"errata.v1.{name}" for name in names}
    assert {subject.removesuffix(".>") for subject in ANALYST_SUBJECTS} == shown
    assert set(SHOWN) == shown, "what no review has approved is nobody's business"


def test_the_salt_of_an_event_is_not_shown() -> None:
    event, salt = completed(), "A" * 43
    stored = encode_parts(event, event.event_id(), datetime.now(UTC), UUID(int=1), UUID(int=2), salt)
    assert salt.encode() in stored
    shown = encode_frame(7, event.subject(), stored).partition(b"data: ")[2].strip()
    assert decode(event.subject(), shown) == decode(event.subject(), stored).model_copy(update={"salt": None})


@pytest.mark.parametrize(
    ("query", "header", "expected"),
    [
        (b"", "", Question()),
        (b"after=0", "", Question(after=0)),
        (b"after=7", "9", Question(after=9)),
        (b"type=claim.approved", "", Question(types=("errata.v1.claim.approved",))),
        (
            b"type=investigation.completed,errata.v1.claim.approved&type=claim.approved",
            "",
            Question(types=("errata.v1.claim.approved", "errata.v1.investigation.completed")),
        ),
        (f"investigation={ONE.upper()}".encode(), "", Question(investigation=ONE)),
    ],
)
def test_questions(query: bytes, header: str, expected: Question) -> None:
    question = read_question(query, header)
    assert (question.after, question.investigation) == (expected.after, expected.investigation)
    assert set(question.types) == set(expected.types)


@pytest.mark.parametrize(
    ("query", "header"),
    [
        (b"after=-1", ""),
        (b"after=", ""),
        (b"after=1&after=2", ""),
        (b"", "abc"),
        (b"", "9" * 30),
        ("after=\u0663".encode(), ""),
        (b"type=version.seen", ""),
        (b"type=", ""),
        (b"investigation=1", ""),
        (b"platform=X", ""),
        (b"&".join(b"type=claim.approved" for _ in range(50)), ""),
        (b"after=\xff", ""),
    ],
)
def test_bad_questions(query: bytes, header: str) -> None:
    with pytest.raises(BadQuestion):
        read_question(query, header)


@given(
    history=st.lists(st.sampled_from(SUBJECTS), max_size=30),
    live=st.lists(st.sampled_from(SUBJECTS), max_size=30),
    cuts=st.lists(st.integers(1, 7), min_size=1, max_size=8),
    window=st.integers(1, 12),
    page=st.integers(1, 5),
    question=st.sampled_from(
        [
            Question(after=0),
            Question(after=0, types=("errata.v1.claim.approved",)),
            Question(after=0, investigation=ONE),
        ]
    ),
)
def test_a_client_that_is_cut_again_and_again_misses_and_repeats_nothing(
    history: list[str], live: list[str], cuts: list[int], window: int, page: int, question: Question
) -> None:
    async def follow() -> tuple[list[int], list[int]]:
        log = MemoryEvents()
        for subject in history:
            log.tell(subject)
        feed = Feed(log, heartbeat_s=60, window=window, page=page)
        got: list[int] = []
        waiting, matches = list(live), question.build_filter()
        async with running(feed) as open_window:
            turn = 0
            while True:
                for subject in waiting[:3]:
                    log.tell(subject)
                del waiting[:3]
                await asyncio.sleep(0)
                wanted = [m.sequence for m in log.messages if m.subject in SUBJECTS[:3] and matches(m.subject)]
                left = len(wanted) - len(got)
                if not waiting and not left:
                    return got, wanted
                if left:
                    asked = Question(got[-1] if got else 0, question.types, question.investigation)
                    got += await take(feed, open_window, asked, min(left, cuts[turn % len(cuts)]))
                    turn += 1

    got, wanted = asyncio.run(follow())
    assert got == wanted


async def test_without_a_place_only_what_comes_is_sent() -> None:
    log = MemoryEvents()
    log.tell(APPROVED)
    feed = Feed(log, heartbeat_s=60)
    async with running(feed) as window:
        taking = asyncio.create_task(take(feed, window, Question(), 1))
        await asyncio.sleep(0)
        log.tell(REQUESTED)
        expected = log.tell(COMPLETED)
        assert await taking == [expected]
        assert log.pages == 0


async def test_a_heartbeat_comes_where_there_is_nothing_to_tell_and_where_nothing_is_asked_for() -> None:
    log = MemoryEvents()
    feed = Feed(log, heartbeat_s=0.001)
    async with running(feed) as window:
        async with aclosing(feed.chunks(window, Question())) as chunks:
            assert [await anext(chunks), await anext(chunks)] == [HEARTBEAT] * 2
            log.tell(APPROVED)
            while (chunk := await anext(chunks)) == HEARTBEAT:
                pass
        assert ids(chunk) == [1]
        only = Question(types=("errata.v1.claim.retained",))
        async with aclosing(feed.chunks(window, only)) as chunks:
            log.tell(APPROVED)
            assert [await anext(chunks), await anext(chunks)] == [HEARTBEAT] * 2


async def test_what_leaves_the_window_while_history_is_read_is_sent_all_the_same() -> None:
    class Busy(MemoryEvents):
        async def page(self, patterns: Sequence[str], after: int, limit: int, max_bytes: int) -> LogPage:
            found = await super().page(patterns, after, limit, max_bytes)
            if self.pages == 1:
                for _ in range(3):
                    self.tell(APPROVED)

                async def has_moved() -> bool:
                    return feed.window is not None and feed.window.floor == 3

                await until(has_moved, "two events have left the window")
            return found

    log = Busy()
    log.tell(APPROVED)
    feed = Feed(log, heartbeat_s=60, window=1, page=1)
    async with running(feed) as window:
        assert await take(feed, window, Question(after=0), 2) == [1, 2]


async def test_a_feed_that_failed_goes_on_where_it_was() -> None:
    log = MemoryEvents()
    feed = Feed(log, heartbeat_s=60)
    async with feed.open_window() as window:
        async with unseen(feed):
            log.tell(APPROVED)
            assert await take(feed, window, Question(after=0), 1) == [1]
        log.tell(APPROVED)
        async with unseen(feed):
            assert await take(feed, window, Question(after=0), 2) == [1, 2]


async def test_what_nobody_looks_at_is_not_read() -> None:
    log = MemoryEvents()
    feed = Feed(log, heartbeat_s=60)

    async def reads(expected: int) -> None:
        async def reading() -> bool:
            return log.reading(APPROVED) == expected

        await until(reading, f"{expected} read the claims")

    async with unseen(feed):
        log.tell(APPROVED)
        for _ in range(2):
            await reads(0)
            async with feed.open_window() as window, feed.open_window() as same:
                assert same is window
                told = log.tell(APPROVED)
                assert await take(feed, window, Question(after=told - 1), 1) == [told]
                await reads(1)
            log.tell(APPROVED)
            await reads(0)
            assert feed.window is None


async def test_erasures_are_heard_also_while_nobody_looks() -> None:
    log, heard = MemoryEvents(), list[int]()
    feed = Feed(log, heartbeat_s=60, invalidated=heard.append)

    async def both() -> bool:
        return heard == [0, 1]

    event = ErasureOrdered(erasure_id=UUID(int=1), post_id=UUID(int=2), reason="asked for", facts=())
    told = Envelope(
        id=event.event_id(), occurred_at=datetime(2026, 3, 4, tzinfo=UTC), correlation=UUID(int=4), event=event
    )
    async with unseen(feed):
        log.tell(event.subject(), encode(told))
        await until(both, "the erasure was heard")


async def test_what_is_erased_leaves_the_window_at_once() -> None:
    log = MemoryEvents()
    feed = Feed(log, heartbeat_s=60)
    async with running(feed) as window:
        erased, kept = log.tell(APPROVED), log.tell(APPROVED)
        await take(feed, window, Question(after=0), 2)
        facts = (ErasedFact(sequence=erased, hash="0" * 64),)
        event = ErasureOrdered(erasure_id=UUID(int=1), post_id=UUID(int=2), reason="asked for", facts=facts)
        at = datetime(2026, 3, 4, tzinfo=UTC)
        told = Envelope(id=event.event_id(), occurred_at=at, correlation=UUID(int=4), event=event)
        log.tell(event.subject(), encode(told))

        async def is_gone() -> bool:
            return [each.sequence for each in window.after(0, 9)] == [kept]

        await until(is_gone, "the erased event has left the window")


def test_what_was_erased_before_it_came_is_passed_over() -> None:
    window = Window(10, limit=9, limit_bytes=1_000)
    window.add([(11, APPROVED, b"{}")])
    window.drop([11, 13])
    window.add([(12, APPROVED, b"{}"), (13, APPROVED, b"{}"), (14, APPROVED, b"{}")])
    assert [event.sequence for event in window.after(0, 9)] == [12, 14]
    window.drop([15])
    window.add([(15, APPROVED, b"{}")])
    assert (window.newest, [event.sequence for event in window.after(14, 9)]) == (15, [])


def test_the_window_is_bounded_in_events_and_bytes() -> None:
    window = Window(10, limit=3, limit_bytes=1_000)
    window.add([(n, APPROVED, b"{}") for n in range(11, 16)])
    assert (window.floor, window.newest) == (12, 15)
    assert [event.sequence for event in window.after(12, 2)] == [13, 14]
    window.add([(15, APPROVED, b"repeated"), (20, APPROVED, b"x" * 925)])
    assert (window.floor, [event.sequence for event in window.after(0, 9)]) == (15, [20])
    window.add([(21, APPROVED, b"x" * 2_000)])
    assert (window.floor, window.newest, list(window.after(21, 9))) == (21, 21, [])


class Client:
    """An ASGI client that reads only as fast as it is told to."""

    def __init__(
        self, bench: Bench, path: str = "/events", query: bytes = b"", address: str = "192.0.2.1", **headers: str
    ) -> None:
        self.sent: list[dict[str, Any]] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self.left = asyncio.Event()
        self.scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": query,
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
            "client": (address, 1),
        }
        self.task = asyncio.create_task(bench.app(self.scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await self.reads.wait()
        self.sent.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)

    async def status(self) -> int:
        async def known() -> int | None:
            return self.sent[0]["status"] if self.sent else None

        return await until(known, "a reply")

    async def has(self, *expected: int) -> None:
        async def arrived() -> bool:
            return ids(self.body) == list(expected)

        await until(arrived, f"events {expected}")


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[Bench]:
    bench = Bench(**settings)
    async with running(bench.app.feed):
        yield bench
        await bench.app.events.stop()


def counted(bench: Bench, why: str) -> float | None:
    return bench.registry.get_sample_value("openerrata_gateway_event_streams_total", {"why": why})


async def test_a_client_resumes_by_last_event_id() -> None:
    async with serving() as bench:
        for _ in range(3):
            bench.events.tell(APPROVED, b'{"a":1}', skip=10)
        client = Client(bench, query=b"after=0", last_event_id="11")
        await client.has(22, 33)
        headers = dict(client.sent[0]["headers"])
        assert headers[b"content-type"] == b"text/event-stream; charset=utf-8"
        assert headers[b"access-control-allow-origin"] == b"*"
        assert client.body.endswith(b'id: 33\nevent: errata.v1.claim.approved\ndata: {"a":1}\n\n')
        client.left.set()
        await client.task
        assert counted(bench, "gone") == 1


async def test_a_client_that_does_not_read_is_cut() -> None:
    async with serving(events_stall_s=0.01) as bench:
        client = Client(bench)
        assert await client.status() == 200
        client.reads.clear()
        bench.events.tell(APPROVED)
        await client.task
        assert counted(bench, "slow") == 1


async def test_so_many_clients_and_no_more() -> None:
    async with serving(events_clients=1) as bench:
        first = Client(bench)
        assert await first.status() == 200
        second = Client(bench)
        assert await second.status() == 503
        assert dict(second.sent[0]["headers"])[b"retry-after"] == b"5"
        first.left.set()
        await first.task
        assert await Client(bench).status() == 200


async def test_one_network_takes_its_share_of_places_and_no_more() -> None:
    async with serving(events_clients=3, events_clients_per_network=2) as bench:
        clients = [Client(bench, address=f"192.0.2.{n}") for n in range(2)]
        assert [await client.status() for client in clients] == [200, 200]
        third = Client(bench, address="192.0.2.9")
        assert await third.status() == 429
        assert dict(third.sent[0]["headers"])[b"retry-after"] == b"5"
        assert await Client(bench, address="198.51.100.1").status() == 200
        assert await Client(bench, address="203.0.113.1").status() == 503, "clients are counted, and not networks"
        clients[0].left.set()
        await clients[0].task
        assert await Client(bench, address="192.0.2.9").status() == 200


async def test_a_network_that_reconnects_without_end_has_to_wait() -> None:
    async with serving(events_connects_burst=3, events_connects_every_s=10) as bench:
        statuses = []
        for _ in range(4):
            client = Client(bench)
            statuses.append(await client.status())
            client.left.set()
            await client.task
        assert statuses == [200, 200, 200, 429]
        assert counted(bench, "refused") == 1
        assert await Client(bench, address="198.51.100.1").status() == 200
        bench.clock.pass_by(10)
        assert await Client(bench).status() == 200


async def test_history_is_read_one_page_at_a_time() -> None:
    log = MemoryEvents()
    for _ in range(20):
        log.tell(APPROVED)
    feed = Feed(log, heartbeat_s=15, window=1, page=1)
    async with running(feed) as window:
        await asyncio.gather(*(take(feed, window, Question(after=0), 10) for _ in range(8)))
    assert log.most_at_once == 1


async def test_a_stop_ends_every_connection_and_lets_nobody_in() -> None:
    async with serving() as bench:
        client = Client(bench)
        assert await client.status() == 200
        await bench.app.events.stop()
        await client.task
        assert not client.sent[-1].get("more_body", False)
        assert await Client(bench).status() == 503


async def test_a_place_that_the_log_never_reached_is_refused() -> None:
    async with serving() as bench:
        bench.events.tell(APPROVED)
        assert await Client(bench, last_event_id="2").status() == 400
        bench.events.broken = True
        assert await Client(bench, last_event_id="2").status() == 503


async def test_history_that_cannot_be_read_ends_the_connection() -> None:
    bench = Bench()
    bench.events.tell(APPROVED)
    async with running(bench.app.feed):
        bench.events.broken = True
        client = Client(bench, query=b"after=0")
        await client.task
        assert ids(client.body) == []
        assert not client.sent[-1].get("more_body", False)


async def test_before_the_log_is_found_nobody_is_let_in() -> None:
    bench = Bench()
    bench.events.broken = True
    assert (await bench.http.get("/events")).status_code == 503


async def test_other_methods_and_bad_questions_are_refused() -> None:
    bench = Bench()
    assert (await bench.http.post("/events")).status_code == 405
    response = await bench.http.get("/events", params={"type": "post.viewed"})
    assert response.status_code == 400
    assert "claim.approved" in response.json()["message"]
