"""Publishes the log: tiles first, then the signed note that covers them.

A note is stored before anybody sees it, and nothing is signed that does not continue what was published. So after a
crash at any line the same note is published again, and a database that was restored from an older backup signs nothing
until it holds the same leaves again. Source: rows TR-6 and TR-7 of docs/requirements/trust.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from kit.clock import Clock
from services.notary.domain import LogForked, StoredCheckpoint
from services.notary.ports import Cosign, Log, Objects
from tlog.checkpoint import Checkpoint
from tlog.errors import TlogError
from tlog.keys import SigningKey, verify_note
from tlog.note import Note
from tlog.policy import Policy
from tlog.tiles import bundle_growth, growth

CHECKPOINT = "checkpoint"


class Publisher:
    """Signs the entered leaves with each of its keys, and publishes them."""

    def __init__(
        self, log: Log, objects: Objects, keys: Sequence[SigningKey], policy: Policy, cosign: Cosign, clock: Clock
    ) -> None:
        self._log = log
        self._objects = objects
        self._keys = keys
        self._origin = keys[0].name
        self._policy = policy
        self._cosign = cosign
        self._clock = clock
        self._has_asked_witnesses = False

    async def publish(self) -> int | None:
        """Publish all entered leaves; return the size of the new note, or None if there was nothing new.

        The note is published at once, and again when witnesses have cosigned it.
        Raises: LogForked: what was published, or seen by a witness, is not the beginning of what is stored here.
        """
        newest = await self._publish_leaves()
        if (current := newest or await self._log.newest()) is not None:
            await self._publish_cosignatures(current)
        return None if newest is None else newest.size

    async def _publish_leaves(self) -> StoredCheckpoint | None:
        size = await self._log.size()
        if size == 0 or _covers(newest := await self._log.newest(), size):
            return None
        if await self._adopt_published() and _covers(newest := await self._log.newest(), size):
            return None
        if newest is not None and not self._has_asked_witnesses:
            # The process before this one may have learned of a fork from a witness, which is not stored.
            await self._publish_cosignatures(newest)
            self._has_asked_witnesses = True
        if newest is None or newest.is_published:
            newest = await self._sign(0 if newest is None else newest.size, size)
        await self._objects.put(CHECKPOINT, newest.note)
        await self._log.mark_published(newest.size, self._clock.now())
        return newest

    async def _publish_cosignatures(self, checkpoint: StoredCheckpoint) -> None:
        if added := await self._cosign(checkpoint):
            await self._log.add_cosignatures(checkpoint.size, added)
            complete = Note.parse(checkpoint.note).with_signatures(*await self._log.cosignatures(checkpoint.size))
            await self._objects.put(CHECKPOINT, bytes(complete))
            if _is_valid(complete, self._policy):
                await self._log.mark_witnessed(checkpoint.size, self._clock.now())

    async def _adopt_published(self) -> bool:
        """Compare with the published note, and store it if it is not stored here; whether it was stored now."""
        data = await self._objects.get(CHECKPOINT)
        if data is None:
            return False
        note = Note.parse(data)
        verify_note(note, [key.verifier for key in self._keys])
        published = Checkpoint.parse(note.text)
        if published.origin != self._origin:
            raise LogForked(f"another log was published here: {published.origin}")
        known = await self._log.find(published.size)
        if known is None:
            if (size := await self._log.size()) < published.size:
                raise LogForked(
                    f"{published.size} leaves were published and {size} are here; the others must come back"
                )
            root = await self._log.root(published.size)
        else:
            root = known.root
        if root != published.root:
            raise LogForked(f"another root of {published.size} leaves was published")
        if known is not None:
            return False
        await self._log.add(self._note(published, is_published=True), self._clock.now())
        return True

    async def _sign(self, old: int, size: int) -> StoredCheckpoint:
        for bundle in bundle_growth(old, size):
            await self._objects.put(bundle.path, await self._log.read_bundle(bundle))
        for tile in growth(old, size):
            await self._objects.put(tile.path, await self._log.read_tile(tile))
        signed = self._note(Checkpoint(self._origin, size, await self._log.root(size)), is_published=False)
        await self._log.add(signed, self._clock.now())
        return signed

    def _note(self, checkpoint: Checkpoint, *, is_published: bool) -> StoredCheckpoint:
        text = str(checkpoint)
        note = bytes(Note(text, tuple(key.sign(text) for key in self._keys)))
        return StoredCheckpoint(checkpoint.size, checkpoint.root, note, is_published)


def _covers(checkpoint: StoredCheckpoint | None, size: int) -> bool:
    return checkpoint is not None and checkpoint.is_published and checkpoint.size >= size


def _is_valid(note: Note, policy: Policy) -> bool:
    try:
        policy.verify(note)
    except TlogError:
        return False
    return True
