"""Keeps the buckets of private look-ups current: those with a change are built again, and no others.

A change is removed once its buckets are in the blob store, so after a crash at any line they are built again. Source:
rows TR-22, TR-26 and TR-29 of docs/requirements/trust.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final
from uuid import UUID

from contracts.lookup.buckets import bucket_of, layout_name
from contracts.lookup.documents import Layout, encode
from contracts.lookup.framing import frame
from contracts.lookup.names import FOLDER, LAYOUT, bucket_object, day_object, layout_folder
from contracts.topology import ERRATA
from kit.clock import Clock
from kit.database import Session
from services.notary.lookup.bodies import BodyMaker
from services.notary.lookup.layouts import (
    StoredLayout,
    choose_bits,
    clear_layout,
    count_posts,
    find_current,
    mark_built,
    read_layouts,
    use_layout,
    want_layout,
)
from services.notary.lookup.listing import ListedPost
from services.notary.lookup.reading import is_behind, is_stopped, read_note, read_posts, read_retractions
from services.notary.ports import LookupMetrics, LookupObjects, Tiles

CHANGES: Final = 200
"""Changes that are published in one transaction."""
ROUNDS: Final = 25
"""Transactions after which the log takes its turn again."""
CHUNK: Final = 512
"""Buckets of a new layout that are built at a time."""
REFRESHED_IN: Final = timedelta(hours=24)
"""Every bucket is built again within this time, so that its note is not old, and a missed change is mended."""

_CHANGES: Final = "SELECT n, post_id, day FROM log.lookup_change WHERE n <= %s ORDER BY n LIMIT %s"
_KNOWN: Final = "SELECT post_id, key, has_findings, digest FROM log.lookup_post WHERE post_id = ANY (%s)"
_KEEP: Final = """
    INSERT INTO log.lookup_post (post_id, key, has_findings, digest, checked_at) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (post_id) DO UPDATE SET
        has_findings = excluded.has_findings, digest = excluded.digest, checked_at = excluded.checked_at"""


@dataclass(frozen=True, slots=True)
class _Known:
    """The state of a post in the published buckets."""

    key: bytes
    has_findings: bool
    digest: bytes


class LookupBuilder:
    """Builds buckets in the one process that keeps the log. `is_witnessed`: notes need a quorum to be used."""

    def __init__(
        self, objects: LookupObjects, tiles: Tiles, metrics: LookupMetrics, clock: Clock, *, is_witnessed: bool
    ) -> None:
        self._objects = objects
        self._tiles = tiles
        self._metrics = metrics
        self._clock = clock
        self._is_witnessed = is_witnessed
        self._posts: int | None = None
        self._layout: bytes | None = None
        self._refreshed_at = clock.monotonic()
        self._next = 0

    async def publish(self, db: Session) -> None:
        """Publish what has changed, once there is a note."""
        found = await read_note(db, is_witnessed=self._is_witnessed)
        if found is None:
            return
        checkpoint, note = found
        bodies = BodyMaker(db, self._tiles, note, checkpoint.size)
        if not await read_layouts(db):
            await self._begin(db)
        if self._posts is None:
            self._posts = await count_posts(db)
        if await self._publish_changes(db, bodies, checkpoint.size):
            await self._build_layout(db, bodies)
        await self._refresh(db, bodies)
        await self._describe_layout(db)

    async def _begin(self, db: Session) -> None:
        """Mark every listed post as changed, and begin the first layout, of no bits.

        Objects in the store are those of a lost database, and erasures would not reach them: they are removed.
        """
        await self._objects.remove_folder(FOLDER)
        async with db.transaction():
            await db.execute("SELECT log.mark_lookups()")
            await want_layout(db, 0, self._clock.now())

    async def _publish_changes(self, db: Session, bodies: BodyMaker, size: int) -> bool:
        """Publish the changes up to now, in limited rounds; whether all of them are published."""
        row = await (await db.execute("SELECT max(n) FROM log.lookup_change")).fetchone()
        last = None if row is None else row[0]
        for _ in range(ROUNDS):
            if last is None or not await self._publish_some(db, bodies, size, last):
                return True
        return False

    async def _publish_some(self, db: Session, bodies: BodyMaker, size: int, last: int) -> bool:
        """Publish the next changes up to the `last`; whether there may be more."""
        async with db.transaction():
            changes = await (await db.execute(_CHANGES, (last, CHANGES))).fetchall()
            if not changes:
                return False
            behind = await is_behind(db, ERRATA.name)
            ids = {post for _, post, _ in changes if post is not None}
            posts = await read_posts(db, ids)
            known = await self._read_known(db, ids)
            changed = [id_ for id_ in ids if _has_changed(posts.get(id_), known.get(id_), size)]
            added = await self._keep(db, changed, posts, known, size)
            keys = [known[id_].key if id_ in known else posts[id_].key for id_ in changed]
            await self._build_everywhere(db, bodies, keys)
            await self._publish_days(db, {day for _, _, day in changes if day is not None})
            await db.execute("DELETE FROM log.lookup_change WHERE n = ANY (%s)", ([n for n, _, _ in changes],))
            for id_, post in posts.items():
                if post.waits(size, is_behind=behind):
                    await db.execute("INSERT INTO log.lookup_change (post_id) VALUES (%s)", (id_,))
        self._posts = (self._posts or 0) + added
        return len(changes) == CHANGES

    async def _read_known(self, db: Session, ids: Collection[UUID]) -> dict[UUID, _Known]:
        found = await db.execute(_KNOWN, (list(ids),), binary=True)
        return {id_: _Known(bytes(key), has, bytes(digest)) for id_, key, has, digest in await found.fetchall()}

    async def _keep(
        self,
        db: Session,
        changed: Sequence[UUID],
        posts: Mapping[UUID, ListedPost],
        known: Mapping[UUID, _Known],
        size: int,
    ) -> int:
        """Store the published state of changed posts; return by how much the number of posts with findings grew."""
        now = [posts[id_] for id_ in changed if id_ in posts]
        rows = [(each.post_id, each.key, bool(each.proven(size)), each.digest(size), each.checked_at) for each in now]
        gone = [id_ for id_ in changed if id_ not in posts]
        async with db.cursor() as cursor:
            await cursor.executemany(_KEEP, rows)
        await db.execute("DELETE FROM log.lookup_post WHERE post_id = ANY (%s)", (gone,))
        before = sum(known[id_].has_findings for id_ in changed if id_ in known)
        return sum(has for _, _, has, _, _ in rows) - before

    async def _build_everywhere(self, db: Session, bodies: BodyMaker, keys: Sequence[bytes]) -> None:
        """Build the buckets of these keys in every layout that has them."""
        for layout in await read_layouts(db):
            buckets = {bucket_of(key, layout.bits) for key in keys}
            await self._build(bodies, [each for each in buckets if each < layout.built], layout.bits)

    async def _build(self, bodies: BodyMaker, buckets: Iterable[int], bits: int) -> None:
        made = [(bucket, await bodies.make(bucket, bits)) for bucket in buckets]
        puts = (self._objects.put(bucket_object(bucket, bits), body) for bucket, body in made)
        # Wait for all even if one fails: a late upload would replace what is built next.
        for failure in await asyncio.gather(*puts, return_exceptions=True):
            if failure is not None:
                raise failure
        for _, body in made:
            self._metrics.count_bucket(len(body))

    async def _publish_days(self, db: Session, days: Iterable[date]) -> None:
        for day in days:
            await self._objects.put(day_object(day), frame(encode(await read_retractions(db, day))))

    async def _build_layout(self, db: Session, bodies: BodyMaker) -> None:
        """Go on with the layout that is wanted, use it once it is complete, and remove what is not needed."""
        layouts, now = await read_layouts(db), self._clock.now()
        bits = choose_bits(layouts, self._posts or 0)
        wanted = next((each for each in layouts if each.bits == bits), None)
        if wanted is None:
            await want_layout(db, bits, now)
            wanted = StoredLayout(bits, now, 0, is_current=False, retired_at=None)
        if not wanted.is_current:
            built = min(wanted.built + CHUNK, 1 << bits)
            await self._build(bodies, range(wanted.built, built), bits)
            await mark_built(db, bits, built)
            if built == 1 << bits:
                await use_layout(db, bits, now)
        for each in layouts:
            if each.is_unused(bits, now):
                await self._objects.remove_folder(layout_folder(each.bits))
                await clear_layout(db, each.bits)

    async def _refresh(self, db: Session, bodies: BodyMaker) -> None:
        """Build again the buckets that are due."""
        current = find_current(await read_layouts(db))
        if current is None:
            return
        count, within_s = 1 << current.bits, REFRESHED_IN.total_seconds()
        passed = self._clock.monotonic() - self._refreshed_at
        due = min(int(passed / within_s * count), count)
        if not due:
            return
        self._refreshed_at += passed if due == count else due * within_s / count
        buckets = {(self._next + each) % count for each in range(due)}
        await self._build(bodies, buckets, current.bits)
        self._next = (self._next + due) % count

    async def _describe_layout(self, db: Session) -> None:
        layouts = await read_layouts(db)
        current = find_current(layouts)
        if current is None:
            return
        self._metrics.show_layout(current.bits, self._posts or 0)
        first = min(each.since for each in layouts).date()
        document = encode(
            Layout(layout=layout_name(current.bits), bits=current.bits, paused=await is_stopped(db), first_day=first)
        )
        if document != self._layout:
            await self._objects.put(LAYOUT, document)
            self._layout = document


def _has_changed(post: ListedPost | None, known: _Known | None, size: int) -> bool:
    if post is None or known is None:
        return post is not None or known is not None
    return post.digest(size) != known.digest
