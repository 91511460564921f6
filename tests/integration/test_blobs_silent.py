"""An S3 server that stops, or connections to it that die without a word."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from kit.blob_settings import BlobSettings
from kit.blobs import Blobs, BlobsUnavailable
from kit.embedded import EmbeddedStack
from services.gateway.adapters import GatewayBlobs
from services.gateway.ports import Unavailable
from tests.support.line import Line
from tests.support.suspended import suspended
from tests.support.system import until

RECOVERED_S = 10.0
REFUSED_S = 3.0
LONG = "So they say. " * 2_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    with EmbeddedStack(tmp_path_factory.mktemp("s3"), durable=False, services=("s3",)) as running:
        yield running


def opened(server: EmbeddedStack, url: str) -> Blobs:
    at = server.endpoints
    return Blobs(BlobSettings(url.removeprefix("http://"), at.s3_access_key, at.s3_secret_key, at.s3_bucket))


async def stores(blobs: Blobs, text: str) -> bool:
    try:
        await blobs.put_text(text)
    except BlobsUnavailable:
        return False
    return True


async def lists(blobs: Blobs, place: str) -> bool:
    try:
        await blobs.texts(place[:20])
    except BlobsUnavailable:
        return False
    return True


async def test_what_needs_a_stopped_store_is_refused_soon(server: EmbeddedStack) -> None:
    blobs = opened(server, server.endpoints.s3_endpoint)
    try:
        loop = asyncio.get_running_loop()
        with suspended(server):
            began = loop.time()
            asked = (GatewayBlobs(blobs).put_text(f"{number} {LONG}") for number in range(12))
            found = await asyncio.gather(*asked, return_exceptions=True)
            assert all(isinstance(each, Unavailable) for each in found)
            assert loop.time() - began < REFUSED_S
        began = loop.time()
        await until(lambda: stores(blobs, "again " + LONG), "the store answers", within_s=RECOVERED_S)
        assert loop.time() - began < REFUSED_S
    finally:
        blobs.close()


@pytest.mark.parametrize("ask", [stores, lists])
async def test_half_open_connections_are_replaced(
    server: EmbeddedStack, ask: Callable[[Blobs, str], Awaitable[bool]]
) -> None:
    """All of the pool, after the first that is found dead, of either client library."""
    async with Line(server.endpoints.s3_endpoint) as line:
        blobs = opened(server, line.url)
        try:
            line.delay_s = 0.2  # so that each of them has a connection of its own
            assert all(await asyncio.gather(*(ask(blobs, f"{number} {LONG}") for number in range(8))))
            line.delay_s = 0.0
            line.fail("half-open")
            line.heal()
            began = asyncio.get_running_loop().time()
            assert await ask(blobs, f"again {LONG}")
            assert asyncio.get_running_loop().time() - began < RECOVERED_S
            began = asyncio.get_running_loop().time()
            assert all(await asyncio.gather(*(ask(blobs, f"{number} again {LONG}") for number in range(8))))
            assert asyncio.get_running_loop().time() - began < REFUSED_S, "the others were dead too"
        finally:
            blobs.close()
