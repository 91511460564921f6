"""A running gateway shows nothing of a post that was erased, and takes nothing of it."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest

from contracts.v1 import Envelope, ErasureOrdered
from contracts.v1.erasure import ErasedFact
from contracts.v1.ids import post_id
from contracts.v1.parts import PostRef
from kit.cache import Cache
from services.gateway.ports import Complete, Unavailable, VersionView
from services.gateway.public.stream.question import Question
from services.gateway.streaming import HEARTBEAT
from tests.support.envelopes import encode
from tests.support.system import until
from tests.unit.gateway.fakes import (
    INVESTIGATION,
    NOW,
    POST,
    VERSION,
    Bench,
    claim,
    data,
    error,
    post_on_substack,
    post_on_wikipedia,
    post_on_x,
)

VIEW = "post.recordViewAndGetStatus"
REGISTER = "post.registerObservedVersion"
COMPLETE = Complete(INVESTIGATION, "SERVER_VERIFIED", (claim(1),), NOW)
SHOWN = VersionView(POST, COMPLETE, None)
APPROVED = f"errata.v1.claim.approved.{INVESTIGATION}"
LOCAL = "a local variable"
KEPT = {
    "_active",
    "_denied",
    LOCAL,
    "_buckets",
    "_recent",
    "_free",
    "_networks",
    "_valid",
    "_notes",
    "_tiles",
    "_parsed",
    "_post_counts",
}
"""Memories of keys, of the servers' health and room, of who asks how often, of questions without their answers, and of
the decision log, whose leaves hold no words: nothing of them is of a post. Counts of all posts are 30 seconds old at
most."""


@asynccontextmanager
async def following(bench: Bench) -> AsyncIterator[None]:
    """The gateway's loops, from the end of the log on, and somebody who looks."""
    loops = [asyncio.create_task(run()) for run in (bench.app.feed.run, bench.app.invalidation.run)]

    async def there() -> bool:
        return bool(bench.events.reading(f"{ErasureOrdered.SUBJECT}.{POST}"))

    await until(there, "erasures are heard")
    try:
        async with bench.app.feed.open_window():
            yield
    finally:
        for loop in loops:
            loop.cancel()
            with suppress(asyncio.CancelledError):
                await loop


def erase(bench: Bench, *sequences: int) -> int:
    """What the operator's command tells, and then does to the log."""
    event = ErasureOrdered(
        erasure_id=UUID(int=1),
        post_id=POST,
        reason="asked for",
        facts=tuple(ErasedFact(sequence=each, hash="0" * 64) for each in sequences),
    )
    told = encode(Envelope(id=event.event_id(), occurred_at=NOW, correlation=UUID(int=2), event=event))
    sequence = bench.events.tell(event.subject(), told)
    bench.events.messages = [each for each in bench.events.messages if each.sequence not in sequences]
    return sequence


async def view(bench: Bench, version: str) -> str:
    """The state a reader is told."""
    body = {"postVersionId": str(VERSION)}
    answer = await bench.mutate(VIEW, body, x_openerrata_extension_version=version)
    return str(answer.json()["result"]["data"]["investigationState"])


async def look(bench: Bench) -> str:
    """The state of the investigation that is polled."""
    answer = await bench.query("post.getInvestigation", {"investigationId": str(INVESTIGATION)})
    return str(answer.json()["result"]["data"]["investigationState"])


async def later(bench: Bench, sequence: int) -> None:
    """Wait until the read model was seen to have followed."""

    async def followed() -> bool:
        return sequence in bench.log.waited_for

    await until(followed, "the read model has followed")


@pytest.mark.parametrize("version", ["0.3.3", "1.0.0"])
async def test_a_result_that_was_remembered_is_not_shown_again(version: str) -> None:
    bench = Bench()
    bench.reads.views[VERSION] = SHOWN
    async with following(bench):
        assert await view(bench, version) == "INVESTIGATED"
        del bench.reads.views[VERSION]
        assert await view(bench, version) == "INVESTIGATED", "from memory"
        await later(bench, erase(bench))
        assert await view(bench, version) == "NOT_INVESTIGATED"


