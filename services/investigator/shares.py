"""Runs that the instance pays for and runs on readers' own keys: each kind has a consumer, and so slots, of its own.

Every request reaches both consumers, since the payer is no part of its subject; one of the two handles it and the other
only acknowledges it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from contracts.v1 import Event, InvestigationRequested
from contracts.v1.investigation import KeySource
from kit.delivery import Handler


def paid_by(payer: KeySource, handler: Handler) -> Handler:
    """The handler, for the requests that this key source pays for."""

    async def handle(event: InvestigationRequested, attempt: int) -> AsyncIterator[Event]:
        if event.key_source == payer:
            async with aclosing(handler(event, attempt)) as facts:  # type: ignore[type-var]  # async generators have aclose
                async for fact in facts:
                    yield fact

    return handle
