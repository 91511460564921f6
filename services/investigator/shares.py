"""Runs paid by the instance and runs paid by readers have a consumer each, and so slots of their own.

The payer is not part of the subject, so every request reaches both consumers; one handles it, the other only
acknowledges it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from contracts.v1 import Event, InvestigationRequested
from contracts.v1.investigation import KeySource
from kit.delivery import Handler


def filter_by_payer(payer: KeySource, handler: Handler) -> Handler:
    """A handler that ignores requests of the other key source."""

    async def handle(event: InvestigationRequested, delivery_count: int) -> AsyncIterator[Event]:
        if event.key_source == payer:
            async with aclosing(handler(event, delivery_count)) as facts:  # type: ignore[type-var]  # async generators have aclose
                async for fact in facts:
                    yield fact

    return handle
