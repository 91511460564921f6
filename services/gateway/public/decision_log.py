"""`/log/v1/`: the decision log as C2SP tlog-tiles and tlog-proof define it, and proofs of single decisions.

Tiles and bundles never change, so they are cached here and by clients. Source: rows TR-10 and TR-17 of
docs/requirements/trust.md.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from typing import Final

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kit.cache import Cache
from kit.clock import Clock
from services.gateway.domain import parse_id, parse_number
from services.gateway.http import accepts_gzip
from services.gateway.ports import Unavailable
from services.gateway.record.decision_log import LogEntry, PublishedNote
from services.gateway.record.question import BadQuestion
from services.gateway.record.repository import PublicRecord, RecordSession
from tlog.decision import write_extra
from tlog.errors import MalformedError
from tlog.leaf import Opening
from tlog.merkle import inclusion_nodes, prove_inclusion
from tlog.note import Note, parse_signatures
from tlog.proof import Proof
from tlog.tiles import WIDTH, Bundle, Tile, encode_bundle, node_reader, parse_path, tiles_with

PREFIX: Final = "/log/v1/"
CACHE_BYTES: Final = 16 * 1024 * 1024
NOTE_TTL_S: Final = 2.0
_RESULTS: Final = frozenset({"found", "nothing_found"})
_ABOUT_THE_INSTANCE: Final = frozenset({"log", "variant", "breaker", "control_committed", "control_opened"})
"""What these leaves commit to names no post, so anyone may read it."""
_IMMUTABLE: Final = {"cache-control": "public, max-age=31536000, immutable"}
_NOTE: Final = {"cache-control": "public, max-age=5"}
_TEXT: Final = "text/plain; charset=utf-8"
_BYTES: Final = "application/octet-stream"

log = structlog.get_logger(__name__)


class DecisionLogEndpoint:
    """Serves the log. The newest note is read anew every two seconds, so all it covers can be read too."""

    def __init__(self, record: PublicRecord, clock: Clock) -> None:
        self._record = record
        self._notes: Cache[str, tuple[PublishedNote, ...]] = Cache(clock, capacity=1, ttl_s=NOTE_TTL_S)
        self._tiles: Cache[str, bytes] = Cache(clock, capacity=CACHE_BYTES, weigh=len)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope)
        await (await self._answer(request, scope["path"].removeprefix(PREFIX)))(scope, receive, send)

    async def _answer(self, request: Request, path: str) -> Response:
        if request.method not in ("GET", "HEAD"):
            return _refuse(405, "only GET", allow="GET, HEAD")
        try:
            note = await self.newest()
            if note is None:
                return _refuse(404, "this instance keeps no decision log, or has signed nothing yet")
            if path == "checkpoint":
                return Response(bytes(_complete(note)), media_type=_TEXT, headers=_NOTE)
            if path == "policy":
                return Response(note.policy, media_type=_TEXT, headers=_NOTE)
            if path.startswith("proof/"):
                return await self._prove(path.removeprefix("proof/"), note)
            return await self._read(request, parse_path(path), note)
        except MalformedError as error:
            return _refuse(404, str(error))
        except (BadQuestion, Unavailable) as outage:
            log.warning("unavailable", path=request.url.path, reason=str(outage))
            return _refuse(503, "the log cannot be read now; please try again")

    async def _prove_entry(
        self, session: RecordSession, entry: LogEntry, openings: Sequence[Opening], note: PublishedNote
    ) -> Proof:
        wanted = tiles_with(inclusion_nodes(entry.index, note.size), note.size)
        tiles = {tile: await self._tile(session, tile) for tile in wanted}
        hashes = prove_inclusion(entry.index, note.size, node_reader(note.size, tiles))
        return Proof(entry.index, hashes, _complete(note), write_extra(entry.data, openings))

    async def newest(self) -> PublishedNote | None:
        """The newest published note, or None."""
        found = await self._notes.get_or_make("newest", self._read_note)
        return found[0] if found else None

    async def _read_note(self) -> tuple[PublishedNote, ...]:
        async with self._record.open_by_key() as session:
            note = await session.decision_log.newest()
        return () if note is None else (note,)

    async def _prove(self, name: str, note: PublishedNote) -> Response:
        """Answer with the proof of a decision. `name` is an index, an investigation's id, or both: `ID/INDEX`.

        An index alone gives no documents about an investigation, or anyone could list what is in no list.
        """
        async with self._record.open_by_key() as session:
            id_, _, index = name.rpartition("/")
            found = await _find(session, id_, index) if id_ else await _find_first(session, index)
            if found is None:
                return _refuse(404, "the log has no such decision")
            entry, openings = found
            if entry.index >= note.size:
                return _refuse(404, "the decision is in the log, but under no note yet; ask again in a minute")
            proof = await self._prove_entry(session, entry, openings, note)
        return Response(bytes(proof), media_type=_TEXT, headers=_NOTE)

    async def _read(self, request: Request, what: Tile | Bundle, note: PublishedNote) -> Response:
        level = what.level if isinstance(what, Tile) else 0
        if what.number * WIDTH + what.width > note.size >> 8 * level:
            return _refuse(404, "the log does not reach this far yet")
        async with self._record.open_by_key() as session:
            if isinstance(what, Tile):
                return Response(await self._tile(session, what), media_type=_BYTES, headers=_IMMUTABLE)
            data = self._tiles.get(what.path)
            if data is None:
                leaves = await session.decision_log.leaves(what)
                data = gzip.compress(encode_bundle(leaves), mtime=0)
                self._tiles.put(what.path, data)
        headers = _IMMUTABLE | {"vary": "accept-encoding"}
        if accepts_gzip(request.headers.get("accept-encoding", "")):
            return Response(data, media_type=_BYTES, headers=headers | {"content-encoding": "gzip"})
        return Response(gzip.decompress(data), media_type=_BYTES, headers=headers)

    async def _tile(self, session: RecordSession, tile: Tile) -> bytes:
        data = self._tiles.get(tile.path)
        if data is None:
            data = await session.decision_log.tile(tile) or b""
            self._tiles.put(tile.path, data)
        return data


def _complete(note: PublishedNote) -> Note:
    lines = b"".join(line + b"\n" for line in note.cosignatures).decode()
    return Note.parse(note.note).with_signatures(*(parse_signatures(lines) if lines else ()))


async def _find_first(session: RecordSession, name: str) -> tuple[LogEntry, Sequence[Opening]] | None:
    """Find a leaf by its index, with documents only if it is about the instance; or by an id, as `_find` does."""
    if (index := parse_number(name, 15)) is None:
        return await _find(session, name, "")
    entry = await session.decision_log.entry(index)
    if entry is None:
        return None
    return entry, await session.decision_log.openings(index) if entry.leaf.k in _ABOUT_THE_INSTANCE else ()


async def _find(session: RecordSession, name: str, index: str) -> tuple[LogEntry, Sequence[Opening]] | None:
    """Find a leaf about a public investigation; without an index its result, and not a failure before it."""
    id_ = parse_id(name)
    entries = () if id_ is None else await session.decision_log.of_public(id_)
    results = [entry for entry in entries if entry.leaf.k in _RESULTS] if index == "" else []
    for entry in results or entries:
        if index in ("", str(entry.index)):
            return entry, entry.openings
    return None


def _refuse(status: int, why: str, **headers: str) -> Response:
    return Response(f"{why}\n", status, media_type=_TEXT, headers={"cache-control": "no-store", **headers})
