"""The catalogue read from its tables: what a search finds, what a page holds, and what may get a page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

import pytest

from contracts.v1.ids import entry_id
from kit.database import Database
from services.gateway.jobs.adapters import SqlCatalogue
from services.gateway.record.catalogue import Candidate
from services.gateway.record.repository import PublicRecord
from services.projector.store.store import Store
from tests.integration.readmodel_tables import NoTexts, fill, owner, prepare, store_at
from tests.support.servers import Prepare
from tests.unit.projector.audit_histories import Instance, claim_id_of, objected, one_job, write
from tests.unit.projector.histories import uid

pytest_plugins = ["tests.support.servers"]

SHIPS, LAMPS = (entry_id(claim_id_of(name)) for name in ("Ships sail.", "Lamps burn."))
JOB, ACCOUNT = uid("job"), uid("account")


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


class Shelf:
    """A read model with two entries, and the queries over it."""

    def __init__(self, url: str, instance: Instance) -> None:
        self.url, self.instance = url, instance
        self.texts = NoTexts(**instance.tape.words)
        self.store: Store = store_at(url, texts=self.texts)
        self._database = Database(url, role="reader")
        self.reads: Final = SqlCatalogue(PublicRecord(self._database))

    async def edit(self, id_: UUID, wording: str, *, hidden: bool = False) -> None:
        self.instance.tape.add(self.instance.edited(id_, wording, hidden=hidden), at=self.instance.now)
        self.texts.texts.update(self.instance.tape.words)
        await fill(self.store, self.instance.tape.records[-1:])

    async def find(self, text: str, *, hidden: bool = False) -> Sequence[UUID]:
        return [row.id for row in await self.reads.page(text, None, 10, hidden=hidden)]

    async def close(self) -> None:
        await self._database.close()
        await self.store.close()


@pytest.fixture
async def shelf(database_url: str) -> AsyncIterator[Shelf]:
    instance = one_job()
    for name in ("Ships sail.", "Lamps burn."):
        instance.publish(event := instance.entry(name))
        instance.tape.add(event, at=instance.now)
    opened = Shelf(database_url, instance)
    await fill(opened.store, instance.tape.records)
    yield opened
    await opened.close()


@pytest.mark.requirement("FH-126")
async def test_words_of_claims_excerpts_and_scenarios_are_found(shelf: Shelf) -> None:
    """FH-126: Assertions, excerpts and scenarios can be searched"""
    assert await shelf.find("") == [LAMPS, SHIPS]
    assert await shelf.find("sail") == await shelf.find("SHIPS -lamps") == [SHIPS]
    assert await shelf.find('"evidence of ships"') == [SHIPS], "an excerpt"
    assert await shelf.find('"reading 2 of lamps"') == [LAMPS], "a scenario"
    assert await shelf.find("harbours") == [LAMPS, SHIPS]
    assert await shelf.find("submarine") == []
    assert await shelf.find("' & | ! :* \"") in ([], [LAMPS, SHIPS])
    assert await shelf.find(f"{'-' * 60} sail") == [SHIPS], "dashes that negate nothing"
    (newest,) = await shelf.reads.page("", None, 1, hidden=False)
    after = (newest.updated_at, newest.id)
    assert [row.id for row in await shelf.reads.page("burn or sail", after, 5, hidden=False)] == [SHIPS]


@pytest.mark.requirement("FH-125")
async def test_an_edit_is_read_as_soon_as_it_is_projected(shelf: Shelf) -> None:
    """FH-125: An edit is seen at once, whatever is cached"""
    before = await shelf.reads.one(SHIPS, hidden=False)
    assert before is not None
    assert (before.row.wording, before.edits) == ("Ships sail.", [])
    await shelf.edit(SHIPS, "Submarines dive.")
    after = await shelf.reads.one(SHIPS, hidden=False)
    assert after is not None
    assert (after.row.wording, after.row.version) == ("Submarines dive.", 2)
    (edit,) = after.edits
    assert edit.before_state is not None
    assert (edit.before_state.wording, edit.reason) == ("Ships sail.", "Why Submarines dive.")
    assert await shelf.find("submarine or submarines") == [SHIPS]
    await shelf.edit(SHIPS, "Submarines dive.", hidden=True)
    assert await shelf.reads.one(SHIPS, hidden=False) is None
    assert await shelf.find("submarines") == []
    assert await shelf.find("submarines", hidden=True) == [SHIPS]
    assert await shelf.reads.one(SHIPS, hidden=True) is not None


@pytest.mark.requirement("FH-28")
async def test_objections_wait_in_a_queue_until_they_are_decided_on(shelf: Shelf) -> None:
    """FH-28: Quotes are withdrawn at once when their owner asks."""
    instance = shelf.instance
    raised = []
    for account in ("one", "two"):
        instance.publish(event := instance.flagged(SHIPS, uid(account)))
        instance.tape.add(event, at=instance.now)
        raised.append(event)
    to_claim = objected(instance, "Ships sail.")
    instance.tape.add(to_claim, at=instance.now + timedelta(seconds=5))
    instance.tape.add(instance.resolved_flag(raised[0]), at=instance.now)
    shelf.texts.texts.update(instance.tape.words)
    await fill(shelf.store, instance.tape.records[-4:])
    found = await shelf.reads.open_flags(None, 10)
    said = f"Not mine.\n\nAbout: sha256:{to_claim.claim_sha256}\nContact: me@example.org"
    assert [(row.id, row.issue_type, row.description, row.wording) for row in found] == [
        (raised[1].flag_id, "WRONG_SOURCE", "Not so.", "Ships sail."),
        (to_claim.flag_id, "RIGHTS", said, "ships sail."),
    ]
    after = (found[0].created_at, found[0].id)
    assert [row.id for row in await shelf.reads.open_flags(after, 10)] == [to_claim.flag_id]


@pytest.mark.requirement("FH-110")
@pytest.mark.requirement("FH-112")
@pytest.mark.requirement("FH-113")
async def test_a_page_has_scenarios_with_one_verdict_and_evidence_with_quotes(shelf: Shelf) -> None:
    """FH-110: Evidence has excerpt, address, relevance and direction.

    FH-112: A scenario belongs to one claim and lists its assumptions.

    FH-113: A scenario has one current verdict.
    """
    found = await shelf.reads.one(SHIPS, hidden=False)
    assert found is not None
    assert found.analysis is not None
    assert {each.likelihood_range for each in found.scenarios} == {"0.50-0.90 (likely true)"}
    assert [(each.ordinal, each.assumptions, each.label) for each in found.scenarios] == [
        (1, ["it is meant literally"], "LIKELY"),
        (2, ["it is meant literally"], "LIKELY"),
    ]
    ids = {each.id for each in found.scenarios}
    assert len(found.evidence) == 4
    assert {each.scenario_id for each in found.evidence} == ids
    assert [each.supports for each in found.evidence if each.scenario_id == found.scenarios[0].id] == [True, False]
    first = found.evidence[0]
    assert (first.relevance, len(first.quotes), first.source_title) == (0.9, 2, "A page \u202e of two")
    assert first.source_url.startswith("https://for.example/")
    assert first.archived == f"https://web.archive.org/web/{found.analysis.analysed_at:%Y%m%d%H%M%S}/{first.source_url}"
    async with await owner(shelf.url) as db:
        with pytest.raises(Exception, match="verdict_pkey"):
            await db.execute("INSERT INTO verdict SELECT * FROM verdict LIMIT 1")


@pytest.mark.requirement("FH-144")
@pytest.mark.parametrize(
    ("jobs", "readers"),
    [
        ([("TEXT", "AI_GENERATED", "me")], (0, 1)),
        ([("TEXT", "AI_GENERATED", "me"), ("TEXT", "AI_GENERATED", "me")], (0, 1)),
        ([("TEXT", "AI_GENERATED", "me"), ("TEXT", "AI_GENERATED", "them")], (0, 2)),
        ([("TEXT", "AI_GENERATED", "me"), ("TEXT", "DRAFT_ONLY", "them")], (0, 1)),
        ([("URL", "DRAFT_ONLY", "me")], (0, 0)),
        ([("URL", "AI_GENERATED", "me")], (1, 1)),
    ],
)
async def test_who_made_a_claim_known_decides_whether_it_may_have_a_page(
    database_url: str, jobs: Sequence[tuple[str, str, str]], readers: tuple[int, int]
) -> None:
    """FH-144: Private texts and drafts are never listed by the system

    FH-144: Submitted text is never published by the system.
    """
    instance = Instance()
    for number, (_, _, account) in enumerate(jobs):
        for event in instance.whole(uid(f"job {number}"), uid(account), ("Ships sail.",)):
            instance.publish(event)
    write(instance)
    shelf = Shelf(database_url, instance)
    await fill(shelf.store, instance.tape.records)
    async with await owner(database_url) as db:
        for number, (kind, mode, _) in enumerate(jobs):
            statement = "UPDATE job SET input_type = %s, publication_mode = %s WHERE id = %s"
            await db.execute(statement, (kind, mode, uid(f"job {number}")))
    found = await shelf.reads.candidate(uid("job 0"), 1, uid("me"))
    assert isinstance(found, Candidate)
    assert (found.public_jobs, found.accounts) == readers
    assert (found.assertion_id, found.domain) == (claim_id_of("Ships sail."), "harbours")
    assert await shelf.reads.candidate(uid("job 0"), 1, uid("somebody")) is None
    assert await shelf.reads.candidate(uid("job 0"), 2, uid("me")) is None
    await shelf.close()
