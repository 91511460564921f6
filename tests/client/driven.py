"""Both clients behind one face, so that each is shown by the same tests."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, cast

from openerrata_client import AsyncClient, AsyncJob, Client, RetryPolicy
from tests.support.job_server import API_KEY

Wrapped = Any
"""A client or a job, whose methods are called by their names."""


class Blocking:
    """Runs the coroutines of an object in a loop, and iterates its streams."""

    def __init__(self, inner: Wrapped, runner: asyncio.Runner) -> None:
        self._inner = inner
        self._runner = runner

    def __getattr__(self, name: str) -> Wrapped:
        found = getattr(self._inner, name)
        return self._call(found) if callable(found) else found

    def _call(self, method: Wrapped) -> Wrapped:
        def called(*args: object, **named: object) -> object:
            result = method(*args, **named)
            if inspect.isasyncgen(result):
                return self._each(result)
            if inspect.iscoroutine(result):
                result = self._runner.run(result)
            return Blocking(result, self._runner) if isinstance(result, AsyncJob) else result

        return called

    def _each(self, stream: AsyncIterator[object]) -> Iterator[object]:
        async def take() -> object:
            return await anext(stream)

        while True:
            try:
                yield self._runner.run(take())
            except StopAsyncIteration:
                return


class Pauses(list[float]):
    """Takes the place of the clients' sleep."""

    def sleep(self, seconds: float) -> None:
        self.append(seconds)

    async def sleep_async(self, seconds: float) -> None:
        self.append(seconds)


@contextmanager
def driven(kind: str, address: str, pauses: Pauses, **more: Any) -> Iterator[Client]:  # settings of either client
    """A client of this kind."""
    given = {"api_key": API_KEY, "server": address, "retry": RetryPolicy(jitter=lambda: 1.0), **more}
    if kind == "sync":
        with Client(sleep=pauses.sleep, **given) as client:
            yield client
        return
    with asyncio.Runner() as runner:
        inner = AsyncClient(sleep=pauses.sleep_async, **given)
        yield cast(Client, Blocking(inner, runner))
        runner.run(inner.close())
