"""A stream as one file, taken from and brought back to the broker by its own snapshot protocol.

Sequences, deleted places, message ids and consumers' positions come back as they were: a stream filled anew by
publishing would number its messages differently, and everything that names a sequence would be wrong.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

import nats.errors
import nats.js.errors
import orjson
from nats.aio.msg import Msg

from kit.bus import Bus

CHUNK_BYTES: Final = 128 * 1024
SILENCE_S: Final = 30.0


class SnapshotFailed(Exception):
    """The broker did not do it; the message is its own."""


async def take(bus: Bus, stream: str, file: Path) -> dict[str, Any]:
    """Write a stream with its consumers into a file; what the server says about it.

    Raises: SnapshotFailed.
    """
    arrived: asyncio.Queue[Msg] = asyncio.Queue()
    inbox = bus.client.new_inbox()
    subscription = await bus.client.subscribe(inbox, cb=arrived.put, pending_msgs_limit=-1, pending_bytes_limit=-1)
    try:
        asked = {"deliver_subject": inbox, "chunk_size": CHUNK_BYTES, "no_consumers": False, "jsck": True}
        about = await _ask(bus, f"$JS.API.STREAM.SNAPSHOT.{stream}", orjson.dumps(asked))
        with file.open("wb") as sink:
            while True:
                async with asyncio.timeout(SILENCE_S):
                    message = await arrived.get()
                status = (message.headers or {}).get("Status", "")
                if not message.data:
                    if status and not status.startswith("2"):
                        raise SnapshotFailed(f"{stream}: {status} {(message.headers or {}).get('Description', '')}")
                    break
                sink.write(message.data)
                if message.reply:
                    await bus.client.publish(message.reply, b"")
    except (TimeoutError, nats.errors.Error) as error:
        raise SnapshotFailed(f"{stream}: {error or 'the broker fell silent'}") from error
    finally:
        await subscription.unsubscribe()
    return {"config": about["config"], "state": about["state"]}


async def bring_back(bus: Bus, stream: str, about: dict[str, Any], file: Path, *, replicas: int) -> None:
    """Make a stream from a file; it must not exist.

    Raises: SnapshotFailed.
    """
    config = about["config"] | {"num_replicas": replicas, "deny_delete": False}
    config.pop("placement", None)
    asked = orjson.dumps({"config": config, "state": about["state"]})
    try:
        target = (await _ask(bus, f"$JS.API.STREAM.RESTORE.{stream}", asked))["deliver_subject"]
        with file.open("rb") as source:
            while chunk := source.read(CHUNK_BYTES):
                answer = await bus.client.request(target, chunk, timeout=SILENCE_S)
                if answer.data:
                    _refused(stream, orjson.loads(answer.data))
        _refused(stream, orjson.loads((await bus.client.request(target, b"", timeout=SILENCE_S)).data))
    except (TimeoutError, nats.errors.Error) as error:
        raise SnapshotFailed(f"{stream}: {error or 'the broker fell silent'}") from error


async def make_room(bus: Bus, stream: str) -> None:
    """Remove an empty stream, so that one from a file can take its place.

    Raises: SnapshotFailed: it holds something.
    """
    try:
        info = await bus.jetstream.stream_info(stream)
    except nats.js.errors.NotFoundError:
        return
    if info.state.last_seq:
        raise SnapshotFailed(f"{stream} holds messages already; restore only to an empty broker")
    await bus.jetstream.delete_stream(stream)


async def _ask(bus: Bus, subject: str, body: bytes) -> dict[str, Any]:
    answer: dict[str, Any] = orjson.loads((await bus.client.request(subject, body, timeout=SILENCE_S)).data)
    _refused(subject.rpartition(".")[2], answer)
    return answer


def _refused(stream: str, answer: dict[str, Any]) -> None:
    if "error" in answer:
        raise SnapshotFailed(f"{stream}: {answer['error'].get('description', 'refused')}")
