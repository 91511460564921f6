"""The raw limit of the gateway: the least that reads a body, stores one fact durably and answers.

No routing, no checks of headers, no metrics, a shape without rules. Same server, same broker, same client library.
"""

from __future__ import annotations

from multiprocessing.connection import Connection
from uuid import UUID, uuid4

import orjson
from pydantic import BaseModel

from kit.bus import Bus, connect
from kit.http import HttpServer, bind
from kit.publisher import Outgoing
from services.commands.shared import run
from services.gateway.http import Receive, Scope, Send
from tests.bench.child import obey

STREAM = "SCRATCH"
SUBJECT = "scratch.seen"


class Details(BaseModel):
    """Further fields of a body."""

    authorHandle: str  # noqa: N815 (as on the wire)
    text: str
    mediaUrls: list[str]  # noqa: N815 (as on the wire)


class Seen(BaseModel):
    """A body."""

    platform: str
    url: str
    externalId: str  # noqa: N815 (as on the wire)
    observedContentText: str  # noqa: N815 (as on the wire)
    metadata: Details


class Raw:
    """An ASGI application of one endpoint."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        seen = Seen.model_validate_json(body)
        identity = uuid4()
        receipt = await self._bus.wait_for_receipt(await self._bus.send(self._outgoing(body, identity)))
        answer = orjson.dumps({"platform": seen.platform, "id": str(identity), "sequence": receipt.sequence})
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    def _outgoing(self, body: bytes, identity: UUID) -> Outgoing:
        return Outgoing(SUBJECT, body, {"Nats-Msg-Id": str(identity), "Nats-Expected-Stream": STREAM})


def main(pipe: Connection, nats_url: str) -> None:
    """Serve until the parent ends; sends its address first."""
    run(_serve(pipe, nats_url))


async def _serve(pipe: Connection, nats_url: str) -> None:
    async with connect(nats_url, name="raw limit") as bus:
        server = HttpServer(Raw(bus), bind("127.0.0.1", 0))
        await server.start()
        pipe.send(server.address)
        await obey(pipe, lambda question: None)
        await server.stop()
