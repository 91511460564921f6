"""A client of server-sent events, written from the standard and not from the server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx


@dataclass(frozen=True)
class Sent:
    """One dispatched event."""

    id: str
    name: str
    data: str


async def events(response: httpx.Response) -> AsyncIterator[Sent]:
    """Parse a response. Source: HTML standard, section 9.2.6."""
    last_id, name, data = "", "", []  # type: tuple[str, str, list[str]]
    async for line in response.aiter_lines():
        if not line:
            if data:
                yield Sent(last_id, name or "message", "\n".join(data))
            name, data = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "id":
            last_id = value
        elif field == "event":
            name = value
        elif field == "data":
            data.append(value)
