"""The notary's ports over S3 and Prometheus."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from contracts.lookup.framing import PADDED
from kit.blobs import Blobs
from services.notary.publishing import CHECKPOINT
from tlog.checkpoint import Checkpoint
from tlog.note import Note
from tlog.tiles import WIDTH, Bundle, decode_bundle

PREFIX: Final = "log/"
"""The prefix of the log's objects in the blob store; the gateway serves the rest of the name below `/log/v1/`."""


class BlobObjects:
    """The objects of the log in the blob store."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._bundle: tuple[int, tuple[bytes, ...]] = (-1, ())

    async def put(self, name: str, data: bytes) -> None:
        await self._blobs.put_named(PREFIX + name, data, "application/octet-stream")

    async def get(self, name: str) -> bytes | None:
        return await self._blobs.get_named(PREFIX + name)

    async def read_leaf(self, index: int) -> bytes | None:
        """A published leaf, or None if no such leaf was published."""
        number, place = divmod(index, WIDTH)
        if self._bundle[0] != number or place >= len(self._bundle[1]):
            self._bundle = number, await self._read_bundle(number)
        leaves = self._bundle[1]
        return leaves[place] if place < len(leaves) else None

    async def _read_bundle(self, number: int) -> tuple[bytes, ...]:
        note = await self.get(CHECKPOINT)
        size = 0 if note is None else Checkpoint.parse(Note.parse(note).text).size
        bundle = Bundle(number, min(WIDTH, size - number * WIDTH))
        data = await self.get(bundle.path) if bundle.width > 0 else None
        return () if data is None else decode_bundle(bundle, data)


class BlobLookups:
    """The documents of private look-ups in the blob store."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def put(self, name: str, data: bytes) -> None:
        await self._blobs.put_named(name, data, "application/octet-stream")

    async def remove_folder(self, name: str) -> None:
        await self._blobs.remove_folder(name)


class NotaryMetrics:
    """Metrics of the decision log and of private look-ups."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.leaves = Counter("openerrata_notary_leaves_total", "Decisions entered into the log", registry=registry)
        self.size = Gauge(
            "openerrata_notary_published_size", "Leaves under the newest published note", registry=registry
        )
        self.forked = Gauge(
            "openerrata_notary_refuses",
            "1 while nothing is signed: another key signs, or it contradicts what was published",
            registry=registry,
        )
        self.published_at = Gauge(
            "openerrata_notary_published_timestamp_seconds", "When a note was last published", registry=registry
        )
        self.bits = Gauge("openerrata_lookup_bits", "Bits by which private look-ups name a bucket", registry=registry)
        self.posts = Gauge(
            "openerrata_lookup_posts", "Posts with findings in the buckets of private look-ups", registry=registry
        )
        self.bucket_bytes = Histogram(
            "openerrata_lookup_bucket_bytes",
            "Sizes of the buckets that were built",
            buckets=(PADDED, 2 * PADDED, 4 * PADDED, 8 * PADDED),
            registry=registry,
        )

    def show_layout(self, bits: int, posts: int) -> None:
        self.bits.set(bits)
        self.posts.set(posts)

    def count_bucket(self, size: int) -> None:
        self.bucket_bytes.observe(size)
