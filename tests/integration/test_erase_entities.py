"""Erasing a job, an assertion and an account: nothing of it is left, and everything else is as it was."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from contracts.v1 import (
    AssertionAnalysed,
    AssertionAnalysisRequested,
    EntityErasureOrdered,
    Event,
    FlagRaised,
    JobFetched,
)
from contracts.v1.ids import analysis_run_id, step_run_id
from services.projector.erasure.erase import WorkOpen, erase
from services.projector.erasure.root import ACCOUNT, ASSERTION, JOB, Root
from services.projector.ledger.verify import verify
from services.projector.rebuild.rebuild import rebuild
from services.projector.rebuild.shadow import shadow
from services.projector.store.store import Store
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, fill, owner, prepare, store_at, total
from tests.integration.test_forget import Broker
from tests.integration.test_projector_rebuild import Streams
from tests.support.servers import Prepare
from tests.unit.projector.audit_histories import CANARY, Instance, claim_id_of, write
from tests.unit.projector.histories import digest, uid

pytest_plugins = ["tests.support.servers"]

MINE, THEIRS = uid("job"), uid("their job")
ME, THEM = uid("account"), uid("their account")
SHIPS, LAMPS, TIDES = (claim_id_of(name) for name in ("Ships sail.", "Lamps burn.", "Tides turn."))
KEPT = {"erased_entity", "position", "assertion_sample"}
"""Tables that may name a root: as erased, or in the words of a claim, which is others' too."""
each_root = pytest.mark.parametrize(
    ("root", "id_"), [(JOB, MINE), (ASSERTION, SHIPS), (ACCOUNT, ME)], ids=["job", "assertion", "account"]
)


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


def two_jobs() -> Instance:
    """My job makes two claims, theirs one of them and another one."""
    instance = Instance()
    for event in instance.whole(MINE, ME, ("Ships sail.", "Lamps burn.")):
        instance.publish(event)
    for event in instance.whole(THEIRS, THEM, ("Ships sail.", "Tides turn.")):
        instance.publish(event)
    write(instance)
    return instance


async def filled(url: str, instance: Instance) -> tuple[Store, Broker]:
    store = store_at(url, texts=NoTexts(**instance.tape.words))
    await fill(store, instance.tape.records, [7] * 100)
    return store, Broker(store, instance.tape)


async def erased(url: str, broker: Broker, root: Root, id_: UUID) -> int:
    async with await owner(url) as db:
        head = len(broker.tape.records)
        done = await erase(db, broker, root, id_, reason="ASKED_FOR", erasure_id=uuid4(), head=head)
    return done.facts


async def dump(url: str, *, but: frozenset[str] = frozenset()) -> str:
    """The ledger's bodies and all rows, without some tables'."""
    async with await owner(url) as db:
        found = await db.execute(
            "SELECT convert_from(envelope, 'UTF8') FROM ledger.fact WHERE subject NOT LIKE '%erasure%'"
        )
        bodies = [text for (text,) in await found.fetchall()]
    tables = {name: rows for name, rows in (await everything(url)).items() if name not in but}
    return "\n".join([*bodies, str(tables)])


async def require_whole(url: str, instance: Instance, broker: Broker) -> None:
    """The chain holds, and a rebuild ends with the same tables."""
    async with await owner(url) as db:
        found = await verify(db, Streams(JOBS=broker.left))
    assert found.ok, found
    assert found.streams[2].erased == len(broker.erased)
    texts, live = NoTexts(**instance.tape.words), await everything(url)
    assert await shadow(url, texts, analyses=ANALYSES) == []
    await rebuild(url, texts, analyses=ANALYSES)
    assert await everything(url) == live


@pytest.mark.requirement("FH-177")
async def test_a_job_leaves_its_credit_and_what_others_use(database_url: str) -> None:
    """FH-177: Jobs, assertions, entries and accounts can be erased"""
    instance = two_jobs()
    store, broker = await filled(database_url, instance)
    before = await everything(database_url)
    runs = {str(step_run_id(MINE, step)) for step in ("CLAIM_AUDIT/extract", "CLAIM_AUDIT/assess")}

    assert await erased(database_url, broker, JOB, MINE) == 10
    after = await everything(database_url)
    assert {row["id"] for row in after["job"]} == {str(THEIRS)}
    assert {row["job_id"] for row in after["job_claim"]} == {str(THEIRS)}
    assert not runs & {row["run_id"] for row in after["run_attempt"]}
    for name in ("assertion", "analysis", "evidence", "credit_period", "credit_entry"):
        assert after[name] == before[name]
    assert [(row["entity_id"], row["reason"]) for row in after["erased_entity"]] == [(str(MINE), "ASKED_FOR")]
    gone = {digest(text) for text in instance.tape.words.values() if str(MINE) in text and "says" not in text}
    assert gone <= set(broker.removed)
    assert broker.removed.count(digest(CANARY)) == 0, "their request sent the same text, kept until the same hour"
    await require_whole(database_url, instance, broker)
    assert await erased(database_url, broker, JOB, MINE) == 0
    assert await erased(database_url, broker, JOB, THEIRS) == 10
    assert digest(CANARY) in broker.removed
    await store.close()


