"""A forgotten post leaves no trace in tables, ledger, stream and blobs, and everything else is as it was."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from contracts.readmodel.columns import READMODEL
from contracts.v1 import CanonicalFetched, ObservationReceived
from contracts.v1.pages import CanonicalPage
from contracts.v1.parts import Picture
from kit.ordered import StoredMessage
from services.projector.erasure.erase import ProjectorNotRunning, StoredBlob, WorkOpen, erase
from services.projector.erasure.root import POST, ROOTS, ErasureOrder, Root
from services.projector.erasure.tables import NOT_OWNED, loose_tables, owned_tables
from services.projector.ledger.verify import verify
from services.projector.rebuild.rebuild import rebuild
from services.projector.rebuild.shadow import shadow
from services.projector.store.store import Store
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, fill, owner, prepare, store_at
from tests.integration.test_projector_rebuild import Streams
from tests.support.servers import Prepare
from tests.unit.projector.histories import START, Page, Tape, inline, mixed

pytest_plugins = ["tests.support.servers"]

SECRET = "The secret of the harbour master."


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


class Broker:
    """The stream as a tape whose facts can be taken out, a projector that follows it, and what blobs were removed."""

    def __init__(self, store: Store, tape: Tape) -> None:
        self.store, self.tape = store, tape
        self.removed: list[str] = []
        self.events: list[ErasureOrder] = []
        self.erased: set[int] = set()
        self.answers: set[str] = set()

    async def order(self, event: ErasureOrder) -> tuple[UUID, int]:
        self.events.append(event)
        self.tape.add(event)
        await fill(self.store, self.tape.records[-1:])
        return event.event_id(), len(self.tape.records)

    async def erase_messages(self, root: Root, sequences: Sequence[int]) -> None:
        self.erased |= set(sequences)

    async def erase_blob(self, blob: StoredBlob) -> None:
        self.removed.append(blob.sha256)

    async def erase_folder(self, place: str) -> None:
        self.answers.add(place)

    @property
    def left(self) -> list[StoredMessage]:
        return [record for record in self.tape.records if record.sequence not in self.erased]


class Illustrated(Page):
    """A page with a picture that others show too, at an address of its own."""

    @property
    def pictures(self) -> tuple[Picture, ...]:
        (picture,) = super().pictures
        return (picture.model_copy(update={"source_url": f"https://{self.post.external_id}.example/0.png"}),)


def _compared(tables: dict[str, Any]) -> dict[str, Any]:
    return tables


async def forgotten(url: str, broker: Broker, post: UUID, **given: Any) -> int:
    async with await owner(url) as db:
        head = len(broker.tape.records)
        return (await erase(db, broker, POST, post, reason="asked for", erasure_id=uuid4(), head=head, **given)).facts


async def dump(url: str) -> str:
    async with await owner(url) as db:
        found = await db.execute("SELECT convert_from(envelope, 'UTF8') FROM ledger.fact")
        ledger = [text for (text,) in await found.fetchall()]
    return "\n".join([*ledger, str(await everything(url))])


async def test_nothing_of_it_is_left_and_the_rest_is_as_if_it_had_never_been(database_url: str) -> None:
    errata, views = mixed(12, 31)
    page = Page("secret", SECRET, pictures=2)
    errata.add(
        page.received("first"), page.registered(), page.seen("second"), page.anomaly("third"), *page.investigated()
    )
    errata.add(page.reviewing(0))
    views.add(page.viewed("someone"))
    store = store_at(database_url)
    await fill(store, errata.records, [7] * 100)
    await fill(store, views.records)
    assert SECRET in await dump(database_url)
    broker = Broker(store, errata)

    assert await forgotten(database_url, broker, page.post_id) >= 8
    assert broker.answers == {f"answers/{page.investigation_id}"}, "also what no fact names"
    assert SECRET not in await dump(database_url)
    assert not any(SECRET.encode() in record.data for record in broker.left)
    assert not any(str(page.investigation_id).encode() in record.data for record in broker.left), "its reviews too"
    tables = await everything(database_url)
    assert str(page.post_id) not in str({name: rows for name, rows in tables.items() if name != "forgotten"})
    assert [row["post_id"] for row in tables["forgotten"]] == [str(page.post_id)]
    async with await owner(database_url) as db:
        report = await verify(db, Streams(ERRATA=broker.left, VIEWS=views.records))
    assert report.ok, report
    assert report.streams[0].erased == len(broker.erased)

    assert await shadow(database_url, NoTexts(), analyses=ANALYSES) == []
    await rebuild(database_url, NoTexts(), analyses=ANALYSES)
    assert _compared(await everything(database_url)) == _compared(tables)
    await store.close()


async def test_what_is_told_later_does_not_come_back_and_goes_with_the_next_run(database_url: str) -> None:
    page, other = Page("secret", SECRET), Page("other", "Something else.")
    tape = Tape()
    tape.add(page.registered(), other.registered())
    store = store_at(database_url)
    await fill(store, tape.records)
    broker = Broker(store, tape)
    assert await forgotten(database_url, broker, page.post_id) == 1
    tape.add(page.received("late"), page.registered("late"), page.seen("later"), page.requested(), other.seen("again"))
    await fill(store, tape.records[-5:])
    tables = await everything(database_url)
    assert [row["id"] for row in tables["post"]] == [str(other.post_id)]
    assert tables["parked"] == []
    assert SECRET in await dump(database_url), "observed again"
    assert await forgotten(database_url, broker, page.post_id) == 4
    assert SECRET not in await dump(database_url)
    again = len(broker.events)
    assert await forgotten(database_url, broker, page.post_id) == 0
    assert len(broker.events) == again, "nothing is told where nothing is left"
    assert await shadow(database_url, NoTexts(), analyses=ANALYSES) == []
    await store.close()


async def test_the_only_user_of_something_shared_takes_it_along(database_url: str) -> None:
    page, tape = Page("secret", SECRET, pictures=2), Tape()
    tape.add(page.registered(), *page.investigated())
    store = store_at(database_url)
    await fill(store, tape.records)
    broker = Broker(store, tape)
    await forgotten(database_url, broker, page.post_id)
    assert await shadow(database_url, NoTexts(), analyses=ANALYSES) == []
    tables = await everything(database_url)
    assert {name for name, rows in tables.items() if rows} <= {"forgotten", "position"}
    again = Page("other", "Something else.")
    tape.add(again.registered(), *again.investigated())
    await fill(store, tape.records[-1 - len(again.investigated()) :])
    assert len((await everything(database_url))["prompt"]) == 1
    assert await shadow(database_url, NoTexts(), analyses=ANALYSES) == []
    await store.close()


async def test_a_shared_picture_is_not_known_by_the_address_it_had_in_the_post(database_url: str) -> None:
    page, twin, third = (Illustrated(name, f"Text of {name}.", pictures=1) for name in ("secret", "twin", "third"))
    tape = Tape()
    for each in (page, twin, third):
        tape.add(each.registered(), *each.investigated())
    store = store_at(database_url)
    await fill(store, tape.records)
    assert "secret.example" in await dump(database_url)
    broker = Broker(store, tape)
    await forgotten(database_url, broker, page.post_id)
    assert "secret.example" not in await dump(database_url)
    blobs = (await everything(database_url))["image_blob"]
    assert [row["original_url"] for row in blobs] == ["https://twin.example/0.png"]
    assert await shadow(database_url, NoTexts(), analyses=ANALYSES) == []
    await store.close()


def test_every_table_is_said_to_go_or_to_stay() -> None:
    going = {each.table for root in ROOTS for each in (*owned_tables(root), *loose_tables(root))}
    going |= {table for root in ROOTS for table in root.shared}
    staying = {*NOT_OWNED, "parked", "refused_fact", "position"}
    with_its_set = {"image_occurrence"}
    assert going | staying | with_its_set == {table.name for table in READMODEL.sorted_tables}


@pytest.mark.parametrize("known", [True, False])
async def test_observations_that_no_version_came_of_go_too(database_url: str, known: bool) -> None:
    page, other, tape = Page("secret", SECRET), Page("other", "Something else."), Tape()
    tape.add(page.registered(), other.registered(), other.received("kept"))
    store = store_at(database_url)
    await fill(store, tape.records)
    broker = Broker(store, tape)
    await forgotten(database_url, broker, page.post_id)
    elsewhere = other.observation("elsewhere").model_copy(update={"text": page.observation("x").text})
    served = CanonicalPage(post=page.post, html=inline(page.html), source_url=page.url, fetched_at=START)
    late = [
        page.received("late"),
        page.unavailable("late"),
        ObservationReceived(observation=elsewhere),
        CanonicalFetched(observation=elsewhere, page=served),
    ]
    tape.add(*late)
    await fill(store, tape.records[-len(late) :])
    assert SECRET in await dump(database_url)
    names = [page.post.external_id] if known else []
    assert await forgotten(database_url, broker, page.post_id, names=names) == len(late)
    left = await dump(database_url)
    assert SECRET not in left
    assert str(other.received("kept").observation.observation_id) in left
    assert await forgotten(database_url, broker, page.post_id, names=names) == 0
    await store.close()


async def test_nobody_waits_for_a_projector_that_does_not_follow(database_url: str) -> None:
    page, tape = Page("secret", SECRET), Tape()
    tape.add(page.registered(), page.seen("again"))
    store = store_at(database_url)
    await fill(store, tape.records[:1])
    broker = Broker(store, tape)
    with pytest.raises(ProjectorNotRunning, match="stands at 1 of 2: start `openerrata up projector`"):
        await forgotten(database_url, broker, page.post_id, timeout_s=0.1)
    assert broker.events == []
    await fill(store, tape.records[1:])
    assert await forgotten(database_url, broker, page.post_id) == 2
    await store.close()


async def test_it_waits_for_what_is_under_way(database_url: str) -> None:
    page, tape = Page("secret", SECRET), Tape()
    tape.add(page.registered(), page.requested())
    store = store_at(database_url)
    await fill(store, tape.records)
    broker = Broker(store, tape)
    with pytest.raises(WorkOpen):
        await forgotten(database_url, broker, page.post_id)
    assert broker.events == []
    await store.close()


async def test_a_blob_that_another_post_needs_stays(database_url: str) -> None:
    long = "A long text. " * 3_000
    shared, own = Page("a", long), Page("b", "Short.", pictures=1)
    tape = Tape()
    tape.add(shared.registered(), own.registered(), *own.investigated())
    twin = Page("c", long)
    tape.add(twin.registered())
    store = store_at(database_url, texts=NoTexts(**{hashlib.sha256(long.encode()).hexdigest(): long}))
    await fill(store, tape.records)
    broker = Broker(store, tape)
    await forgotten(database_url, broker, shared.post_id)
    digest = hashlib.sha256(long.encode()).hexdigest()
    assert digest not in broker.removed
    assert digest in {row["content_hash"] for row in (await everything(database_url))["content_blob"]}
    await forgotten(database_url, broker, twin.post_id)
    assert digest in broker.removed
    assert digest not in {row["content_hash"] for row in (await everything(database_url))["content_blob"]}
    await store.close()


async def test_a_body_goes_only_with_an_erasure_of_the_ledger_that_names_it(database_url: str) -> None:
    errata, _ = mixed(3, 33)
    page = Page("secret", SECRET)
    errata.add(page.registered())
    store = store_at(database_url)
    await fill(store, errata.records)
    take = "UPDATE ledger.fact SET envelope = '', erased_by = %s WHERE stream = 'ERRATA' AND sequence = %s"
    async with await owner(database_url) as db:
        with pytest.raises(psycopg.errors.RestrictViolation):
            await db.execute(take, (uuid4(), 2))
        broker = Broker(store, errata)
        await forgotten(database_url, broker, page.post_id)
        erasure = broker.events[0].event_id()
        for change in ("envelope = 'x'", "erased_by = NULL", "hash = ''", "subject = 'x'"):
            with pytest.raises(psycopg.errors.RestrictViolation):
                await db.execute(f"UPDATE ledger.fact SET {change} WHERE sequence = {len(errata.records) - 1}".encode())
        assert (await verify(db, Streams(ERRATA=broker.left))).ok
        lingering = await verify(db, Streams(ERRATA=errata.records))
        assert lingering.streams[0].not_removed == sorted(broker.erased)
        await db.execute(take, (erasure, 2))  # the database cannot know, but the ledger does
        assert (await verify(db, Streams())).streams[0].altered == [2]
    await store.close()
