"""The labeler's interface: how many may subscribe, how long a subscriber may not read, and what is no question."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final
from uuid import UUID

import orjson
import pytest
from structlog.testing import capture_logs

from contracts.v1 import LabelIssued
from kit.database import Database
from platforms.atproto.labels import LabelKey
from services.gateway.labels import PATTERNS, QUERY, SUBSCRIBE, Labeler, LabelsEndpoint, LabelSource
from services.gateway.public.stream.admission import Admission
from services.gateway.rate_limit import TokenBuckets
from services.gateway.record.repository import PublicRecord
from tests.support.fakes import StillClock
from tests.unit.gateway.fakes import NOW

LABEL: Final = LabelIssued(
    uri="at://did:plc:z72i7hdynmk6r22z27h6tvur/app.bsky.feed.post/3l6oveexaaaaa",
    cid="bafyreidfayvfuwqa7qlnopdjiqrxzs6blmoeu4rujcjtnci5beludirz2a",
    val="erratum",
    cts=NOW,
    exp=NOW,
    post_id=UUID(int=1),
    investigation_id=UUID(int=2),
    why="PUBLISHED",
)


class Labels:
    """A log of one label."""

    async def newest(self) -> int:
        return 1

    async def follow(self, after: int) -> AsyncGenerator[Sequence[tuple[int, LabelIssued]], None]:
        yield [(1, LABEL)]
        await asyncio.Event().wait()


def endpoint(*, connects: int = 99, clients: int = 99, per_network: int = 99, stall_s: float = 5) -> LabelsEndpoint:
    clock = StillClock()
    return LabelsEndpoint(
        LabelSource(Labeler("did:plc:z72i7hdynmk6r22z27h6tvur", LabelKey.parse("1f" * 32)), Labels()),
        PublicRecord(Database("postgresql+psycopg://reader@127.0.0.1:9/none", role="reader")),
        Admission(TokenBuckets(clock, burst=connects, every_s=60), clients=clients, per_network=per_network),
        lambda scope: str(scope["client"][0]),
        clock,
        stall_s=stall_s,
    )


class Subscriber:
    """One connection; `reads`: it takes frames."""

    def __init__(self, labels: LabelsEndpoint, address: str = "203.0.113.7", *, reads: bool = True) -> None:
        self.sent: asyncio.Queue[Any] = asyncio.Queue()
        self.gone = asyncio.Event()
        self._reads = reads
        self._connected = False
        scope = {"type": "websocket", "path": SUBSCRIBE, "query_string": b"cursor=0", "client": (address, 1)}
        self.task = asyncio.create_task(labels(scope, self._receive, self._send))

    async def _receive(self) -> Any:
        if self._connected:
            await self.gone.wait()
            return {"type": "websocket.disconnect"}
        self._connected = True
        return {"type": "websocket.connect"}

    async def _send(self, message: Any) -> None:
        if "bytes" in message and not self._reads:
            await asyncio.Event().wait()
        self.sent.put_nowait(message)

    async def next(self) -> tuple[str, int | None]:
        """What the server does next, with the code by which it closes."""
        message = await asyncio.wait_for(self.sent.get(), 10)
        return message["type"].removeprefix("websocket."), message.get("code")


@pytest.mark.parametrize("limit", [{"connects": 1}, {"clients": 1}, {"per_network": 1}])
async def test_subscribers_are_limited_as_clients_of_events_are(limit: dict[str, int]) -> None:
    labels = endpoint(**limit)
    first = Subscriber(labels)
    assert [await first.next() for _ in range(2)] == [("accept", None), ("send", None)]
    second = Subscriber(labels)
    assert await second.next() == ("close", 1013), "it is not accepted, and may come back later"
    if "clients" not in limit:
        elsewhere = Subscriber(labels, "198.51.100.1")
        assert await elsewhere.next() == ("accept", None)
        elsewhere.gone.set()
        await elsewhere.task
    first.gone.set()
    await asyncio.gather(first.task, second.task)
    again = Subscriber(labels)
    assert await again.next() == (("close", 1013) if "connects" in limit else ("accept", None))
    again.gone.set()
    await again.task


async def test_a_subscriber_that_does_not_read_loses_its_place() -> None:
    labels = endpoint(clients=1, stall_s=0.01)
    slow = Subscriber(labels, reads=False)
    assert [await slow.next() for _ in range(2)] == [("accept", None), ("close", 1013)]
    await asyncio.wait_for(slow.task, 10)
    assert await Subscriber(labels).next() == ("accept", None)
    await labels.stop()


async def ask(query: str) -> tuple[int, Any]:
    """Status and body of an answer."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError

    scope = {"type": "http", "method": "GET", "path": QUERY, "query_string": query.encode()}
    await endpoint()(scope, receive, send)
    return sent[0]["status"], orjson.loads(sent[1]["body"])


@pytest.mark.parametrize(
    "query",
    [
        "",
        "&".join(["uriPatterns=at://a"] * (PATTERNS + 1)),
        "uriPatterns=*&limit=0",
        "uriPatterns=*&limit=251",
        "uriPatterns=*&limit=-1",
        "uriPatterns=*&cursor=x",
        "uriPatterns=a*b",
    ],
)
async def test_what_is_no_question_is_refused_before_anything_is_read(query: str) -> None:
    status, body = await ask(query)
    assert (status, body["error"]) == (400, "InvalidRequest")


async def test_without_the_tables_a_client_is_to_try_again() -> None:
    with capture_logs() as logs:
        status, body = await ask("uriPatterns=*")
    assert [line["path"] for line in logs if line["event"] == "unavailable"] == [QUERY]
    assert (status, body["error"], "try again" in body["message"]) == (503, "InternalServerError", True)


def test_a_label_is_signed_once_however_often_it_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signature takes half a millisecond, and anybody may ask for 250 labels at once."""
    signed, sign = [], LabelKey.sign

    def signing(key: LabelKey, data: bytes) -> bytes:
        signed.append(data)
        return sign(key, data)

    monkeypatch.setattr(LabelKey, "sign", signing)
    labeler = Labeler("did:plc:z72i7hdynmk6r22z27h6tvur", LabelKey.parse("2f" * 32))
    taken_back = LABEL.model_copy(update={"neg": True})
    served = [labeler.sign(label) for label in (LABEL, taken_back, LABEL, taken_back)]
    assert (served[0], served[1]) == (served[2], served[3])
    assert served[0] != served[1]
    assert len(signed) == 2
    other = Labeler("did:plc:z72i7hdynmk6r22z27h6tvur", LabelKey.parse("3f" * 32))
    assert other.sign(LABEL)["sig"] != served[0]["sig"]
