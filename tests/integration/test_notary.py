"""The decision log over a real database: the same facts give the same tree, whatever happens to those who write it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import orjson
import psycopg
import pytest

from contracts.v1 import ErasureOrdered
from contracts.v1.erasure import ErasedFact
from services.notary.domain import LogForked, LogNotOpened, OtherKeySigns, StoredCheckpoint
from services.notary.publishing import Publisher
from services.notary.store import LogStore
from tests.integration.readmodel_tables import fill, owner, prepare, store_at
from tests.support.fakes import StillClock
from tests.support.notaries import KEY, OPENED, POLICY, Instance, Killed, MemoryObjects
from tests.support.servers import Prepare, Servers
from tests.unit.projector.histories import START, Page, Tape, mixed, uid
from tlog.errors import SignatureError
from tlog.keys import Algorithm, SigningKey
from tlog.leaf import Opening, parse_leaf
from tlog.merkle import Tree, hash_leaf
from tlog.note import Note, Signature
from tlog.policy import Log, Policy, Witness
from tlog.tiles import Frontier

pytest_plugins = ["tests.support.servers"]

PAGE = Page("en:7")


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.fixture
async def instance(database_url: str) -> AsyncIterator[Instance]:
    found = Instance(database_url, MemoryObjects())
    yield found
    await found.close()


def opened(posts: int = 0, seed: int = 0) -> Tape:
    """A log of events in which the decision log begins, and then so much happens."""
    tape = Tape()
    tape.add(PAGE.received("before"), OPENED)
    for record in mixed(posts, seed)[0].records:
        tape.raw(record.subject, record.data)
    return tape


async def tell(url: str, tape: Tape, after: int = 0) -> None:
    """Let the projector write what happened into the ledger."""
    store = store_at(url)
    await fill(store, tape.records[after:])
    await store.close()


async def erase(url: str, tape: Tape) -> None:
    """Order the erasure of everything so far, and take the bodies from the ledger, as `openerrata post erase` does."""
    named = tuple(ErasedFact(sequence=record.sequence, hash="0" * 64) for record in tape.records[2:])
    order = ErasureOrdered(erasure_id=uid("e"), post_id=PAGE.post_id, reason="asked for", facts=named)
    tape.add(order)
    await tell(url, tape, len(tape.records) - 1)
    async with await owner(url) as db:
        await db.execute(
            "UPDATE ledger.fact SET envelope = '', erased_by = %s WHERE stream = 'ERRATA' AND sequence = ANY (%s)",
            (order.event_id(), [each.sequence for each in named]),
        )


@pytest.mark.requirement("TR-4")
async def test_batches_and_restarts_do_not_matter(instance: Instance, stack: Servers) -> None:
    """TR-4: The same facts give the same tree, and a fact is one leaf."""
    tape = opened(12, seed=3)
    tape.add(*PAGE.investigated(), *PAGE.investigated())
    await tell(instance.url, tape)
    await instance.enter()
    whole = await instance.leaves()
    assert {parse_leaf(each).k for each in whole} >= {"log", "found", "failed", "suspended"}
    with stack.database(prepare) as url:
        await tell(url, tape)
        for number in range(len(tape.records)):
            other = Instance(url, instance.objects)
            await other.store.open(str(KEY.verifier), "")
            await other.store.enter(1 + number % 7)
            await other.close()
        assert await Instance(url, instance.objects).leaves() == whole


async def test_what_is_published_is_the_tree_of_what_was_entered(instance: Instance) -> None:
    tape = opened(150, seed=1)
    await tell(instance.url, tape)
    await instance.enter()
    assert await instance.publisher.publish() == await instance.count("leaf") > 256
    leaves = await instance.leaves()
    assert instance.objects.leaves() == leaves
    hashes = list(map(hash_leaf, leaves))
    assert instance.objects.checkpoint().root == Tree().append(hashes).root()
    _, tiles = Frontier().grow(hashes)
    assert {tile.path: instance.objects.objects.get(tile.path) for tile, _ in tiles} == {
        tile.path: data for tile, data in tiles
    }
    assert await instance.publisher.publish() is None
    assert len(instance.objects.notes) == 1


@pytest.mark.requirement("TR-6")
async def test_a_note_is_stored_before_anybody_sees_it_wherever_its_writer_ends(instance: Instance) -> None:
    """TR-6: A note is stored for good before it is shown, and there is one root of a size."""
    tape = opened(40, seed=2)
    await tell(instance.url, tape)
    await instance.enter()
    for left in range(12):
        instance.objects.left = left
        try:
            await instance.publisher.publish()
        except Killed:
            await instance.close()
        stored = await _stored_notes(instance.url)
        assert all(note in stored for note in instance.objects.notes)
        tape.add(*Page(f"m{left}").investigated())
        await tell(instance.url, tape, len(tape.records) - 10)
        instance = Instance(instance.url, instance.objects)
        await instance.enter(50)
    instance.objects.left = 1_000
    while await instance.publisher.publish() is not None:
        pass
    roots = set(instance.objects.notes)
    sizes = {note.split(b"\n")[1] for note in instance.objects.notes}
    assert len(roots) == len(sizes) > 1
    assert instance.objects.leaves() == await instance.leaves()


@pytest.mark.requirement("TR-7")
async def test_an_older_database_signs_nothing_until_it_holds_the_same_again(
    instance: Instance, stack: Servers
) -> None:
    """TR-7: A database restored from an older backup signs nothing that contradicts what was published."""
    tape = opened(20, seed=4)
    early = len(tape.records) // 2
    await tell(instance.url, tape)
    await instance.enter()
    await instance.publisher.publish()
    published = dict(instance.objects.objects)
    with stack.database(prepare) as url:
        older = Instance(url, instance.objects)
        await tell(url, Tape())
        half = Tape()
        half.records = tape.records[:early]
        await tell(url, half)
        await older.enter()
        with pytest.raises(LogForked, match="must come back"):
            await older.publisher.publish()
        assert instance.objects.objects == published
        await tell(url, tape, early)
        tape.add(*Page("later").investigated())
        await tell(url, tape, len(tape.records) - 10)
        await older.enter()
        assert await older.publisher.publish() == len(await older.leaves())
        await older.close()
    with stack.database(prepare) as url:
        forked = Instance(url, instance.objects)
        other = opened(30, seed=5)
        await tell(url, other)
        await forked.enter()
        published = dict(instance.objects.objects)
        with pytest.raises(LogForked, match=r"another root|must come back"):
            await forked.publisher.publish()
        assert instance.objects.objects == published
        await forked.close()


@pytest.mark.requirement("TR-19")
async def test_an_erased_decision_is_still_in_the_tree_and_opens_nothing(instance: Instance) -> None:
    """TR-19: An erased decision is still provably in the log, which says so, and nothing opens it."""
    tape = opened()
    tape.add(*PAGE.investigated(), PAGE.changed(0, "SUSPENDED"))
    await tell(instance.url, tape)
    await instance.enter()
    await instance.publisher.publish()
    before = await instance.leaves()
    assert (await instance.count("opening"), await instance.count("subject")) == (5, 5)
    await erase(instance.url, tape)
    await instance.enter()
    await instance.publisher.publish()
    after = [parse_leaf(each) for each in instance.objects.leaves()]
    assert instance.objects.leaves()[: len(before)] == before
    assert (after[-1].k, after[-1].ref) == ("redacted", (1, 2))
    async with await owner(instance.url) as db:
        left = await (await db.execute("SELECT index, j, salt, document FROM log.opening")).fetchall()
    assert [index for index, *_ in left] == [0]
    (index, j, salt, document) = left[0]
    assert after[index].c[j] == Opening(j, bytes(salt), bytes(document)).commitment
    assert orjson.loads(document)["origin"] == KEY.name


@pytest.mark.requirement("TR-5")
async def test_a_lost_log_is_built_again_with_the_same_root(instance: Instance, stack: Servers) -> None:
    """TR-5: A lost decision log is built again with the same root, erased decisions too."""
    tape = opened()
    tape.add(*PAGE.investigated(), PAGE.changed(0, "SUSPENDED"))
    await tell(instance.url, tape)
    await instance.enter()
    await instance.publisher.publish()
    await erase(instance.url, tape)
    tape.add(*Page("en:8").investigated())
    await tell(instance.url, tape, len(tape.records) - 10)
    await instance.enter()
    await instance.publisher.publish()
    leaves = await instance.leaves()
    async with await owner(instance.url) as db:
        await db.execute(
            "ALTER TABLE log.leaf DISABLE TRIGGER append_only; ALTER TABLE log.node DISABLE TRIGGER append_only"
        )
        await db.execute(
            "TRUNCATE log.leaf, log.node, log.opening, log.subject, log.cosignature, log.checkpoint, log.state"
        )
    again = Instance(instance.url, instance.objects)
    await again.enter(3)
    assert await again.leaves() == leaves
    assert await again.publisher.publish() is None
    tape.add(*Page("en:9").investigated())
    await tell(instance.url, tape, len(tape.records) - 10)
    await again.enter()
    assert await again.publisher.publish() == len(leaves) + 1
    await again.close()


async def test_a_log_begins_where_the_operator_says_and_with_that_key(instance: Instance) -> None:
    tape = Tape()
    tape.add(*PAGE.investigated())
    await tell(instance.url, tape)
    with pytest.raises(LogNotOpened, match="openerrata log init"):
        await instance.enter()
    tape.add(OPENED)
    await tell(instance.url, tape, 10)
    await instance.enter()
    assert [parse_leaf(each).k for each in await instance.leaves()] == ["log"]
    with pytest.raises(OtherKeySigns):
        await instance.store.open("other+00000000+AA==", bytes(POLICY).decode())


@pytest.mark.requirement("TR-12")
async def test_both_keys_sign_while_one_replaces_the_other(instance: Instance) -> None:
    """TR-12: While the key of a log is replaced both sign, and nothing is signed by a key that was not announced."""
    tape = opened()
    await tell(instance.url, tape)
    await instance.enter()
    await instance.publisher.publish()
    new = SigningKey(KEY.name, Algorithm.ED25519, bytes(32))
    early = Instance(instance.url, instance.objects, (new, KEY))
    with pytest.raises(OtherKeySigns):
        await early.enter()
    await early.close()
    for follows, keys in ((1, (new, KEY)), (2, (new,))):
        said = OPENED.model_copy(
            update={"what": "KEYS", "follows": follows + 1, "keys": tuple(str(each.verifier) for each in keys)}
        )
        tape.add(said)
        await tell(instance.url, tape, len(tape.records) - 1)
        later = Instance(instance.url, instance.objects, keys)
        await later.enter()
        assert await later.publisher.publish() == follows + 1
        note = Note.parse(instance.objects.notes[-1])
        for key in (new, KEY):
            policy = Policy(logs=(Log(key.verifier),))
            with nullcontext() if key in keys else pytest.raises(SignatureError):
                assert policy.verify(note).checkpoint.size == follows + 1
        await later.close()
    tape.add(*PAGE.investigated())
    await tell(instance.url, tape, len(tape.records) - 10)
    lone = Instance(instance.url, instance.objects, (KEY,))
    await lone.store.enter(100)
    with pytest.raises(SignatureError, match="no signature by a known key"):
        await lone.publisher.publish()
    await lone.close()


async def test_a_fork_that_a_witness_reported_is_not_forgotten_at_a_restart(instance: Instance) -> None:
    tape = opened()
    await tell(instance.url, tape)
    await instance.enter()
    await instance.publisher.publish()
    tape.add(*PAGE.investigated())
    await tell(instance.url, tape, len(tape.records) - 10)
    await instance.enter()
    known: list[int] = []

    async def report_a_fork(checkpoint: StoredCheckpoint) -> Sequence[Signature]:
        known.append(checkpoint.size)
        raise LogForked("a witness knows another root")

    parts = (instance.store, instance.objects, instance.keys, POLICY)
    for _ in range(2):
        with pytest.raises(LogForked):
            await Publisher(*parts, report_a_fork, StillClock(START)).publish()
    assert (known, len(instance.objects.notes)) == ([1, 1], 1)
    assert await instance.publisher.publish() == 2


async def test_a_note_is_witnessed_once_a_quorum_has_cosigned_it_and_shows_all_who_did(instance: Instance) -> None:
    first, second = (SigningKey(f"witness.example/w{n}", Algorithm.COSIGNATURE, bytes([n] * 32)) for n in (1, 2))
    witnesses = (Witness("w1", first.verifier), Witness("w2", second.verifier))
    answering: list[SigningKey] = []

    async def cosign(checkpoint: StoredCheckpoint) -> Sequence[Signature]:
        return [key.sign(Note.parse(checkpoint.note).text, 1_800_000_000) for key in answering]

    policy = Policy((Log(KEY.verifier),), witnesses, quorum="w1")
    notary = Instance(instance.url, instance.objects, policy=policy, cosign=cosign)
    await tell(instance.url, opened())
    await notary.enter()
    for answers, witnessed, shown in (([second], [None], 2), ([first], [START], 3)):
        answering[:] = answers
        await notary.publisher.publish()
        async with await owner(instance.url) as db:
            found = await (await db.execute("SELECT witnessed_at FROM log.checkpoint")).fetchall()
        assert [at for (at,) in found] == witnessed
        assert len(Note.parse(instance.objects.notes[-1]).signatures) == shown
    await notary.close()


async def test_a_database_that_holds_another_log_is_left_alone(instance: Instance) -> None:
    await tell(instance.url, opened())
    await instance.enter()
    other = LogStore(instance.store.session, "other.example/log/v1", instance.objects.read_leaf)
    with pytest.raises(LogForked, match=f"holds the log {KEY.name}"):
        await other.open(str(KEY.verifier), bytes(POLICY).decode())


async def test_a_size_has_one_root(instance: Instance) -> None:
    await tell(instance.url, opened())
    await instance.enter()
    await instance.publisher.publish()
    known = await instance.store.newest()
    assert known is not None
    await instance.store.add(known, START)
    with pytest.raises(LogForked, match="two roots of 1 leaves"):
        await instance.store.add(replace(known, root=bytes(32)), START)


async def test_one_process_writes(instance: Instance) -> None:
    other = Instance(instance.url, instance.objects)
    assert await instance.store.claim()
    assert not await other.store.claim()
    await other.close()


@pytest.mark.parametrize("statement", ["UPDATE log.leaf SET data = ''", "DELETE FROM log.leaf", "TRUNCATE log.node"])
async def test_leaves_are_only_ever_appended(instance: Instance, statement: str) -> None:
    await tell(instance.url, opened())
    await instance.enter()
    async with await owner(instance.url) as db:
        with pytest.raises(Exception, match="only ever appended"):
            await db.execute(statement.encode())


async def _stored_notes(url: str) -> set[bytes]:
    async with await owner(url) as db:
        return {bytes(note) for (note,) in await (await db.execute("SELECT note FROM log.checkpoint")).fetchall()}


@pytest.mark.requirement("TR-20")
async def test_many_decisions_take_as_many_round_trips_as_few(
    instance: Instance, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TR-20: Many decisions enter at once, and a proof takes one statement, however long the log is."""
    await tell(database_url, opened(200))
    await instance.store.open(str(KEY.verifier), bytes(POLICY).decode())
    waits: list[object] = []
    waiting = psycopg.AsyncConnection.wait

    async def count(*arguments: Any, **named: Any) -> object:
        waits.append(arguments)
        return await waiting(*arguments, **named)

    monkeypatch.setattr(psycopg.AsyncConnection, "wait", count)
    found: list[tuple[int, int]] = []
    for limit in (100, 2_000):
        waits.clear()
        found.append(((await instance.store.enter(limit)).leaves, len(waits)))
    (few, few_waits), (many, many_waits) = found
    assert many > 10 * few
    assert many_waits <= few_waits + 4, "some read the tiles that the log ends with"
