"""How soon a loop that failed is started again."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any, cast

import pytest

from kit.clock import SystemClock
from kit.host import Host
from kit.publisher import BusError
from kit.telemetry import Telemetry
from tests.support.virtual import run_virtually

FAILURES = 12


class Idle:
    """Delivery without messages."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


async def restarts(error: Exception) -> list[float]:
    """When a loop that fails each time is started, in seconds."""
    none = cast(Any, None)
    host = Host(none, none, none, SystemClock(), Telemetry(), "", none, none)
    host.delivery = cast(Any, Idle())
    stop = asyncio.Event()
    began: list[float] = []

    async def loop() -> None:
        began.append(asyncio.get_running_loop().time())
        if len(began) == FAILURES:
            stop.set()
        raise error

    host.keep_running("loop", loop)
    await host.run(stop)
    return began


@pytest.mark.parametrize(
    ("error", "longest_s"),
    [(BusError("silent"), 1.0), (ExceptionGroup("", [BusError("silent")]), 1.0), (KeyError("bug"), 10.0)],
)
def test_a_loop_waits_ever_longer_but_not_for_servers(
    monkeypatch: pytest.MonkeyPatch, error: Exception, longest_s: float
) -> None:
    monkeypatch.setattr("kit.host.monotonic", lambda: 0.0)
    began = run_virtually(restarts(error))
    pauses = [later - sooner for sooner, later in pairwise(began)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (0.25, longest_s)
