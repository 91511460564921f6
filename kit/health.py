"""Check that the broker stores messages.

A broker whose disk was full answers every request and stores nothing until it is restarted, even after space is free.
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
TIMEOUT_S: Final = 1.5
BODY: Final = bytes(8 * 1024)
"""Larger than the free rest of a file's last block, so that each write needs new space."""

Problem = str | None
"""One sentence for an operator, None if all is well."""


class WriteCheck:
    """Writes one key of this process into the bucket `health`, at most every two seconds."""

    def __init__(self, client: Client, inbox: Inbox, link: Link) -> None:
        self._client = client
        self._inbox = inbox
        self._link = link
        self._key = f"$KV.{HEALTH.name}.{client.new_inbox().rpartition('.')[2]}"
        self._lock = asyncio.Lock()
        self._last: tuple[float, Problem] | None = None

    async def problem(self) -> Problem:
        """The current problem; a check is at most EVERY_S old."""
        if not (self._client.is_connected and self._link.is_reachable):
            return "no answer"
        async with self._lock:
            if self._last is None or monotonic() - self._last[0] >= EVERY_S:
                found = await self._write()
                self._last = monotonic(), found
            return self._last[1]

    async def refusal(self) -> Problem:
        """The same as `problem`, but None while the broker does not answer at all."""
        return await self.problem() if self._link.is_reachable else None

    async def _write(self) -> Problem:
        address, receipt = self._inbox.expect(TIMEOUT_S)
        try:
            await self._client.publish(self._key, BODY, reply=address)
            message = await receipt
        except (NoReply, nats.errors.Error) as error:
            return _ADVICE.format(error)
        finally:
            self._inbox.discard(address)
        if (message.headers or {}).get("Status") == "503":
            return _ADVICE.format("nothing takes the bucket `health`")
        refusal = orjson.loads(message.data).get("error")
        return None if refusal is None else _ADVICE.format(refusal.get("description", "refused"))


_ADVICE: Final = (
    "it does not store what it is sent ({}): see its log and its disk; after a full disk it must be restarted"
)
