"""Whether a worker that is alive has a message: asked before costly work on it begins a second time.

A broker gives a message to somebody else when its worker was silent for long, but also when it crashed and forgot, when
another of its nodes took over, or when a late negative acknowledgement reaches it. Only the worker itself knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import nats.errors
from nats.aio.msg import Msg

from contracts.topology import Consumer
from kit.bus import Bus
from kit.dead import Origin
from kit.inbox import NoReply

ANSWER_S: Final = 0.5
"""How long a worker that has the message may take to say so; one that is alive needs a few milliseconds."""


class InHand:
    """The messages of one consumer that this process works on."""

    def __init__(self, bus: Bus, consumer: Consumer) -> None:
        self._bus = bus
        self._subject = consumer.in_hand
        self._held: set[bytes] = set()

    async def open(self) -> None:
        """Answer whoever asks."""
        await self._bus.client.subscribe(self._subject, cb=self._asked)

    @contextmanager
    def holding(self, origin: Origin) -> Iterator[None]:
        """Have the message in hand."""
        key = _key(origin)
        self._held.add(key)
        try:
            yield
        finally:
            self._held.discard(key)

    async def held(self, origin: Origin, *, elsewhere: bool = True) -> bool:
        """Whether this process works on the message, or, if it is to be asked, another one; no answer means no."""
        key = _key(origin)
        if key in self._held or not elsewhere:
            return key in self._held
        address, answer = self._bus.inbox.expect(ANSWER_S)
        try:
            await self._bus.client.publish(self._subject, key, reply=address)
            found = await answer
        except (NoReply, nats.errors.Error):
            return False
        finally:
            self._bus.inbox.forget(address)
        return bool(found.data)

    async def _asked(self, message: Msg) -> None:
        if message.data in self._held:
            await self._bus.client.publish(message.reply, b"yes")


def _key(origin: Origin) -> bytes:
    return f"{origin.stream} {origin.sequence}".encode()
