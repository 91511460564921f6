"""Open clients and streams of the `openai` library."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar, cast

import httpx2
import openai

T = TypeVar("T")


def open_client(base_url: str, http: httpx2.AsyncClient, timeout: httpx2.Timeout, *, key: str) -> openai.AsyncOpenAI:
    """A client that never retries, and ignores an organization or project that the environment names."""
    client = openai.AsyncOpenAI(api_key=key, base_url=base_url, max_retries=0, timeout=timeout, http_client=http)
    client.organization = client.project = None
    return client


@asynccontextmanager
async def open_stream(stream: openai.AsyncStream[T]) -> AsyncIterator[openai.AsyncStream[T]]:
    """Close a stream together with its generator.

    The two refer to each other, and the library closes only the response. The garbage collector, which may run in any
    thread, would finalize the generators of a half-read response while the event loop closes them.
    """
    try:
        async with stream:
            yield stream
    finally:
        await cast(AsyncGenerator[T, None], stream._iterator).aclose()
