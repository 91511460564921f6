"""Save a stream as one file and restore it, by the broker's snapshot protocol.

That preserves sequences, gaps, message ids and consumers' positions. A stream filled by publishing would number its
messages differently, and all stored sequences would be wrong.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final, TypedDict

import nats.errors
import nats.js.errors
import orjson
from nats.aio.msg import Msg
from pydantic import JsonValue

from kit.bus import Bus

CHUNK_BYTES: Final = 128 * 1024
TIMEOUT_S: Final = 30.0


class SnapshotFailed(Exception):
    """The broker refused, with the message it gave, or did not answer."""


class StreamNotEmpty(Exception):
    """The stream has messages, so a restore would mix two instances."""


class _State(TypedDict):
    messages: int


class StreamDescription(TypedDict):
    """A stream as the server describes it."""

    config: dict[str, JsonValue]
    state: _State


class _Error(TypedDict, total=False):
    description: str


class _Answer(StreamDescription, total=False):
    error: _Error
    deliver_subject: str


async def save_stream(bus: Bus, stream: str, file: Path) -> StreamDescription:
    """Write a stream with its consumers to a file, and return its description.

    Raises: SnapshotFailed.
    """
    arrived: asyncio.Queue[Msg] = asyncio.Queue()
    inbox = bus.client.new_inbox()
    subscription = await bus.client.subscribe(inbox, cb=arrived.put, pending_msgs_limit=-1, pending_bytes_limit=-1)
    try:
        options = {"deliver_subject": inbox, "chunk_size": CHUNK_BYTES, "no_consumers": False, "jsck": True}
        about = await _request(bus, f"$JS.API.STREAM.SNAPSHOT.{stream}", orjson.dumps(options))
        with file.open("wb") as sink:
            while True:
                async with asyncio.timeout(TIMEOUT_S):
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
        raise SnapshotFailed(f"{stream}: {str(error) or 'the broker does not answer'}") from error
    finally:
        await subscription.unsubscribe()
    return {"config": about["config"], "state": about["state"]}


async def restore_stream(bus: Bus, stream: str, about: StreamDescription, file: Path, *, replicas: int) -> None:
    """Create a stream from a file; no stream of that name may exist.

    Raises: SnapshotFailed.
    """
    config = about["config"] | {"num_replicas": replicas, "deny_delete": False}
    config.pop("placement", None)
    request = orjson.dumps({"config": config, "state": about["state"]})
    try:
        target = (await _request(bus, f"$JS.API.STREAM.RESTORE.{stream}", request))["deliver_subject"]
        with file.open("rb") as source:
            while chunk := source.read(CHUNK_BYTES):
                answer = await bus.client.request(target, chunk, timeout=TIMEOUT_S)
                if answer.data:
                    _require_success(stream, orjson.loads(answer.data))
        _require_success(stream, orjson.loads((await bus.client.request(target, b"", timeout=TIMEOUT_S)).data))
    except (TimeoutError, nats.errors.Error) as error:
        raise SnapshotFailed(f"{stream}: {error}") from error


async def delete_empty_stream(bus: Bus, stream: str) -> None:
    """Delete a stream that never had messages, so that one from a file can replace it; a missing one is no error.

    Raises: StreamNotEmpty: it has messages, or had some.
    """
    try:
        info = await bus.jetstream.stream_info(stream)
    except nats.js.errors.NotFoundError:
        return
    if info.state.last_seq:
        raise StreamNotEmpty(f"{stream} holds messages already; restore only to an empty broker")
    await bus.jetstream.delete_stream(stream)


async def _request(bus: Bus, subject: str, body: bytes) -> _Answer:
    answer: _Answer = orjson.loads((await bus.client.request(subject, body, timeout=TIMEOUT_S)).data)
    _require_success(subject.rpartition(".")[2], answer)
    return answer


def _require_success(stream: str, answer: _Answer) -> None:
    if "error" in answer:
        raise SnapshotFailed(f"{stream}: {answer['error'].get('description', 'refused')}")
