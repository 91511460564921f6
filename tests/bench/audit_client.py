"""Accounts of the job API, and its requests on the wire."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count, cycle
from typing import Final

from kit import topology
from kit.bus import connect
from kit.database import Database, migrate
from kit.servers_in_use import Servers
from services.commands.account_rows import add_account
from services.commands.keys import activate
from tests.bench.audit_model import fresh_article

_keys = count(1)
_SWITCH: Final = "OPENERRATA_GATEWAY_JOBS"


@contextmanager
def job_api_on() -> Iterator[None]:
    """Gateways that start meanwhile serve the job API."""
    os.environ[_SWITCH] = "on"
    try:
        yield
    finally:
        del os.environ[_SWITCH]


async def prepare(found: Servers) -> None:
    """Tables and streams, for services that start in processes of their own."""
    await migrate(found.database_url)
    async with connect(found.nats_url, name="bench") as bus:
        await topology.apply(bus)


async def add_accounts(found: Servers, number: int) -> Sequence[str]:
    """A key for each of `number` new accounts, whose credit has no limit."""
    operator, keys = Database(found.database_url, role="operator"), []
    for _ in range(number):
        name = f"bench{next(_keys)}"
        await add_account(operator, name, None, "reader", "enterprise", None)
        keys.append(f"oe_the-key-of-{name}")
        await activate(operator, name, keys[-1], rights=("audit",), username=name)
    await operator.close()
    return keys


def headers_of(key: str) -> Mapping[str, str]:
    """The headers of a new request."""
    return {"authorization": f"Bearer {key}", "idempotency-key": f"bench-{next(_keys)}"}


def requests(keys: Sequence[str]) -> Iterator[bytes]:
    """New requests for audits on the wire, of one account after another."""
    for key in cycle(keys):
        body = json.dumps({"input_text": fresh_article()}).encode()
        named = "".join(f"{name}: {value}\r\n" for name, value in headers_of(key).items())
        yield (
            f"POST /v1/analyze HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{named}"
            f"accept: */*\r\ncontent-length: {len(body)}\r\n\r\n"
        ).encode() + body
