"""`/lookup/v1/`: the documents of private look-ups, as the notary stored them. No database is read.

No request is counted by post: it names only a bucket. Source: rows TR-26 and TR-29 of
docs/requirements/trust.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from typing import Final

import structlog

from contracts.lookup.buckets import parse_layout, parse_prefix
from contracts.lookup.documents import Layout, Retractions, encode
from contracts.lookup.framing import frame
from contracts.lookup.names import LAYOUT, bucket_object, day_object
from kit.cache import Cache
from kit.clock import Clock
from services.gateway.callers import header
from services.gateway.http import HeaderList, Receive, Reply, Scope, Send, names_tag, respond, without_body
from services.gateway.ports import LookupObjects, Unavailable

PREFIX: Final = "/lookup/v1/"
DAYS: Final = "retractions/"
CACHE_BYTES: Final = 64 * 1024 * 1024
FRESH_S: Final = 10.0
"""How long an object is served without asking the store."""
_OVERHEAD: Final = 512
_BYTES: Final = (b"content-type", b"application/octet-stream")
_JSON: Final = (b"content-type", b"application/json")
_CACHING: Final = (b"cache-control", b"public, max-age=60, s-maxage=30")
"""A change is seen within two minutes: after our cache, a shared one, the reader's, and ten seconds of the notary."""
_TEXT: Final = ((b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store"))

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Object:
    """A stored object with its ETag; `data` is None if there is none."""

    data: bytes | None
    tag: str = ""

    @classmethod
    def of(cls, data: bytes | None) -> _Object:
        return cls(data, "" if data is None else f'"{sha256(data).hexdigest()[:32]}"')


class LookupEndpoint:
    """Serves layout, buckets and retractions."""

    def __init__(self, objects: LookupObjects, clock: Clock) -> None:
        self._objects = objects
        self._clock = clock
        self._cache: Cache[str, _Object] = Cache(clock, capacity=CACHE_BYTES, ttl_s=FRESH_S, weigh=_weigh)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] not in ("GET", "HEAD"):
            await respond(send, Reply(405, b"only GET\n", ((b"allow", b"GET, HEAD"), *_TEXT)))
            return
        try:
            reply = await self._answer(
                scope["path"].removeprefix(PREFIX), header(dict(scope["headers"]), b"if-none-match")
            )
        except Unavailable as outage:
            log.warning("unavailable", path=PREFIX, reason=str(outage))  # a bucket narrows down what is read
            reply = Reply(503, b"look-ups cannot be read now; please try again\n", _TEXT)
        await respond(without_body(send) if scope["method"] == "HEAD" else send, reply)

    def clear_caches(self) -> None:
        """Drop cached objects."""
        self._cache.clear()

    async def _answer(self, path: str, tags: str) -> Reply:
        if path == "layout.json":
            return _reply(await self._read(LAYOUT), tags, (_JSON, _CACHING))
        if path.startswith(DAYS):
            return await self._read_day(path.removeprefix(DAYS), tags)
        layout, _, prefix = path.partition("/")
        bits = parse_layout(layout)
        bucket = None if bits is None else parse_prefix(prefix, bits)
        if bits is None or bucket is None:
            return _reply(_Object(None), tags, ())
        return _reply(await self._read(bucket_object(bucket, bits)), tags, (_BYTES, _CACHING))

    async def _read_day(self, name: str, tags: str) -> Reply:
        day, layout, today = _parse_day(name), await self._read(LAYOUT), self._clock.now().date()
        if day is None or layout.data is None or day > today:
            return _reply(_Object(None), tags, ())
        if day < Layout.model_validate_json(layout.data).first_day:
            return _reply(_Object(None), tags, ())
        found = await self._read(day_object(day))
        if found.data is None:
            found = _Object.of(frame(encode(Retractions(day=day))))
        return _reply(found, tags, (_BYTES, _CACHING))

    async def _read(self, name: str) -> _Object:
        async def read() -> _Object:
            return _Object.of(await self._objects.get(name))

        return await self._cache.get_or_make(name, read)


def _reply(found: _Object, tags: str, headers: HeaderList) -> Reply:
    if found.data is None:
        return Reply(404, b"there is no such bucket or day\n", _TEXT)
    sent = (*headers, (b"etag", found.tag.encode()))
    if names_tag(tags, found.tag):
        return Reply(304, b"", sent)
    return Reply(200, found.data, sent)


def _parse_day(name: str) -> date | None:
    try:
        day = date.fromisoformat(name)
    except ValueError:
        return None
    return day if day.isoformat() == name else None


def _weigh(found: _Object) -> int:
    return _OVERHEAD + len(found.data or b"")
