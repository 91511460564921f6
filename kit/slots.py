"""Workers that fetch one message, handle it, and fetch the next.

Messages are not prefetched, so none waits in this process without a heartbeat. Nor are any fetched while the broker is
away: the client library would queue the requests, and a slot would receive a message for each of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import nats.errors
import structlog
from faststream.nats.subscriber.usecases import LogicSubscriber
from nats.aio.msg import Msg

from kit.cancelling import cancel_and_wait

FETCH_TIMEOUT_S = 5.0
"""A fetch that is lost with its connection delays its slot by this time."""
FETCH_RETRY_S = 1.0

log = structlog.get_logger(__name__)


class Slot:
    """One worker on one durable consumer."""

    def __init__(self, name: str, subscriber: LogicSubscriber[Msg], work: Callable[[Msg], Awaitable[None]]) -> None:
        self._name = name
        self._subscriber = subscriber
        self._work = work
        self._busy = False
        self._stopping = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to fetch messages."""
        self._task = asyncio.create_task(self._run(), name=self._name)

    def stop(self) -> Sequence[asyncio.Task[None]]:
        """Fetch no more messages; return the task, if any, which ends after the message in progress."""
        self._stopping = True
        if self._task is None:
            return ()
        if not self._busy:
            self._task.cancel()
        return (self._task,)

    async def _run(self) -> None:
        try:
            while not self._stopping:
                message = await self._fetch()
                if message is None:
                    if self._subscriber.connection.is_closed:
                        log.error("the connection to the broker is closed, fetching no messages", consumer=self._name)
                        return
                    continue
                if self._stopping:  # it arrived while the fetch was being cancelled
                    with suppress(nats.errors.Error):
                        await message.nak()
                    return
                self._busy = True
                try:
                    await self._work(message)
                except Exception:
                    log.exception("message not settled: it is redelivered after its deadline", consumer=self._name)
                finally:
                    self._busy = False
        finally:
            with suppress(nats.errors.Error):
                await self._subscriber.stop()

    async def _fetch(self) -> Msg | None:
        if not self._subscriber.connection.is_connected:
            await asyncio.sleep(FETCH_RETRY_S)
            return None
        try:
            found = await self._subscriber.get_one(timeout=FETCH_TIMEOUT_S)
        except Exception as error:
            if not self._stopping:
                log.warning("fetching failed, trying again", consumer=self._name, error=repr(error))
                await asyncio.sleep(FETCH_RETRY_S)
            return None
        return None if found is None else found.raw_message


async def stop_slots(slots: Sequence[Slot], within_s: float) -> None:
    """Fetch no more messages and wait up to `within_s` for those in progress; the rest are redelivered."""
    tasks = [task for slot in slots for task in slot.stop()]
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=within_s)
    await cancel_and_wait(late)
