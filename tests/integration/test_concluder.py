"""The fold that concludes lives and dies as one: without its mark it would not go on in silence."""

from __future__ import annotations

import asyncio
from uuid import UUID, uuid4

import pytest
from prometheus_client import CollectorRegistry

from kit import topology
from kit.bus import connect
from kit.clock import SystemClock
from kit.vault import UserKeys
from services.investigator.adapters import LOOK_AFTER_S, Concluder
from services.investigator.waiting import Waiting
from tests.support.factories import failed, requested


class Broken(UserKeys):
    """A bug, as far as the concluder is concerned."""

    async def discard(self, investigation: UUID) -> None:
        raise ZeroDivisionError


async def test_a_bug_while_the_mark_is_kept_ends_the_fold_so_that_it_is_seen(nats_url: str) -> None:
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        # A request that the log holds after its end: the fold opens it, and whoever keeps the mark closes it.
        await bus.publish(failed(), correlation=uuid4())
        await bus.publish(requested(key_source="USER"), correlation=uuid4())
        waiting = Waiting(CollectorRegistry(), SystemClock().now)
        with pytest.raises(ExceptionGroup) as raised:
            await asyncio.wait_for(Concluder(bus, Broken(bus, ()), waiting).run(), LOOK_AFTER_S * 4)
        assert isinstance(raised.value.exceptions[0], ZeroDivisionError)
