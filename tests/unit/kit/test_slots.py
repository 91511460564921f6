"""A worker on one message at a time: what it does when asking, working or stopping goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import nats.errors
import pytest

from kit import slots
from kit.slots import Slot, stop_slots

WITHIN_S = 30.0


class Message:
    """A delivery that knows whether it was handed back."""

    def __init__(self) -> None:
        self.handed_back = False

    async def nak(self) -> None:
        self.handed_back = True


class Source:
    """A subscriber as FastStream's, whose answers are given one by one; where there is none, it waits.

    `late` comes in answer to the cancellation of the waiting, which is thereby swallowed.
    """

    def __init__(self, *answers: Message | Exception | None, late: Message | None = None) -> None:
        self._answers = list(answers)
        self._late = late
        self.asked = asyncio.Event()
        self.ended = asyncio.Event()
        self.connection = SimpleNamespace(is_closed=False, is_connected=True)

    async def get_one(self, *, timeout: float) -> object:
        if not self._answers:
            self.asked.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if self._late is None:
                    raise
                return SimpleNamespace(raw_message=self._late)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return None if answer is None else SimpleNamespace(raw_message=answer)

    async def stop(self) -> None:
        self.ended.set()

    @property
    def stopped(self) -> bool:
        return self.ended.is_set()


def slot_on(source: Source, work: Callable[[Any], Awaitable[None]]) -> Slot:
    slot = Slot("test", cast(Any, source), work)
    slot.start()
    return slot


async def test_trouble_with_asking_or_working_costs_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "FETCH_RETRY_S", 0)
    first, second = Message(), Message()
    done: list[Message] = []

    async def work(message: Message) -> None:
        done.append(message)
        if message is first:
            raise ZeroDivisionError

    source = Source(nats.errors.NoRespondersError(), KeyError("bug"), first, None, second)
    slot = slot_on(source, work)
    await asyncio.wait_for(source.asked.wait(), WITHIN_S)
    assert done == [first, second]
    await asyncio.wait_for(stop_slots([slot], WITHIN_S), WITHIN_S)
    assert source.stopped


async def test_who_waits_for_a_message_ends_at_once() -> None:
    async def work(message: Message) -> None:
        raise AssertionError

    source = Source()
    slot = slot_on(source, work)
    await asyncio.wait_for(source.asked.wait(), WITHIN_S)
    await asyncio.wait_for(stop_slots([slot], 60), WITHIN_S)
    assert source.stopped


async def test_a_message_that_comes_while_stopping_is_handed_back() -> None:
    handled: list[Message] = []

    async def work(message: Message) -> None:
        handled.append(message)

    source = Source(late=(message := Message()))
    slot = slot_on(source, work)
    await asyncio.wait_for(source.asked.wait(), WITHIN_S)
    await asyncio.wait_for(stop_slots([slot], 60), WITHIN_S)
    assert (message.handed_back, handled, source.stopped) == (True, [], True)


@pytest.mark.parametrize("patience_s", [WITHIN_S, 0.0], ids=["waited for", "given up"])
async def test_a_message_in_hand_is_waited_for_but_not_for_ever(patience_s: float) -> None:
    busy, go = asyncio.Event(), asyncio.Event()
    ended: list[str] = []

    async def work(message: Message) -> None:
        busy.set()
        try:
            await go.wait()
            ended.append("done")
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    source = Source(Message(), Message())
    slot = slot_on(source, work)
    await asyncio.wait_for(busy.wait(), WITHIN_S)
    ending = asyncio.create_task(stop_slots([slot], patience_s))
    await asyncio.sleep(0)
    if patience_s:
        go.set()
    await asyncio.wait_for(ending, WITHIN_S)
    assert ended == ["done" if patience_s else "cancelled"]
    assert source.stopped


async def test_a_closed_connection_ends_the_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "FETCH_RETRY_S", 0)

    async def work(message: Message) -> None:
        raise AssertionError

    source = Source(None)
    source.connection.is_closed, source.connection.is_connected = True, False
    slot_on(source, work)
    await asyncio.wait_for(source.ended.wait(), WITHIN_S)


async def test_nothing_is_asked_of_a_broker_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent meanwhile is kept by the client, and would all be asked for at once when the broker is back."""
    looks = 0

    class Link:
        is_closed = False

        @property
        def is_connected(self) -> bool:
            nonlocal looks
            looks += 1
            return looks == 5

    async def work(message: Message) -> None:
        raise AssertionError

    monkeypatch.setattr(slots, "FETCH_RETRY_S", 0)
    source = Source()
    source.connection = cast(Any, Link())
    slot = slot_on(source, work)
    await asyncio.wait_for(source.asked.wait(), WITHIN_S)
    assert looks == 5
    await asyncio.wait_for(stop_slots([slot], 60), WITHIN_S)
