"""What answers a posted request that is refused, or that cannot be answered now."""

from __future__ import annotations

from collections.abc import MutableMapping
from contextlib import nullcontext
from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs

from services.gateway.http import BodyTimeouts, Reply
from services.gateway.ports import Unavailable
from services.gateway.public.posted import ATTEMPTS, PostedRequests, Refusal, send_answer
from services.gateway.record.question import BadQuestion
from tests.support.fakes import StillClock


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

    with capture_logs() as logs:
        await send_answer({"headers": []}, send, fail())
    assert sent[0]["status"] == status
    assert [line["reason"] for line in logs] == ([str(failure)] if status == 503 else [])
    message = orjson.loads(sent[1]["body"])["message"]
    assert said in message
    assert "database" not in message, "what is wrong inside is not a reader's"


async def test_a_network_may_send_so_much_and_then_one_a_minute_whatever_comes_of_it() -> None:
    clock = StillClock()
    posted = PostedRequests(clock, lambda scope: str(scope["client"][0]), BodyTimeouts(1, 1))
    waits: list[bytes | None] = []

    async def status(address: str, kind: bytes) -> int:
        scope = {"method": "POST", "headers": [(b"content-type", kind)], "client": (address, 1)}
        try:
            await posted.read(scope, receive)
        except Refusal as refusal:
            waits.append(dict(refusal.headers).get(b"retry-after"))
            return refusal.status
        return 200

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"{}"}

    kinds = [b"application/json", b"text/plain"] * (ATTEMPTS // 2)
    assert [await status("192.0.2.1", kind) for kind in kinds] == [200, 415] * (ATTEMPTS // 2)
    assert await status("192.0.2.99", b"application/json") == 429, "it is one network"
    assert waits[-2:] == [None, b"60"]
    assert await status("198.51.100.1", b"application/json") == 200
    clock.pass_by(60)
    assert [await status("192.0.2.1", b"application/json") for _ in range(2)] == [200, 429]


@pytest.mark.parametrize(
    ("kind", "site", "is_taken"),
    [
        (b"application/x-www-form-urlencoded", b"cross-site", False),
        (b"application/x-www-form-urlencoded", b"same-site", False),
        (b"application/x-www-form-urlencoded", b"same-origin", True),
        (b"application/json", b"cross-site", True),  # browsers send that only where they were allowed to
    ],
)
async def test_a_form_on_a_page_of_another_site_is_refused(kind: bytes, site: bytes, is_taken: bool) -> None:
    posted = PostedRequests(StillClock(), lambda _: "192.0.2.1", BodyTimeouts(1, 1))

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"{}"}

    scope = {"method": "POST", "headers": [(b"content-type", kind), (b"sec-fetch-site", site)]}
    with nullcontext() if is_taken else pytest.raises(Refusal, match="on a page of this server"):
        await posted.read(scope, receive)


@pytest.mark.parametrize(
    ("method", "kind", "attempts", "status"),
    [
        ("PUT", b"application/json", 1, 405),
        ("POST", b"text/plain", 1, 415),
        ("POST", b"application/json", ATTEMPTS + 1, 429),
    ],
)
async def test_a_body_is_read_even_if_it_is_refused(method: str, kind: bytes, attempts: int, status: int) -> None:
    """A client that is still sending would see a broken connection, and not the reason."""
    posted = PostedRequests(StillClock(), lambda _: "192.0.2.1", BodyTimeouts(1, 1))
    scope = {"method": method, "headers": [(b"content-type", kind)]}
    left: list[bytes] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": left.pop(), "more_body": bool(left)}

    for _ in range(attempts - 1):
        left = [b"x"]
        await posted.read(scope, receive)
    left = [b"x"] * 3
    with pytest.raises(Refusal) as refusal:
        await posted.read(scope, receive)
    assert (refusal.value.status, left) == (status, [])
