"""Workers that each hold one message at a time: ask the broker for one, have it handled, ask for the next.

Nothing is fetched ahead, so no message waits in this process without a heartbeat. Nor is anything asked for while the
broker is away: the client library keeps what is sent then, and a slot would be given a message for each time it asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import nats.errors
import structlog
from faststream.nats.subscriber.usecases import LogicSubscriber
from nats.aio.msg import Msg

from kit.cancelling import cancelled

FETCH_TIMEOUT_S = 5.0
"""A request for a message is lost with its connection; this long it is waited for in vain."""
ASK_AGAIN_S = 1.0

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
        """Begin to ask for messages."""
        self._task = asyncio.create_task(self._run(), name=self._name)

    def stop(self) -> Sequence[asyncio.Task[None]]:
        """Ask for no more. Returns the task, if there is one, that ends with the message in hand."""
        self._stopping = True
        if self._task is None:
            return ()
        if not self._busy:
            self._task.cancel()
        return (self._task,)

    async def _run(self) -> None:
        try:
            while not self._stopping:
                message = await self._next()
                if message is None:
                    if self._subscriber.connection.is_closed:
                        log.error("no connection to the broker any more, taking no messages", consumer=self._name)
                        return
                    continue
                if self._stopping:  # it came while the waiting for it was cancelled
                    with suppress(nats.errors.Error):
                        await message.nak()
                    return
                self._busy = True
                try:
                    await self._work(message)
                except Exception:
                    log.exception("a message was left to its deadline", consumer=self._name)
                finally:
                    self._busy = False
        finally:
            with suppress(nats.errors.Error):
                await self._subscriber.stop()

    async def _next(self) -> Msg | None:
        if not self._subscriber.connection.is_connected:
            await asyncio.sleep(ASK_AGAIN_S)
            return None
        try:
            found = await self._subscriber.get_one(timeout=FETCH_TIMEOUT_S)
        except Exception as error:
            if not self._stopping:
                log.warning("no message can be had, asking again", consumer=self._name, error=repr(error))
                await asyncio.sleep(ASK_AGAIN_S)
            return None
        return None if found is None else found.raw_message


async def end(slots: Sequence[Slot], within_s: float) -> None:
    """Ask for no more messages and wait for those in hand, but not for ever; the rest comes back after its deadline."""
    tasks = [task for slot in slots for task in slot.stop()]
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=within_s)
    await cancelled(late)
