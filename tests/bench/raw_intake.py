"""The raw limit of intake: the least that reads a body, stores the same three messages in an atomic batch and answers.

Same bodies and headers, same server, same broker, same sharing of batches. No account, no credit, no look-up, and
nothing in the blob store, where intake stores the words before it answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Final
from uuid import uuid4

import orjson

from contracts.topology import Stream
from kit.batches import Batches
from kit.bus import Bus, connect
from kit.http import HttpServer, bind
from kit.publisher import Outgoing
from services.commands.shared import run
from services.gateway.http import Receive, Scope, Send
from tests.bench.child import obey

STREAM: Final = Stream("SCRATCH_INTAKE", ("scratch-intake.>",), atomic=True)


class RawIntake:
    """An ASGI application of one endpoint. `batch` is one that intake stored."""

    def __init__(self, bus: Bus, batch: Sequence[Outgoing]) -> None:
        self._batches = Batches(bus)
        self._batch = batch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        length = len(orjson.loads(body)["input_text"])
        name = str(uuid4())
        receipts = await self._batches.store([_copy(name, each) for each in self._batch])
        answer = orjson.dumps({"id": name, "length": length, "sequence": receipts[-1].sequence})
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 202, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


def _copy(name: str, stored: Outgoing) -> Outgoing:
    """The same message on a subject where nothing is stored yet."""
    headers = {header: value for header, value in stored.headers.items() if not header.startswith("Nats-Batch-")}
    headers |= {
        "Nats-Msg-Id": str(uuid4()),
        "Nats-Expected-Stream": STREAM.name,
        "Nats-Expected-Last-Subject-Sequence": "0",
    }
    return Outgoing(f"scratch-intake.{stored.subject.rpartition('.')[0]}.{name}", stored.data, headers)


def main(pipe: Connection, nats_url: str, batch: Sequence[Outgoing]) -> None:
    """Serve until the parent ends; sends its address first."""
    run(_serve(pipe, nats_url, batch))


async def _serve(pipe: Connection, nats_url: str, batch: Sequence[Outgoing]) -> None:
    async with connect(nats_url, name="raw limit") as bus:
        server = HttpServer(RawIntake(bus, batch), bind("127.0.0.1", 0))
        await server.start()
        pipe.send(server.address)
        await obey(pipe, lambda question: None)
        await server.stop()