async def test_what_is_answered_before_the_read_model_has_followed_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However often the read model does not answer meanwhile."""
    monkeypatch.setattr("services.gateway.invalidation.RETRY_S", 0)
    bench = Bench()
    bench.reads.views[VERSION] = SHOWN
    bench.log.behind = True
    async with following(bench):
        before = bench.log.waited_in_vain
        erase(bench)

        async def tried_again() -> bool:
            return bench.log.waited_in_vain > before + 2

        await until(tried_again, "the read model is asked again")
        assert await view(bench, "0.3.3") == "INVESTIGATED", "the rows are still there"
        bench.log.behind = False
        await later(bench, bench.events.messages[-1].sequence)
        del bench.reads.views[VERSION]
        assert await view(bench, "0.3.3") == "NOT_INVESTIGATED"


@pytest.mark.parametrize("ask", [lambda bench: view(bench, "0.3.3"), lambda bench: view(bench, "1.0.0"), look])
async def test_what_was_read_before_an_erasure_and_is_answered_after_it_is_not_kept(
    ask: Callable[[Bench], Awaitable[str]],
) -> None:
    bench = Bench()
    bench.reads.views[VERSION] = SHOWN
    bench.reads.investigations[INVESTIGATION] = COMPLETE
    bench.reads.read = lambda: bench.app.invalidation.invalidate(1)
    assert await ask(bench) == "INVESTIGATED"
    bench.reads.read = None
    bench.reads.views.clear()
    bench.reads.investigations.clear()
    assert await ask(bench) == "NOT_INVESTIGATED"


async def test_findings_leave_the_window() -> None:
    bench = Bench()
    async with following(bench):
        erased = bench.events.tell(APPROVED, b'{"secret":1}')
        kept = bench.events.tell(APPROVED, b'{"kept":1}')
        window = bench.app.feed.window
        assert window is not None
        await window.wait_beyond(kept - 1)
        assert len(window.after(0, 9)) == 2
        sequence = erase(bench, erased)
        await later(bench, sequence)
        assert [each.sequence for each in window.after(0, 9)] == [kept]
        after = bench.events.tell(APPROVED)
        chunks = bench.app.feed.chunks(window, Question(after=0))
        sent = b""
        while b"id: %d\n" % after not in sent:
            sent += await anext(chunks)
        await chunks.aclose()
        assert b"secret" not in sent
        assert b"erasure" not in sent, "an erasure is nobody's finding"
        assert sent.count(b"id: ") == 2


async def test_a_client_waits_in_peace_where_everything_was_erased() -> None:
    bench = Bench(events_heartbeat_s=0.02)
    async with following(bench):
        told = [bench.events.tell(APPROVED) for _ in range(3)]
        window = bench.app.feed.window
        assert window is not None
        await window.wait_beyond(told[-1] - 1)
        await later(bench, erase(bench, *told))
        async with aclosing(bench.app.feed.chunks(window, Question(after=0))) as chunks:
            async with asyncio.timeout(5):
                assert await anext(chunks) == HEARTBEAT
            waiting = asyncio.ensure_future(anext(chunks))
            after = bench.events.tell(APPROVED)
            while b"id: %d\n" % after not in (sent := await waiting):
                assert sent == HEARTBEAT
                waiting = asyncio.ensure_future(anext(chunks))


async def test_a_gateway_that_starts_waits_for_the_read_model_before_it_keeps_anything() -> None:
    bench = Bench()
    bench.reads.views[VERSION] = SHOWN
    assert await view(bench, "0.3.3") == "INVESTIGATED"
    bench.events.tell(f"{ErasureOrdered.SUBJECT}.{POST}")
    del bench.reads.views[VERSION]
    async with following(bench):
        await later(bench, 1)
        assert await view(bench, "0.3.3") == "NOT_INVESTIGATED"


@pytest.mark.parametrize("post", [post_on_x, post_on_substack, post_on_wikipedia])
async def test_nothing_of_an_erased_post_is_stored(post: Any) -> None:
    bench = Bench()
    body = post()
    external_id = body.get("externalId", "en:736")
    assert (await bench.mutate(REGISTER, body)).status_code == 200
    bench.reads.erased.add(post_id(PostRef(platform=body["platform"], external_id=external_id)))
    async with following(bench):
        await later(bench, erase(bench))
        told, asked = list(bench.log.told), list(bench.log.asked)
        refused = error(await bench.mutate(REGISTER, body))
        assert (refused["code"], refused.get("openerrataCode")) == ("BAD_REQUEST", None), "an older extension"
        newer = error(await bench.mutate(REGISTER, body, x_openerrata_extension_version="1.0.0"))
        assert (newer["httpStatus"], newer["openerrataCode"]) == (400, "POST_FORGOTTEN")
        assert (bench.log.told, bench.log.asked) == (told, asked)
        bench.reads.erased.clear()
        bench.clock.pass_by(61)
        assert data(REGISTER, await bench.mutate(REGISTER, body))


async def test_an_unreachable_read_model_is_no_permission_to_store() -> None:
    bench = Bench()
    bench.reads.error = Unavailable("database")
    assert (await bench.mutate(REGISTER, post_on_x())).status_code == 503
    assert bench.log.asked == []


def test_no_memory_is_overlooked() -> None:
    bench = Bench()
    memories = list(_memories(bench.app))
    assert {name for name, _ in memories} >= KEPT
    bench.app.invalidation.invalidate(1)
    overlooked = {name for name, memory in memories if not memory.generation} - KEPT
    assert not overlooked, f"erased posts would stay in {overlooked}: add them in services/gateway/assembly.py"


def _memories(root: object) -> Iterator[tuple[str, Cache[Any, Any]]]:
    """Every memory that is reachable from an object, by the attribute that holds it, or as a local variable.

    Not by way of a module, which also leads to what other tests have left.
    """
    outside = {id(vars(module)) for module in tuple(sys.modules.values())}
    seen, left = {id(root): root}, [root]
    while left:
        for each in gc.get_referents(left.pop()):
            if id(each) not in seen and id(each) not in outside and not isinstance(each, type | ModuleType):
                seen[id(each)] = each
                left.append(each)
    named = {
        id(value): name for found in tuple(seen.values()) for name, value in getattr(found, "__dict__", {}).items()
    }
    for found in seen.values():
        if isinstance(found, Cache):
            yield named.get(id(found), LOCAL), found
