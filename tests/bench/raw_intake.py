"""The raw limit of intake: the least that reads a body, stores three messages in one atomic batch and answers.

No account, no credit, no look-up, no words in the blob store. Same server, same broker, same client library.
"""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Final
from uuid import uuid4

import orjson

from contracts.topology import Stream
from kit.bus import Bus, connect
from kit.http import HttpServer, bind
from kit.publisher import Outgoing
from services.commands.shared import run
from services.gateway.http import Receive, Scope, Send
from tests.bench.child import obey

STREAM: Final = Stream("SCRATCH_INTAKE", ("scratch-intake.>",), atomic=True)


class RawIntake:
    """An ASGI application of one endpoint. `bodies` are those of the messages of one batch."""

    def __init__(self, bus: Bus, bodies: Sequence[bytes]) -> None:
        self._bus = bus
        self._bodies = bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        length = len(orjson.loads(body)["input_text"])
        batch, last = str(uuid4()), len(self._bodies)
        sent = [await self._bus.send(self._write(batch, number, last)) for number in range(1, last + 1)]
        for future in sent[:-1]:
            await future
        receipt = await self._bus.wait_for_receipt(sent[-1])
        answer = orjson.dumps({"id": batch, "length": length, "sequence": receipt.sequence})
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 202, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    def _write(self, batch: str, number: int, last: int) -> Outgoing:
        headers = {
            "Nats-Msg-Id": str(uuid4()),
            "Nats-Expected-Stream": STREAM.name,
            "Nats-Expected-Last-Subject-Sequence": "0",
            "Nats-Batch-Id": batch,
            "Nats-Batch-Sequence": str(number),
        }
        if number == last:
            headers["Nats-Batch-Commit"] = "1"
        return Outgoing(f"scratch-intake.{number}.{batch}", self._bodies[number - 1], headers)


def main(pipe: Connection, nats_url: str, bodies: Sequence[bytes]) -> None:
    """Serve until the parent goes; says its address first."""
    run(_serve(pipe, nats_url, bodies))


async def _serve(pipe: Connection, nats_url: str, bodies: Sequence[bytes]) -> None:
    async with connect(nats_url, name="raw limit") as bus:
        server = HttpServer(RawIntake(bus, bodies), bind("127.0.0.1", 0))
        await server.start()
        pipe.send(server.address)
        await obey(pipe, lambda question: None)
        await server.stop()
