"""Small shared state in the broker: marks, leaders and sealed keys."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import nats.errors
import nats.js.errors
import orjson
from nats.js.kv import KeyValue

from contracts import topology
from kit.bus import API_TIMEOUT_S, Bus
from kit.inbox import NoReply
from kit.publisher import WRONG_LAST_SEQUENCE, BusError

NO_MESSAGE_FOUND: Final = 10037


@dataclass(frozen=True, slots=True)
class Entry:
    """A value and its revision."""

    value: bytes
    revision: int


class Bucket:
    """One key-value bucket. Every method raises BusError when the broker does not answer as it should."""

    def __init__(self, bus: Bus, name: str, store: KeyValue) -> None:
        self._calls = partial(_translate_errors, bus)
        self._bus = bus
        self._name = name
        self._store = store

    @classmethod
    async def open(cls, bus: Bus, bucket: topology.Bucket) -> Bucket:
        """Open a declared bucket; only the first call asks the broker."""
        store = bus.key_values.get(bucket.name)
        if store is None:
            async with _translate_errors(bus):
                store = bus.key_values[bucket.name] = await bus.jetstream.key_value(bucket.name)
        return cls(bus, bucket.name, store)

    async def get(self, key: str) -> bytes | None:
        """The value, or None.

        Sends the library's own request, without its future, timer and random bytes for each call.
        """
        question = orjson.dumps({"last_by_subj": f"$KV.{self._name}.{key}"})
        async with self._calls():
            address, reply = self._bus.inbox.expect(API_TIMEOUT_S)
            try:
                await self._bus.client.publish(f"$JS.API.STREAM.MSG.GET.KV_{self._name}", question, reply=address)
                found = await reply
            finally:
                self._bus.inbox.discard(address)
        return _read_value(found.data)

    async def put(self, key: str, value: bytes) -> None:
        """Set a value unconditionally."""
        async with self._calls():
            await self._store.put(key, value)

    async def create(self, key: str, value: bytes) -> bool:
        """Set a value if there is none; False if there is one."""
        async with self._calls():
            try:
                await self._store.create(key, value)
            except nats.js.errors.KeyWrongLastSequenceError:
                return False
            return True

    async def entry(self, key: str) -> Entry | None:
        """The value with its revision, or None."""
        async with self._calls():
            try:
                entry = await self._store.get(key)
            except nats.js.errors.KeyNotFoundError:
                return None
            return Entry(entry.value or b"", entry.revision or 0)

    async def update(self, key: str, value: bytes, revision: int) -> bool:
        """Replace the value of this revision; False if there is a later one."""
        async with self._calls():
            try:
                await self._store.update(key, value, last=revision)
            except nats.js.errors.KeyWrongLastSequenceError:
                return False
            return True

    async def remove(self, key: str, revision: int) -> bool:
        """Remove the value of this revision; False if there is a later one."""
        async with self._calls():
            try:
                await self._store.delete(key, last=revision)
            except nats.js.errors.APIError as error:
                if error.err_code != WRONG_LAST_SEQUENCE:
                    raise
                return False
            return True

    async def purge(self, key: str) -> None:
        """Remove a value and its history."""
        async with self._calls():
            await self._store.purge(key)


def _read_value(answer: bytes) -> bytes | None:
    """The value in the broker's answer, or None if there is none or it was removed, which leaves an empty value."""
    found = orjson.loads(answer) if answer else {"error": {"description": "there is no such bucket"}}
    error = found.get("error")
    if error is None:
        return b64decode(found["message"].get("data", "")) or None
    if error.get("err_code") == NO_MESSAGE_FOUND:
        return None
    raise BusError(f"key-value bucket: {error.get('description', 'refused')}")


@asynccontextmanager
async def _translate_errors(bus: Bus) -> AsyncIterator[None]:
    try:
        async with bus.link.require_answers():
            yield
    except (nats.errors.Error, NoReply, TimeoutError) as error:
        raise BusError(f"key-value bucket: {error or type(error).__name__}") from error
