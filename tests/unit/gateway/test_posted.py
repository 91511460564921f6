"""What answers a posted request that is refused, or that cannot be answered now."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import orjson
import pytest

from services.gateway.http import Reply
from services.gateway.ports import Unavailable
from services.gateway.public.posted import Refusal, send_answer
from services.gateway.record.question import BadQuestion


@pytest.mark.parametrize(
    ("failure", "status", "said"),
    [
        (Refusal(409, "It is open already."), 409, "It is open already."),
        (Unavailable("the database is gone"), 503, "try again"),
        (BadQuestion("it takes too long"), 503, "try again"),
    ],
)
async def test_a_failure_is_answered_in_words(failure: Exception, status: int, said: str) -> None:
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def fail() -> Reply:
        raise failure

    await send_answer(send, fail())
    assert sent[0]["status"] == status
    message = orjson.loads(sent[1]["body"])["message"]
    assert said in message
    assert "database" not in message, "what is wrong inside is not a reader's"
