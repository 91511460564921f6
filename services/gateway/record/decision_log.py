"""The decision log as it was published: notes, tiles, leaves, and what leaves commit to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text as sql

from services.gateway.record.connection import Queries
from services.gateway.record.investigations import IS_PUBLIC
from tlog.leaf import Leaf, Opening, parse_leaf
from tlog.tiles import WIDTH, Bundle, Tile

_NEWEST: Final = sql("""
    SELECT c.size, c.root, c.note, c.published_at, (SELECT policy FROM log.state LIMIT 1) AS policy,
        ARRAY(SELECT line FROM log.cosignature s WHERE s.size = c.size ORDER BY s.key_id) AS cosignatures
    FROM log.checkpoint c WHERE c.published_at IS NOT NULL ORDER BY c.size DESC LIMIT 1
""")
_LEAF_TILE: Final = sql("""
    SELECT string_agg(hash, ''::bytea ORDER BY index) AS data FROM log.leaf WHERE index BETWEEN :first AND :last
""")
_NODE_TILE: Final = sql("""
    SELECT string_agg(hash, ''::bytea ORDER BY index) AS data FROM log.node
    WHERE level = :level AND index BETWEEN :first AND :last
""")
_LEAVES: Final = sql("SELECT data FROM log.leaf WHERE index BETWEEN :first AND :last ORDER BY index")
_OF_SUBJECT: Final = sql("""
    SELECT l.index, l.data FROM log.subject s JOIN log.leaf l ON l.index = s.index WHERE s.id = :id ORDER BY l.index
""")
_OF_PUBLIC: Final = sql(f"""
    SELECT l.index, l.data, ARRAY(SELECT j FROM log.opening o WHERE o.index = l.index ORDER BY j) AS numbers,
        ARRAY(SELECT salt FROM log.opening o WHERE o.index = l.index ORDER BY j) AS salts,
        ARRAY(SELECT document FROM log.opening o WHERE o.index = l.index ORDER BY j) AS documents
    FROM log.subject s JOIN log.leaf l ON l.index = s.index WHERE s.id = :id AND {IS_PUBLIC} ORDER BY l.index
""")  # noqa: S608 (our words)
_BEFORE: Final = sql("SELECT index, data FROM log.leaf WHERE index < :end ORDER BY index DESC LIMIT :limit")
_LEAF: Final = sql("SELECT index, data FROM log.leaf WHERE index = :index")
_OPENINGS: Final = sql("SELECT j, salt, document FROM log.opening WHERE index = :index ORDER BY j")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedNote:
    """The newest note that was published.

    Shapes: `cosignatures` are lines of witnesses, without their newlines; `policy` says whose signatures are required.
    """

    size: int
    root: bytes
    note: bytes
    published_at: datetime
    policy: str
    cosignatures: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A leaf and its index in the log."""

    index: int
    data: bytes

    @property
    def leaf(self) -> Leaf:
        """The parsed leaf."""
        return parse_leaf(self.data)


@dataclass(frozen=True, slots=True)
class OpenEntry(LogEntry):
    """A leaf with what it commits to, as far as that was not erased."""

    numbers: list[int]
    salts: list[bytes]
    documents: list[bytes]

    @property
    def openings(self) -> Sequence[Opening]:
        """What the leaf commits to, in the leaf's order."""
        return [Opening(*each) for each in zip(self.numbers, self.salts, self.documents, strict=True)]


class DecisionLog(Queries):
    """Queries of the decision log, all by key."""

    async def newest(self) -> PublishedNote | None:
        """The newest published note; None if there is no log, or nothing was published yet."""
        return await self._one(PublishedNote, _NEWEST)

    async def tile(self, tile: Tile) -> bytes | None:
        """The hashes of a tile, as many as there are; None if there are none."""
        first = tile.number * WIDTH
        query = _LEAF_TILE if tile.level == 0 else _NODE_TILE
        level = {} if tile.level == 0 else {"level": tile.level}
        found: bytes | None = (await self._scalars(query, first=first, last=first + tile.width - 1, **level)).one()
        return found

    async def leaves(self, bundle: Bundle) -> Sequence[bytes]:
        """The leaves of a bundle, as many as there are."""
        first = bundle.number * WIDTH
        return (await self._scalars(_LEAVES, first=first, last=first + bundle.width - 1)).all()

    async def of_investigation(self, investigation_id: UUID) -> Sequence[LogEntry]:
        """The leaves about an investigation and its findings, the first decision first."""
        return await self._all(LogEntry, _OF_SUBJECT, id=investigation_id)

    async def of_public(self, investigation_id: UUID) -> Sequence[OpenEntry]:
        """As `of_investigation`, with what the leaves commit to; empty if the investigation is not public."""
        return await self._all(OpenEntry, _OF_PUBLIC, id=investigation_id)

    async def before(self, end: int, limit: int) -> Sequence[LogEntry]:
        """Leaves before an index, the newest first."""
        return await self._all(LogEntry, _BEFORE, end=end, limit=limit)

    async def entry(self, index: int) -> LogEntry | None:
        """The leaf at an index, or None."""
        return await self._one(LogEntry, _LEAF, index=index)

    async def openings(self, index: int) -> Sequence[Opening]:
        """What a leaf commits to, unless it was erased. It names the post: return it only to who knows the post."""
        return await self._all(Opening, _OPENINGS, index=index)
