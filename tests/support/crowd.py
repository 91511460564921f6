"""Clients of `/events` that come back again and again, in a process of their own: their cost is not the server's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from typing import Final

CONNECTING: Final = b"GET /events HTTP/1.1\r\nhost: errata.example\r\nlast-event-id: 0\r\n\r\n"


async def _come_back(address: tuple[str, int], every_s: float) -> None:
    """Connect, read history from the start for a while, disconnect, and repeat."""
    while True:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(every_s):
                reader, writer = await asyncio.open_connection(*address)
                try:
                    writer.write(CONNECTING)
                    while await reader.read(1024 * 1024):
                        pass
                    await asyncio.sleep(every_s)
                finally:
                    writer.transport.abort()


async def _all_come_back(address: tuple[str, int], clients: int, every_s: float) -> None:
    async def client(number: int) -> None:
        await asyncio.sleep(every_s * number / clients)
        await _come_back(address, every_s)

    await asyncio.gather(*map(client, range(clients)))


def _run(address: tuple[str, int], clients: int, every_s: float) -> None:
    asyncio.run(_all_come_back(address, clients, every_s))


@contextmanager
def crowd(address: tuple[str, int], *, clients: int, every_s: float) -> Iterator[None]:
    """Have this many clients connect to `/events`, each once in `every_s`, while the context lasts."""
    process = get_context("spawn").Process(target=_run, args=(address, clients, every_s), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()