@pytest.mark.requirement("FH-177")
async def test_an_assertion_leaves_the_jobs_that_make_it(database_url: str) -> None:
    """FH-177: Jobs, assertions, entries and accounts can be erased"""
    instance = two_jobs()
    for name in ("Ships sail.", "Lamps burn."):
        request = next(
            event
            for event, _ in instance.events
            if isinstance(event, AssertionAnalysisRequested) and event.assertion_id == claim_id_of(name)
        )
        flag = FlagRaised(
            flag_id=uid(f"objection to {name}"),
            entity_type="CLAIM",
            issue_type="RIGHTS",
            description=request.words,
            claim_sha256=request.canonical_sha256,
        )
        instance.tape.add(flag, at=instance.now)
    store, broker = await filled(database_url, instance)
    run = analysis_run_id(SHIPS, 0)

    assert await erased(database_url, broker, ASSERTION, SHIPS) == 4
    assert str(uid("objection to Ships sail.")) not in await dump(database_url)
    after = await everything(database_url)
    assert {row["id"] for row in after["assertion"]} == {str(LAMPS), str(TIDES)}
    assert {row["assertion_id"] for row in after["job_claim"]} == {str(LAMPS), str(TIDES)}
    assert len(after["job"]) == 2
    for name in ("analysis", "scenario", "verdict", "evidence", "citation", "assertion_sample", "run_attempt"):
        assert str(run) not in str(after[name]), name
        assert str(SHIPS) not in str(after[name]), name
    assert "ships sail." not in await dump(database_url)
    words = {digest(text) for text in instance.tape.words.values() if "ships sail" in text}
    assert words
    assert words <= set(broker.removed)
    await require_whole(database_url, instance, broker)
    await store.close()


@pytest.mark.requirement("FH-177")
async def test_an_account_is_named_nowhere(database_url: str) -> None:
    """FH-177: Jobs, assertions, entries and accounts can be erased"""
    instance = two_jobs()
    store, broker = await filled(database_url, instance)
    assert await erased(database_url, broker, ACCOUNT, ME) == 12
    assert str(ME) not in await dump(database_url, but=frozenset(KEPT))
    after = await everything(database_url)
    assert {row["account_id"] for row in (*after["job"], *after["credit_period"])} == {str(THEM)}
    assert len(after["credit_entry"]) == 2
    assert str(MINE) not in str({name: rows for name, rows in after.items() if name not in KEPT})
    await require_whole(database_url, instance, broker)
    await store.close()


@pytest.mark.requirement("FH-177")
@each_root
async def test_what_is_published_later_does_not_come_back(database_url: str, root: Root, id_: UUID) -> None:
    """FH-177: Jobs, assertions, entries and accounts can be erased"""
    instance = two_jobs()
    store, broker = await filled(database_url, instance)
    await erased(database_url, broker, root, id_)
    tables = await everything(database_url)
    bound = next(instance.intake(uid("another job") if root is ACCOUNT else MINE, ME, "another key"))
    late: list[Event] = [bound, instance.started(uid("late run"), "CLAIM_AUDIT/extract", MINE, 9)]
    if root is ACCOUNT:
        late = [bound]
    if root is ASSERTION:
        late = [instance.requested(THEIRS, "Ships sail.", uid("late run"), 4)]
    instance.tape.add(*late)
    outcomes = total(await fill(store, instance.tape.records[-len(late) :]))
    assert set(outcomes) == {"forgotten"}
    after = await everything(database_url)
    assert {name: rows for name, rows in after.items() if name != "position"} == {
        name: rows for name, rows in tables.items() if name != "position"
    }
    assert await erased(database_url, broker, root, id_) >= len(late) - (root is JOB)
    await store.close()


@each_root
async def test_it_waits_for_a_job_that_is_open(database_url: str, root: Root, id_: UUID) -> None:
    instance = Instance()
    for event in instance.whole(MINE, ME, ("Ships sail.",)):
        instance.publish(event)
        if isinstance(event, AssertionAnalysed):
            break
    write(instance)
    store, broker = await filled(database_url, instance)
    with pytest.raises(WorkOpen, match=f"job {MINE} has not ended yet"):
        await erased(database_url, broker, root, id_)
    assert broker.events == []
    await store.close()


async def test_an_erasure_of_several_parts_takes_each_text_once_nothing_names_it(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.projector.erasure.erase.PART", 4)
    instance = two_jobs()
    store, broker = await filled(database_url, instance)
    await erased(database_url, broker, ACCOUNT, ME)
    orders = [event for event in broker.events if isinstance(event, EntityErasureOrdered)]
    assert [(order.part, len(order.facts)) for order in orders] == [(1, 4), (2, 4), (3, 4)]
    assert len(set(broker.removed)) == len(broker.removed)
    await require_whole(database_url, instance, broker)
    await store.close()


def test_the_texts_of_an_event_are_found() -> None:
    from services.projector.erasure.erase import find_ephemeral

    fetched = next(event for event, _ in two_jobs().events if isinstance(event, JobFetched))
    assert list(find_ephemeral(fetched)) == [fetched.article]
