"""When witnesses are asked, and what their answers do to the log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import pytest

from services.notary.cosigning import AGAIN_AFTER_S, Witnesses
from services.notary.domain import LogForked, StoredCheckpoint
from tests.support.fakes import StillClock
from tests.support.notaries import KEY
from tests.unit.projector.histories import START
from tlog.checkpoint import Checkpoint
from tlog.keys import Algorithm, SigningKey
from tlog.merkle import Hash, Tree, hash_leaf, verify_consistency
from tlog.note import Note
from tlog.policy import Witness
from tlog.tiles import Frontier, Tile
from tlog.witnessing import Submission

COSIGNER = SigningKey("witness.example", Algorithm.COSIGNATURE, bytes(32))
HASHES = [hash_leaf(bytes([number])) for number in range(40)]


class Tiles:
    """A log of forty leaves."""

    async def read_tile(self, tile: Tile) -> bytes:
        """From a tree of just the size."""
        _, tiles = Frontier().grow(HASHES[: tile.number * 256 + tile.width])
        return dict(tiles)[tile]


def answer_of(status: int, body: str = "", media_type: str = "text/plain") -> httpx.Response:
    """An answer whose body is still to be read, as over a connection."""
    return httpx.Response(status, stream=httpx.ByteStream(body.encode()), headers={"content-type": media_type})


@dataclass
class Served:
    """A witness that answers by its script, and honestly where it has no status and after it."""

    script: Iterator[int | None] = field(default_factory=lambda: iter(()))
    size: int = 0
    root: Hash = b""
    asked: int = 0

    def answer(self, request: httpx.Request) -> httpx.Response:
        """One request."""
        self.asked += 1
        if (status := next(self.script, None)) is not None:
            return answer_of(status)
        sent = Submission.parse(request.content)
        checkpoint = Checkpoint.parse(sent.note.text)
        if sent.old != self.size:
            return answer_of(409, f"{self.size}\n", "text/x.tlog.size")
        if 0 < self.size < checkpoint.size:
            verify_consistency(self.size, checkpoint.size, self.root, checkpoint.root, sent.proof)
        self.size, self.root = checkpoint.size, checkpoint.root
        return answer_of(200, f"{COSIGNER.sign(sent.note.text, 1_800_000_000)}\n")


@dataclass
class Bench:
    """One log and one witness."""

    served: Served
    clock: StillClock = field(default_factory=lambda: StillClock(START))

    def __post_init__(self) -> None:
        http = httpx.AsyncClient(transport=httpx.MockTransport(self.served.answer))
        witness = Witness("w", COSIGNER.verifier, "https://witness.example/")
        self.witnesses = Witnesses.of(Tiles(), [witness], http, self.clock)

    async def cosign(self, size: int) -> int:
        """How many cosignatures a note of this size got now."""
        root = Tree().append(HASHES[:size]).root()
        text = str(Checkpoint(KEY.name, size, root))
        note = StoredCheckpoint(size, root, bytes(Note(text, (KEY.sign(text),))), is_published=True)
        return len(await self.witnesses.cosign(note))


async def test_each_note_is_cosigned_once_and_the_newest_again_after_an_hour() -> None:
    bench = Bench(Served())
    assert [await bench.cosign(size) for size in (3, 3, 17, 17)] == [1, 0, 1, 0]
    bench.clock.pass_by(AGAIN_AFTER_S)
    assert [await bench.cosign(17), await bench.cosign(17)] == [1, 0]
    assert bench.served.asked == 3


async def test_where_a_witness_is_is_learned_from_its_answer() -> None:
    first = Bench(Served())
    await first.cosign(5)
    restarted = Bench(first.served)
    assert await restarted.cosign(9) == 1
    assert first.served.asked == 3


async def test_a_witness_that_fails_is_asked_less_and_less_often_until_it_answers() -> None:
    bench = Bench(Served(iter([500, 503, None, 500])))
    assert await bench.cosign(3) == 0
    assert await bench.cosign(4) == 0
    assert bench.served.asked == 1
    bench.clock.pass_by(10)
    assert await bench.cosign(4) == 0
    bench.clock.pass_by(19)
    assert await bench.cosign(4) == 0
    assert bench.served.asked == 2
    bench.clock.pass_by(1)
    assert await bench.cosign(5) == 1
    assert await bench.cosign(6) == 0
    bench.clock.pass_by(10)
    assert await bench.cosign(6) == 1


async def test_a_witness_that_does_not_know_the_log_is_asked_once_a_day() -> None:
    bench = Bench(Served(iter([404])))
    assert [await bench.cosign(size) for size in (3, 4, 5)] == [0, 0, 0]
    bench.clock.pass_by(86_400)
    assert await bench.cosign(5) == 1
    assert bench.served.asked == 2


async def test_a_refused_note_is_not_sent_again_and_the_next_one_is() -> None:
    bench = Bench(Served(iter([403])))
    assert [await bench.cosign(size) for size in (3, 3, 4)] == [0, 0, 1]
    assert bench.served.asked == 2


async def test_a_witness_of_a_longer_log_ends_the_signing_for_good() -> None:
    honest = Bench(Served())
    await honest.cosign(30)
    older = Bench(honest.served)
    for size in (9, 35):
        with pytest.raises(LogForked, match="30 leaves, more than the 9"):
            await older.cosign(size)
