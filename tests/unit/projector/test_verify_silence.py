"""A check of the ledger that is given nothing more asks anew, and ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

import pytest

from kit.ordered import StoredMessage
from services.projector.ledger import verify
from services.projector.ports import Extent


class LaggingLog:
    """A stream of ten messages; each reader in turn is put on a replica that has only so many of them."""

    def __init__(self, *replicas: int) -> None:
        self._replicas = list(replicas)
        self.readers: list[int] = []

    async def extent(self, stream: str) -> Extent:
        return Extent(1, 10)

    async def announce(self, stream: str, sequence: int) -> None: ...

    async def follow(self, stream: str, start: int) -> AsyncIterator[Sequence[StoredMessage]]:
        self.readers.append(start)
        for sequence in range(start, self._replicas.pop(0) + 1):
            yield [StoredMessage(stream, sequence, "s", b"", datetime.now(UTC))]
        await asyncio.Event().wait()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "STALL_S", 0.02)


async def read(log: LaggingLog) -> list[int]:
    return [each.sequence async for each in verify.read_messages(log, "ERRATA", await log.extent("ERRATA"))]


async def test_it_is_read_on_from_another_replica() -> None:
    log = LaggingLog(4, 4, 7, 10)
    assert await read(log) == list(range(1, 11))
    assert log.readers == [1, 5, 5, 8]


async def test_where_all_of_them_lag_it_ends_and_says_where() -> None:
    with pytest.raises(verify.BrokerStalled, match="holds ERRATA up to 10 and gave nothing after 4"):
        await read(LaggingLog(4, 0, 0, 0))
