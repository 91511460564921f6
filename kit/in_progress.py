"""Find out whether a live worker has a message, before costly work on it begins a second time.

A broker redelivers a message when its worker was silent for long, but also after it crashed and lost state, when
another of its nodes took over, or when a late negative acknowledgement arrives. Only the worker itself knows whether
it still works on the message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import nats.errors
from nats.aio.msg import Msg

from contracts.topology import Consumer
from kit.bus import Bus
from kit.dead_letters import Origin
from kit.inbox import NoReply

REPLY_TIMEOUT_S: Final = 0.5
"""The worker that has the message replies within this time; a live one needs a few milliseconds."""


class InProgress:
    """The messages of one consumer that this process works on."""

    def __init__(self, bus: Bus, consumer: Consumer) -> None:
        self._bus = bus
        self._subject = consumer.ownership_subject
        self._claimed: set[bytes] = set()

    async def open(self) -> None:
        """Start to answer other workers."""
        await self._bus.client.subscribe(self._subject, cb=self._reply)

    @contextmanager
    def claim(self, origin: Origin) -> Iterator[None]:
        """Mark a message as in progress in this process."""
        key = _key(origin)
        self._claimed.add(key)
        try:
            yield
        finally:
            self._claimed.discard(key)

    async def is_claimed(self, origin: Origin, *, elsewhere: bool = True) -> bool:
        """Whether this process works on the message or, with `elsewhere`, another one; no reply means no."""
        key = _key(origin)
        if key in self._claimed or not elsewhere:
            return key in self._claimed
        address, reply = self._bus.inbox.expect(REPLY_TIMEOUT_S)
        try:
            await self._bus.client.publish(self._subject, key, reply=address)
            found = await reply
        except (NoReply, nats.errors.Error):
            return False
        finally:
            self._bus.inbox.discard(address)
        return bool(found.data)

    async def _reply(self, message: Msg) -> None:
        if message.data in self._claimed:
            await self._bus.client.publish(message.reply, b"yes")


def _key(origin: Origin) -> bytes:
    return f"{origin.stream} {origin.sequence}".encode()
