"""An event loop whose time passes only when everybody waits: seconds of waiting take none."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """For code without threads and sockets: nothing but its own timers may wake it."""

    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__(_Selector(self))

    def time(self) -> float:
        """Seconds since its start."""
        return self._now_s

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self._now_s += seconds


class _Selector(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        """What is ready; if nothing is, the time waited for is over."""
        if timeout is None:
            raise RuntimeError("everybody waits, and for nothing")
        ready = super().select(0)
        if not ready and timeout > 0:
            self._loop.pass_by(timeout)
        return ready


def run_virtually(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end on a loop of its own."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
