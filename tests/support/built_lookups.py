"""Private look-ups built over a real database, with objects in memory, and read as a reader reads them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date

from contracts.lookup.buckets import bucket_of, format_prefix, layout_name, post_key
from contracts.lookup.documents import Bucket, Layout, Post, Retractions
from contracts.lookup.framing import unframe
from contracts.lookup.names import LAYOUT, bucket_object, day_object
from contracts.v1 import Event
from services.notary.lookup.building import LookupBuilder
from tests.integration.readmodel_tables import fill, store_at
from tests.support.fakes import StillClock
from tests.support.notaries import OPENED, POLICY, Instance, Killed, MemoryObjects
from tests.unit.projector.histories import START, Page, Tape
from tlog.decision import prove_decision


@dataclass
class MemoryLookups:
    """The published objects. `put_names` lists every write; after `left` writes the process ends."""

    objects: dict[str, bytes] = field(default_factory=dict)
    put_names: list[str] = field(default_factory=list)
    left: int = 1_000_000

    async def put(self, name: str, data: bytes) -> None:
        """Store an object."""
        if self.left == 0:
            raise Killed
        self.left -= 1
        self.put_names.append(name)
        self.objects[name] = data

    async def remove_folder(self, name: str) -> None:
        """Remove objects."""
        self.objects = {each: data for each, data in self.objects.items() if not each.startswith(f"{name}/")}


@dataclass
class SeenMetrics:
    """What was counted."""

    bits: int | None = None
    posts: int | None = None
    sizes: list[int] = field(default_factory=list)

    def show_layout(self, bits: int, posts: int) -> None:
        """The layout."""
        self.bits, self.posts = bits, posts

    def count_bucket(self, size: int) -> None:
        """A bucket."""
        self.sizes.append(size)


class Lookups:
    """An instance whose notary builds buckets. `now` is its clock."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.notary = Instance(url, MemoryObjects())
        self.objects = MemoryLookups()
        self.clock = StillClock(START)
        self.tape = Tape()
        self.restart()
        self.tape.add(OPENED)
        self._done = 0

    def restart(self) -> None:
        """Let another process build."""
        self.metrics = SeenMetrics()
        self.builder = LookupBuilder(self.objects, self.notary.store, self.metrics, self.clock, is_witnessed=False)

    async def project(self, *events: Event) -> None:
        """Have the projector apply these events."""
        self.tape.add(*events)
        store = store_at(self.url)
        await fill(store, self.tape.records[self._done :])
        await store.close()
        self._done = len(self.tape.records)

    async def build(self) -> None:
        """Build what is due, under whatever note there is."""
        await self.builder.publish(await self.notary.store.session())

    async def record(self) -> None:
        """Enter and sign everything."""
        await self.notary.enter()
        await self.notary.publisher.publish()

    async def publish(self, *events: Event) -> None:
        """Apply, sign and build these events; `put_names` has the names of the objects that were written."""
        await self.project(*events)
        await self.record()
        self.objects.put_names.clear()
        await self.build()

    @property
    def layout(self) -> Layout:
        """The layout that readers fetch first."""
        return Layout.model_validate_json(self.objects.objects[LAYOUT])

    def bucket(self, page: Page, bits: int | None = None) -> Bucket:
        """The bucket of a post, in the layout that is used if no other is named."""
        bits = self.layout.bits if bits is None else bits
        key = post_key(page.post.platform, page.post.external_id)
        return Bucket.model_validate_json(unframe(self.objects.objects[bucket_object(bucket_of(key, bits), bits)]))

    def post(self, page: Page) -> Post | None:
        """The post's entry in its bucket, or None."""
        key = post_key(page.post.platform, page.post.external_id).hex()
        return next((each for each in self.bucket(page).posts if each.key == key), None)

    def findings(self, page: Page) -> list[str]:
        """The texts of a post's standing findings, from proved documents."""
        found = self.post(page)
        proven = [prove_decision(each.proof.encode(), POLICY) for each in found.versions] if found else []
        documents = [data for each in proven for j, data in each.documents.items() if j]
        return [json.loads(data)["text"] for data in documents]

    def retractions(self, day: date) -> Retractions:
        """The retractions of a day."""
        return Retractions.model_validate_json(unframe(self.objects.objects[day_object(day)]))

    def holds(self, words: str) -> list[str]:
        """The names of all objects that hold these words."""
        return [
            name for name, data in self.objects.objects.items() if name != LAYOUT and words.encode() in unframe(data)
        ]

    def name(self, page: Page) -> str:
        """The name of the bucket of a post."""
        bits = self.layout.bits
        key = post_key(page.post.platform, page.post.external_id)
        return f"lookup/{layout_name(bits)}/{format_prefix(bucket_of(key, bits), bits)}"
