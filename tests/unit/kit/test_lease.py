"""A lease ends when the broker would give the message to another worker, however late it confirms a heartbeat."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

from nats.aio.client import Client
from nats.aio.msg import Msg

from kit.bus import Bus
from kit.inbox import Inbox
from kit.lease import Lease, LeaseLost
from tests.support.virtual import run_virtually

ACK_WAIT_S = 9.0


class Broker:
    """A broker that confirms the first `confirmed` heartbeats, each after so many seconds."""

    def __init__(self, confirmed: int, after_s: float) -> None:
        self._confirmed = confirmed
        self._after_s = after_s
        self._receive: Callable[[Msg], Awaitable[None]] | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def new_inbox(self) -> str:
        return "_INBOX.test"

    async def subscribe(self, subject: str, *, cb: Callable[[Msg], Awaitable[None]], **_: Any) -> None:
        self._receive = cb

    async def publish(self, subject: str, payload: bytes, *, reply: str) -> None:
        if self._confirmed:
            self._confirmed -= 1
            self._tasks.append(asyncio.create_task(self._confirm(reply)))

    async def _confirm(self, reply: str) -> None:
        await asyncio.sleep(self._after_s)
        assert self._receive is not None
        await self._receive(Msg(cast(Client, self), subject=reply))


async def lost_after_s(confirmed: int, after_s: float = 0.0, error: Exception | None = None) -> float:
    """When the work on a message is ended, which raises `error` then."""
    broker, loop = Broker(confirmed, after_s), asyncio.get_running_loop()
    inbox = Inbox(cast(Client, broker))
    await inbox.open()
    lease = Lease(
        cast(Bus, SimpleNamespace(client=broker, inbox=inbox)), Msg(cast(Client, broker), reply="ack"), ACK_WAIT_S
    )
    try:
        async with lease:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise error or asyncio.CancelledError from None
    except LeaseLost:
        return loop.time()
    finally:
        lease.release()
    raise AssertionError("the work ended by itself")


def test_work_ends_with_the_deadline_if_no_heartbeat_is_confirmed() -> None:
    assert run_virtually(lost_after_s(0)) == ACK_WAIT_S


def test_a_deadline_counts_from_when_the_heartbeat_was_sent() -> None:
    assert run_virtually(lost_after_s(1, after_s=5.0)) == ACK_WAIT_S / 3 + ACK_WAIT_S


def test_what_the_work_raises_as_it_is_ended_is_no_fault_of_the_message() -> None:
    assert run_virtually(lost_after_s(0, error=ValueError("the connection was cut"))) == ACK_WAIT_S
