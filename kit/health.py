"""Whether the broker stores what it is sent. A broker whose disk was full answers every question and stores nothing,
also after space is free again, until it is restarted.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final

import nats.errors
import orjson
from nats.aio.client import Client

from contracts.topology import HEALTH
from kit.inbox import Inbox, NoReply
from kit.link import Link

EVERY_S: Final = 2.0
ANSWER_WITHIN_S: Final = 1.5
BODY: Final = bytes(8 * 1024)
"""Larger than what is left in the last block of a file, so that it needs space of its own."""

Problem = str | None
"""None, or one sentence for an operator."""


class WriteCheck:
    """Writes one key of this process into the bucket `health`, at most every two seconds however many ask."""

    def __init__(self, client: Client, inbox: Inbox, link: Link) -> None:
        self._client = client
        self._inbox = inbox
        self._link = link
        self._key = f"$KV.{HEALTH.name}.{client.new_inbox().rpartition('.')[2]}"
        self._asking = asyncio.Lock()
        self._known: tuple[float, Problem] | None = None

    async def problem(self) -> Problem:
        """What is wrong with the broker now."""
        if not (self._client.is_connected and self._link.reachable):
            return "no answer"
        async with self._asking:
            if self._known is None or monotonic() - self._known[0] >= EVERY_S:
                found = await self._write()
                self._known = monotonic(), found
            return self._known[1]

    async def refusal(self) -> Problem:
        """The same, while the broker answers at all."""
        return await self.problem() if self._link.reachable else None

    async def _write(self) -> Problem:
        address, receipt = self._inbox.expect(ANSWER_WITHIN_S)
        try:
            await self._client.publish(self._key, BODY, reply=address)
            message = await receipt
        except (NoReply, nats.errors.Error) as error:
            return _ADVICE.format(error)
        finally:
            self._inbox.forget(address)
        if (message.headers or {}).get("Status") == "503":
            return _ADVICE.format("nothing takes the bucket `health`")
        refusal = orjson.loads(message.data).get("error")
        return None if refusal is None else _ADVICE.format(refusal.get("description", "refused"))


_ADVICE: Final = (
    "it does not store what it is sent ({}): see its log and its disk; after a full disk it must be restarted"
)
