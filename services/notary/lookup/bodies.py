"""Makes the body of a bucket: its posts as they stand now, proved under the newest note."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

from contracts.lookup.buckets import key_range
from contracts.lookup.documents import CLEAR_MOST, Bucket, Post, Version, encode
from contracts.lookup.framing import frame
from kit.database import Session
from services.notary.lookup.listing import FoundLeaf, ListedPost, ListedVersion, choose_clear, keep_standing
from services.notary.lookup.reading import read_openings, read_posts
from services.notary.ports import Tiles
from tlog.decision import write_extra
from tlog.leaf import Opening
from tlog.merkle import inclusion_nodes, prove_inclusion
from tlog.note import Note
from tlog.proof import Proof
from tlog.tiles import Tile, node_reader, tiles_with

_IN_BUCKET: Final = """
    SELECT post_id FROM log.lookup_post WHERE key BETWEEN %(first)s AND %(last)s AND has_findings
    UNION ALL (
        SELECT post_id FROM log.lookup_post WHERE key BETWEEN %(first)s AND %(last)s AND NOT has_findings
        ORDER BY checked_at DESC LIMIT %(clear)s
    )"""


class BodyMaker:
    """Makes bodies under one note. Tiles are read once."""

    def __init__(self, db: Session, tiles: Tiles, note: Note, size: int) -> None:
        self._db = db
        self._source = tiles
        self._note = note
        self._size = size
        self._tiles: dict[Tile, bytes] = {}

    async def make(self, bucket: int, bits: int) -> bytes:
        first, last = key_range(bucket, bits)
        wanted = {"first": first, "last": last, "clear": CLEAR_MOST}
        found = await self._db.execute(_IN_BUCKET, wanted, binary=True)
        posts = await read_posts(self._db, [id_ for (id_,) in await found.fetchall()])
        return frame(encode(await self._describe(sorted(posts.values(), key=lambda each: each.key))))

    async def _describe(self, posts: Sequence[ListedPost]) -> Bucket:
        proven = {post.post_id: post.proven(self._size) for post in posts}
        leaves = [leaf for each in proven.values() for _, leaf in each]
        openings = await read_openings(self._db, [leaf.index for leaf in leaves])
        proofs = {
            version.investigation_id: await self._prove(leaf, keep_standing(openings[leaf.index], version.withdrawn))
            for each in proven.values()
            for version, leaf in each
            if leaf.index in openings
        }
        described = [_describe_post(post, proven[post.post_id], proofs) for post in posts]
        return Bucket(
            checkpoint=bytes(self._note).decode(),
            posts=tuple(each for each in described if each.versions),
            clear=choose_clear(posts),
        )

    async def _prove(self, leaf: FoundLeaf, openings: Iterable[Opening]) -> str:
        wanted = tiles_with(inclusion_nodes(leaf.index, self._size), self._size)
        for tile in wanted:
            if tile not in self._tiles:
                self._tiles[tile] = await self._source.read_tile(tile)
        hashes = prove_inclusion(leaf.index, self._size, node_reader(self._size, self._tiles))
        return bytes(Proof(leaf.index, hashes, self._note, write_extra(leaf.data, list(openings)))).decode()


def _describe_post(
    post: ListedPost, proven: Iterable[tuple[ListedVersion, FoundLeaf]], proofs: dict[UUID, str]
) -> Post:
    versions = tuple(
        Version(
            content_hash=version.content_hash,
            revisions=version.revisions,
            investigation=version.investigation_id,
            proof=proofs[version.investigation_id],
        )
        for version, _ in proven
        if version.investigation_id in proofs
    )
    return Post(key=post.key.hex(), versions=versions)
