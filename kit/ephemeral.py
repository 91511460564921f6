"""Texts that expire: stored under the hour of their expiry, not readable after it, and deleted by that hour.

Facts hold only a reference to them. They lie on the broker, in a bucket that is in no backup (decision 0114).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from typing import Any, Final, Protocol

import nats.errors
import orjson
import structlog

from contracts.topology import TEXTS
from contracts.v1.parts import EPHEMERAL, EphemeralRef, ephemeral_place
from kit.blob_settings import BlobMissing
from kit.bus import API_TIMEOUT_S, Bus
from kit.clock import Clock
from kit.inbox import NoReply
from kit.kv import Bucket
from kit.publisher import BusError, Outgoing, PublishRefused

STREAM: Final = f"KV_{TEXTS.name}"
DAY: Final = timedelta(days=1)
ANSWER_TIMEOUT_S: Final = 600.0
"""Workers outlast an outage of the broker with an answer that was paid for, if they keep their message."""
RETRY_DELAY_S: Final = 0.5

log = structlog.get_logger(__name__)


class Store(Protocol):
    """A store of named bytes. Shapes: names and places are paths; names at a place begin with it."""

    async def put(self, name: str, data: bytes) -> None: ...

    async def get(self, name: str) -> bytes | None: ...

    async def names(self, place: str) -> Sequence[str]:
        """The names at a place, without the place."""

    async def remove(self, place: str) -> int:
        """Remove all names at a place and return their number."""

    async def first_day(self) -> date:
        """A day in UTC before which nothing was stored; `date.max` if the store is empty."""


class EphemeralTexts:
    """Texts that expire. Each method may raise BusError."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def put(self, text: str, until: datetime, answers: str | None = None) -> EphemeralRef:
        """Store a text until the whole hour at or after `until`; `answers` is the step it is the answer to."""
        data = text.encode()
        digest = sha256(data).hexdigest()
        ref = EphemeralRef(sha256=digest, size_bytes=len(data), until=round_up(until), answers=answers)
        await (self._store.put(ref.name, data) if answers is None else self._put_answer(ref.name, data))
        return ref

    async def _put_answer(self, name: str, data: bytes) -> None:
        deadline = asyncio.get_running_loop().time() + ANSWER_TIMEOUT_S
        while True:
            try:
                return await self._store.put(name, data)
            except PublishRefused:
                raise
            except BusError as error:
                if asyncio.get_running_loop().time() >= deadline:
                    raise
                log.warning("an answer is not stored yet, trying again", error=str(error))
            await asyncio.sleep(RETRY_DELAY_S)

    async def get(self, ref: EphemeralRef) -> str:
        """The text. Raises: BlobMissing: it has expired or was removed earlier."""
        if ref.has_expired(self._clock.now()):
            raise BlobMissing(f"{ref.sha256} was kept until {ref.until:%Y-%m-%dT%H}")
        return await read(self._store, ref)

    async def answers(self, step: str, until: datetime) -> Sequence[EphemeralRef]:
        """What was stored as an answer to a step or its sub-steps, published or not."""
        hour = round_up(until)
        found = []
        for each in await self._store.names(ephemeral_place(hour, step)):
            *below, digest, size = each.split("/")
            name = "/".join((step, *below))
            found.append(EphemeralRef(sha256=digest, size_bytes=int(size), until=hour, answers=name))
        return found

    async def remove(self, ref: EphemeralRef) -> None:
        """Remove a text before its hour; one that is gone is no error."""
        await self._store.remove(ref.place)

    async def remove_answers(self, step: str, until: datetime) -> None:
        """Remove what was stored as an answer to a step or its sub-steps until this hour."""
        await self._store.remove(ephemeral_place(round_up(until), step))

    async def sweep(self, before: datetime) -> int:
        """Remove everything that expired up to `before`; the number of texts."""
        last = before.astimezone(UTC)
        removed, day = 0, await self._store.first_day()
        while day < last.date():
            removed += await self._store.remove(f"{EPHEMERAL}/{day}")
            day += DAY
        if day == last.date():
            for hour in range(last.hour + 1):
                removed += await self._store.remove(ephemeral_place(last.replace(hour=hour)))
        return removed


class TextBucket:
    """The store on the broker. What it has confirmed is found: the stream's leader is asked, which never lags.

    Each method raises BusError when the broker does not answer as it should.
    """

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def put(self, name: str, data: bytes) -> None:
        """Store bytes under a name. Raises: PublishRefused: there are too many of them."""
        await self._bus.ensure_stored(Outgoing(_subject(name), data, {"Nats-Expected-Stream": STREAM}))

    async def get(self, name: str) -> bytes | None:
        """The bytes of this name, if there are any."""
        return await (await Bucket.open(self._bus, TEXTS)).get(name.replace("/", "."))

    async def names(self, place: str) -> Sequence[str]:
        """The names at a place, in order, without the place."""
        within = _subject(place)
        found = await self._ask("STREAM.INFO", {"subjects_filter": f"{within}.>"})
        subjects = found["state"].get("subjects") or {}
        return sorted(each.removeprefix(f"{within}.").replace(".", "/") for each in subjects)

    async def remove(self, place: str) -> int:
        """Remove all names at a place and return their number."""
        removed: int = (await self._ask("STREAM.PURGE", {"filter": f"{_subject(place)}.>"}))["purged"]
        return removed

    async def first_day(self) -> date:
        """The day before the oldest one was stored, since the broker's clock is not ours."""
        state = (await self._ask("STREAM.INFO", {}))["state"]
        return date.fromisoformat(state["first_ts"][:10]) - DAY if state["messages"] else date.max

    async def _ask(self, about: str, question: dict[str, str]) -> dict[str, Any]:
        address, reply = self._bus.inbox.expect(API_TIMEOUT_S)
        try:
            await self._bus.client.publish(f"$JS.API.{about}.{STREAM}", orjson.dumps(question), reply=address)
            answer = orjson.loads((await reply).data or b"{}")
        except (NoReply, nats.errors.Error) as error:
            raise BusError(f"texts that expire: {error}") from error
        finally:
            self._bus.inbox.discard(address)
        if not answer or "error" in answer:
            raise BusError(f"texts that expire: {answer.get('error', {}).get('description', 'there is no bucket')}")
        found: dict[str, Any] = answer
        return found


async def read(store: Store, ref: EphemeralRef) -> str:
    """A text that is stored, though its hour may have come. Raises: BlobMissing: it was removed. BusError."""
    data = await store.get(ref.name) if ref.size_bytes else b""
    if data is None:
        raise BlobMissing(f"no text {ref.sha256}")
    return data.decode()


def round_up(moment: datetime) -> datetime:
    """The whole hour in UTC at or after a moment."""
    hour = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return hour if hour == moment else hour + timedelta(hours=1)


def _subject(name: str) -> str:
    return f"$KV.{TEXTS.name}.{name.replace('/', '.')}"
