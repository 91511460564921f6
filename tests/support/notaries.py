"""A decision log over a real database, with objects in memory that fail where a test wants it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from contracts.v1 import LogChanged
from kit.database import Database
from services.notary.app import SESSION_OPTIONS
from services.notary.domain import StoredCheckpoint
from services.notary.ports import Cosign
from services.notary.publishing import CHECKPOINT, Publisher
from services.notary.store import LogStore
from tests.integration.readmodel_tables import owner
from tests.support.fakes import StillClock
from tests.unit.projector.histories import START
from tlog.checkpoint import Checkpoint
from tlog.keys import Algorithm, SigningKey
from tlog.note import Note, Signature
from tlog.policy import Log, Policy
from tlog.tiles import WIDTH, Bundle, decode_bundle

KEY: Final = SigningKey("errata.example/log/v1", Algorithm.ED25519, bytes(range(32)))
POLICY: Final = Policy(logs=(Log(KEY.verifier),))
OPENED: Final = LogChanged(origin=KEY.name, what="OPENED", keys=(str(KEY.verifier),))


class Killed(BaseException):
    """The process ended here."""


@dataclass
class MemoryObjects:
    """The published objects. `notes` are all that were ever published; after `left` writes the process ends."""

    objects: dict[str, bytes] = field(default_factory=dict)
    notes: list[bytes] = field(default_factory=list)
    left: int = 1_000_000

    async def put(self, name: str, data: bytes) -> None:
        """Store an object."""
        if self.left == 0:
            raise Killed
        self.left -= 1
        self.objects[name] = data
        if name == CHECKPOINT:
            self.notes.append(data)

    async def get(self, name: str) -> bytes | None:
        """An object."""
        return self.objects.get(name)

    async def read_leaf(self, index: int) -> bytes | None:
        """A published leaf."""
        leaves = self.leaves()
        return leaves[index] if index < len(leaves) else None

    def checkpoint(self) -> Checkpoint:
        """What the newest note says."""
        return Checkpoint.parse(Note.parse(self.objects[CHECKPOINT]).text)

    def leaves(self) -> list[bytes]:
        """The published leaves that the newest note covers."""
        size = self.checkpoint().size if CHECKPOINT in self.objects else 0
        bundles = [Bundle(number, min(WIDTH, size - number * WIDTH)) for number in range(-(-size // WIDTH))]
        return [leaf for each in bundles for leaf in decode_bundle(each, self.objects[each.path])]


async def no_witness(_: StoredCheckpoint) -> Sequence[Signature]:
    """Nobody cosigns."""
    return ()


@dataclass
class Instance:
    """A notary over one database and one set of objects."""

    url: str
    objects: MemoryObjects
    keys: Sequence[SigningKey] = (KEY,)
    policy: Policy = POLICY
    cosign: Cosign = no_witness

    def __post_init__(self) -> None:
        database = Database(self.url, role="notary")
        self.store = LogStore(partial(database.session, options=SESSION_OPTIONS), KEY.name, self.objects.read_leaf)
        self.publisher = Publisher(self.store, self.objects, self.keys, self.policy, self.cosign, StillClock(START))

    async def enter(self, limit: int = 1_000) -> None:
        """Enter everything that the ledger holds."""
        await self.store.open(str(self.keys[0].verifier), bytes(self.policy).decode())
        while (await self.store.enter(limit)).facts:
            pass

    async def close(self) -> None:
        """The process ends."""
        await self.store.close()

    async def leaves(self) -> list[bytes]:
        """All leaves, in order."""
        async with await owner(self.url) as db:
            found = await db.execute("SELECT data FROM log.leaf ORDER BY index")
            return [bytes(data) for (data,) in await found.fetchall()]

    async def count(self, table: str) -> int:
        """The rows of a table of the log."""
        async with await owner(self.url) as db:
            row = await (await db.execute(f"SELECT count(*) FROM log.{table}")).fetchone()
        assert row is not None
        return int(row[0])
