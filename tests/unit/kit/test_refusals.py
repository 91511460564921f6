"""What a stream's refusal means: come too late, to be tried again, or never to be stored."""

from __future__ import annotations

import asyncio
import json

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from kit.clock import SystemClock
from kit.inbox import Inbox
from kit.link import Link
from kit.publisher import BusError, PublishConflict, Publisher, PublishRefused


@pytest.mark.parametrize(
    ("code", "err_code", "expected"),
    [
        (400, 10071, PublishConflict),
        (400, 10164, BusError),
        (400, 10005, BusError),
        (409, 10158, BusError),
        (503, 10077, BusError),
        (400, 10054, PublishRefused),
    ],
    ids=["late", "another is in process", "no peers", "in flight", "no space", "too large"],
)
async def test_a_refusal_is_read_by_its_code(code: int, err_code: int, expected: type[BusError]) -> None:
    client = Client()
    inbox = Inbox(client)
    publisher = Publisher(client, inbox, Link(client, inbox), SystemClock())
    error = {"code": code, "err_code": err_code, "description": "wrong last sequence"}
    answer: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()
    answer.set_result(Msg(client, data=json.dumps({"error": error}).encode()))
    with pytest.raises(BusError) as caught:
        await publisher.wait_for_receipt(answer)
    assert type(caught.value) is expected
