"""Waiting for the read model: announcements are hints, the position is looked up when none comes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from kit.bus import Bus, position_subject
from kit.positions import Positions

LONG_S = 30.0


@dataclass
class Announcement:
    """A message on a position subject."""

    subject: str
    data: bytes


@dataclass
class Client:
    """A broker's client with one subscriber, in place of a bus."""

    listener: Callable[[Any], Awaitable[None]] | None = None
    subjects: list[str] = field(default_factory=list)

    @property
    def client(self) -> Client:
        """The bus's client is all that is used of a bus."""
        return self

    async def subscribe(self, subject: str, cb: Callable[[Any], Awaitable[None]]) -> None:
        self.subjects.append(subject)
        self.listener = cb

    async def announce(self, sequence: int, stream: str = "ERRATA") -> None:
        """As the projector does."""
        assert self.listener is not None
        await self.listener(Announcement(position_subject(stream), str(sequence).encode()))


@dataclass
class Table:
    """The position row."""

    position: int = 0
    asked: int = 0

    async def look_up(self, stream: str) -> int:
        self.asked += 1
        return self.position


@dataclass
class World:
    """Positions over a client and a table."""

    client: Client = field(default_factory=Client)
    table: Table = field(default_factory=Table)

    async def opened(self) -> Positions:
        positions = Positions(cast(Bus, self.client), self.table.look_up)
        await positions.open()
        return positions


async def waiting(positions: Positions, sequence: int, stream: str = "ERRATA") -> asyncio.Task[bool]:
    """Somebody who has begun to wait."""
    task = asyncio.create_task(positions.wait_until_reached(stream, sequence, LONG_S))
    await asyncio.sleep(0)
    return task


@pytest.mark.requirement("3.3-01")
async def test_an_announcement_ends_the_wait_of_all_who_are_reached() -> None:
    """3.3-01: The answer to a registration has its exact shape."""
    world = World()
    positions = await world.opened()
    tasks = [await waiting(positions, sequence) for sequence in (7, 3, 5, 3)]
    await world.client.announce(5)
    async with asyncio.timeout(LONG_S):
        assert await asyncio.gather(*tasks[1:]) == [True, True, True]
        assert not tasks[0].done()
        await world.client.announce(9)
        assert await tasks[0]
    assert world.table.asked == 0


async def test_what_is_reached_already_is_not_waited_for() -> None:
    world = World()
    positions = await world.opened()
    await world.client.announce(5)
    assert await positions.wait_until_reached("ERRATA", 5, 0.0)
    assert world.table.asked == 0


async def test_an_announcement_that_comes_late_takes_nothing_back() -> None:
    world = World()
    positions = await world.opened()
    await world.client.announce(9)
    await world.client.announce(4)
    assert await positions.wait_until_reached("ERRATA", 9, 0.0)


async def test_a_lost_announcement_is_looked_up() -> None:
    world = World(table=Table(position=8))
    positions = await world.opened()
    assert await positions.wait_until_reached("ERRATA", 8, LONG_S)
    assert world.table.asked == 1
    assert await positions.wait_until_reached("ERRATA", 8, 0.0), "what was looked up is remembered"


async def test_streams_are_not_mixed_up() -> None:
    world = World()
    positions = await world.opened()
    await world.client.announce(9, "VIEWS")
    assert await positions.wait_until_reached("VIEWS", 9, 0.0)
    assert not await positions.wait_until_reached("ERRATA", 9, 0.0)
    assert world.client.subjects == [position_subject("*")]


async def test_a_read_model_that_does_not_get_there_is_not_waited_for_beyond_the_time() -> None:
    world = World(table=Table(position=3))
    positions = await world.opened()
    assert not await positions.wait_until_reached("ERRATA", 4, 0.01)
    await world.client.announce(4)
    assert await positions.wait_until_reached("ERRATA", 4, 0.0), "whoever gave up does not stand in the way"


async def test_whoever_is_cancelled_does_not_stand_in_the_way() -> None:
    world = World()
    positions = await world.opened()
    gone, stays = await waiting(positions, 2), await waiting(positions, 2)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    await world.client.announce(2)
    async with asyncio.timeout(LONG_S):
        assert await stays


async def test_those_who_give_up_leave_nothing_behind_while_the_projector_stands_still() -> None:
    positions = await World().opened()
    for sequence in range(1, 50):
        cancelled = await waiting(positions, sequence)
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        assert not await positions.wait_until_reached("ERRATA", sequence, 0.0)
    assert len(positions._waiting["ERRATA"]) == 1
