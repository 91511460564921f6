"""Webhooks as a receiver gets them: signed, once for each try, and only over https on public networks."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.web import GuardedHttpClient
from kit.webhooks import SECRET_PREFIX, Webhooks, sign, webhook_policy
from tests.support.certificates import certificate_for
from tests.support.diverted import Diverted, resolver
from tests.support.sites import Answer, Fault, Sites

NOW = datetime(2026, 12, 1, 12, 0, 0, 900_000, UTC)
SECRETS = [SECRET_PREFIX + base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2)]
BODY = json.dumps({"type": "job.succeeded", "data": {"job_id": "01"}}).encode()
HOOK = "https://hooks.example/audits"


@dataclass
class Receiver:
    """Somebody's server behind a public name, and the client that sends to it."""

    sites: Sites
    hooks: Webhooks
    network: Diverted

    async def send(self, url: str = HOOK) -> str:
        return await self.hooks.send(url, "msg_1", BODY, SECRETS, NOW)


@pytest.fixture
async def receiver(tmp_path: Path) -> AsyncIterator[Receiver]:
    server, client = certificate_for(["hooks.example"], tmp_path)
    resolve, _ = resolver(["8.8.8.8"])
    async with Sites(tls=server) as sites:
        sites.pages["/audits"] = Answer(204, {}, b"")
        network = Diverted(sites.port)
        async with GuardedHttpClient(webhook_policy(""), resolve=resolve, network=network, tls=client) as http:
            yield Receiver(sites, Webhooks(http), network)


def test_the_signature_is_the_one_that_the_standard_gives() -> None:
    """Source: the test vector of the Standard Webhooks libraries."""
    given = sign(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )
    assert given == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(body=st.binary(), other=st.binary(), at=st.integers(0, 2**40))
def test_another_body_or_moment_has_another_signature(body: bytes, other: bytes, at: int) -> None:
    signed = sign(SECRETS[0], "m", at, body)
    assert (sign(SECRETS[0], "m", at, other) == signed) == (body == other)
    assert sign(SECRETS[0], "m", at + 1, body) != signed
    assert sign(SECRETS[1], "m", at, body) != signed


@pytest.mark.requirement("FH-159")
async def test_a_message_is_posted_with_a_signature_for_each_secret(receiver: Receiver) -> None:
    """FH-159: A webhook is sent once, signed, and repeated until it is received."""
    assert await receiver.send() == "delivered"
    (seen,) = receiver.sites.requests
    sent_at = int(NOW.timestamp())
    assert (seen.method, seen.body, seen.headers["content-type"]) == ("POST", BODY, "application/json")
    assert (seen.headers["webhook-id"], seen.headers["webhook-timestamp"]) == ("msg_1", str(sent_at))
    assert seen.headers["webhook-signature"].split() == [sign(each, "msg_1", sent_at, BODY) for each in SECRETS]


@pytest.mark.parametrize(
    ("status", "outcome"), [(200, "delivered"), (410, "gone"), (404, "failed"), (500, "failed"), (302, "failed")]
)
async def test_the_status_decides(status: int, outcome: str, receiver: Receiver) -> None:
    receiver.sites.pages["/audits"] = Answer(status, {"location": "https://hooks.example/elsewhere"}, b"x")
    assert await receiver.send() == outcome
    assert len(receiver.sites.requests) == 1, "no redirect is followed"


@pytest.mark.parametrize("fault", ["stalled_body", "huge", "truncated", "truncated_gzip", "unknown_encoding"])
async def test_nothing_of_an_answer_counts_but_its_status(fault: Fault, receiver: Receiver) -> None:
    receiver.sites.fail(fault)
    assert await receiver.send() == "delivered"
    receiver.sites.heal()


async def test_nothing_is_sent_without_tls(receiver: Receiver) -> None:
    assert await receiver.send("http://hooks.example/audits") == "failed"
    assert receiver.network.connected == []


@pytest.mark.requirement("FH-160")
@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1"])
async def test_nothing_is_sent_into_a_private_network(address: str) -> None:
    """FH-160: Webhooks go to public addresses only."""
    resolve, _ = resolver([address])
    network = Diverted(1)
    async with GuardedHttpClient(webhook_policy(""), resolve=resolve, network=network) as http:
        assert await Webhooks(http).send(HOOK, "msg_1", BODY, SECRETS, NOW) == "failed"
    assert network.connected == []
