"""Streams of the `openai` library."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar, cast

import openai

T = TypeVar("T")


@asynccontextmanager
async def open_stream(stream: openai.AsyncStream[T]) -> AsyncIterator[openai.AsyncStream[T]]:
    """Close a stream together with its generator.

    The two refer to each other, and the library closes the response alone. The garbage collector, which runs in any
    thread, would finalize the generators of a half-read response while the event loop closes them.
    """
    try:
        async with stream:
            yield stream
    finally:
        await cast(AsyncGenerator[T, None], stream._iterator).aclose()
