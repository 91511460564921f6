"""The tables of the catalogue: an entry with its edits and flags, what it shows of analyses, and what leaves it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import pytest

from contracts.v1 import EntryStaled, Event
from contracts.v1.ids import analysis_run_id, entry_id
from services.projector.erasure.root import ASSERTION
from services.projector.rebuild.rebuild import rebuild
from services.projector.rebuild.shadow import shadow
from services.projector.store.store import Store
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, fill, owner, prepare, store_at
from tests.integration.test_erase_entities import dump, erased
from tests.integration.test_forget import Broker
from tests.support.servers import Prepare
from tests.unit.projector.audit_histories import claim_id_of, objected, one_job
from tests.unit.projector.histories import uid

pytest_plugins = ["tests.support.servers"]

NAME: Final = "Ships sail."
SHIPS: Final = claim_id_of(NAME)
ENTRY: Final = entry_id(SHIPS)
RUN: Final = analysis_run_id(SHIPS, 0)
YEARS: Final = timedelta(days=1_827)


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


class Catalogue:
    """A read model over one job, of whose first claim an entry is published; facts are applied one by one."""

    def __init__(self, url: str) -> None:
        self.url, self.instance = url, one_job()
        self.texts = NoTexts(**self.instance.tape.words)
        self.store: Store = store_at(url, texts=self.texts)

    async def open(self) -> None:
        await fill(self.store, self.instance.tape.records)
        await self.publish(self.instance.entry(NAME))

    async def publish(self, event: Event) -> None:
        tape = self.instance.tape
        self.instance.publish(event)
        tape.add(event, at=self.instance.now)
        self.texts.texts.update(tape.words)
        await fill(self.store, tape.records[-1:])

    async def rows(self, table: str) -> list[dict[str, Any]]:
        return (await everything(self.url))[table]

    async def entry(self) -> dict[str, Any]:
        (row,) = await self.rows("entry")
        return row

    async def computed(self) -> dict[str, Any]:
        """What the entry should show, from the rows of its newest analysis."""
        found = await everything(self.url)
        newest = max(
            (row for row in found["analysis"] if row["assertion_id"] == str(SHIPS)), key=lambda row: row["analysed_at"]
        )
        evidence = [row for row in found["evidence"] if row["analysis_id"] == newest["id"]]
        best = sorted(evidence, key=lambda row: (-row["relevance"], row["id"]))[:5]
        readings = sorted(
            (row for row in found["scenario"] if row["analysis_id"] == newest["id"]), key=lambda row: row["ordinal"]
        )
        recommended = next(row["id"] for row in readings if row["ordinal"] == newest["recommended"])
        cited = [row for row in found["citation"] if row["analysis_id"] == newest["id"]]
        return {
            "analysis_id": newest["id"],
            "cache_updated_at": newest["analysed_at"],
            "evidence_summary": [
                {"text": row["text"], "source": row["source_title"], "relevance": row["relevance"]} for row in best
            ]
            or None,
            "source_names": sorted({row["domain"] for row in cited}) or None,
            "scenario_count": len(readings),
            "scenario_summary": [row["description"] for row in readings if row["description"]] or None,
            "confidence_score": 60,
            "risk_score": risk_of(next(row for row in found["verdict"] if row["scenario_id"] == recommended)),
        }

    async def require_rebuilt(self, texts: NoTexts | None = None) -> None:
        """A rebuild ends with the same tables."""
        live, texts = await everything(self.url), texts or self.texts
        assert await shadow(self.url, texts, analyses=ANALYSES) == []
        await rebuild(self.url, texts, analyses=ANALYSES)
        assert await everything(self.url) == live


def risk_of(verdict: dict[str, Any]) -> int:
    """Half of it is confidence that lacks, half how evenly the evidence is divided."""
    total = verdict["supporting"] + verdict["opposing"]
    divided = 2 * min(verdict["supporting"], verdict["opposing"]) / total if total else 1
    risk: float = 50 * (1 - verdict["confidence"]) + 50 * divided
    return round(risk)


@pytest.fixture
async def catalogue(database_url: str) -> Any:
    opened = Catalogue(database_url)
    await opened.open()
    yield opened
    await opened.store.close()


@pytest.mark.requirement("FH-109")
async def test_an_entry_shows_what_follows_from_the_newest_analysis_after_every_fact(catalogue: Catalogue) -> None:
    """FH-109: Summaries of a claim change with the fact that changes them"""
    instance, again = catalogue.instance, uid("run again")
    before = await catalogue.computed()
    analysed = instance.analysed(NAME, again)
    divided = tuple(each.model_copy(update={"supporting": 3}) for each in analysed.scenarios)
    analysed = analysed.model_copy(update={"scenarios": divided})
    assert before["risk_score"] == 70
    assert before.items() <= (await catalogue.entry()).items()
    assert len(before["evidence_summary"]) == 4
    for event in (
        instance.started(again, "CLAIM_AUDIT/analyse", SHIPS),
        analysed,
        instance.edited(ENTRY, "Ships sail slowly."),
        instance.purged(before=instance.now + timedelta(days=92)),
    ):
        await catalogue.publish(event)
        assert (await catalogue.computed()).items() <= (await catalogue.entry()).items()
    after = await catalogue.entry()
    assert after["analysis_id"] == str(again) != before["analysis_id"]
    assert (after["evidence_summary"], after["scenario_count"], after["risk_score"]) == (None, 2, 45)
    await catalogue.require_rebuilt()


@pytest.mark.requirement("FH-117")
@pytest.mark.requirement("FH-119")
async def test_an_edit_is_a_version_with_the_states_before_and_after(catalogue: Catalogue) -> None:
    """FH-117: An edit holds the states before and after.

    FH-119: Every change of an entry is one edit and one version.
    """
    instance = catalogue.instance
    await catalogue.publish(instance.edited(ENTRY, "Ships sail slowly."))
    await catalogue.publish(instance.edited(ENTRY, "Ships sail at noon.", hidden=True, kind="MODERATION_ACTION"))
    entry = await catalogue.entry()
    assert (entry["version"], entry["edit_count"], entry["status"]) == (3, 2, "HIDDEN")
    assert (entry["wording"], entry["summary"], entry["reworded"]) == (
        "Ships sail at noon.",
        "So: Ships sail at noon.",
        True,
    )
    assert entry["published_wording"] == NAME
    first, second = sorted(await catalogue.rows("edit"), key=lambda row: row["version"])
    assert (first["version"], first["edit_type"], first["made_by"]) == (2, "CONTENT_CORRECTION", str(uid("editor")))
    assert first["reason"] == "Why Ships sail slowly."
    assert first["before_state"] == {"wording": NAME, "domain": "harbours", "summary": None}
    assert first["after_state"] == second["before_state"]
    assert (second["version"], second["hidden"], second["edit_type"]) == (3, True, "MODERATION_ACTION")
    await catalogue.require_rebuilt()


@pytest.mark.requirement("FH-121")
async def test_words_of_edits_and_flags_are_deleted_after_their_time(catalogue: Catalogue) -> None:
    """FH-121: Words of edits are deleted after five years."""
    instance = catalogue.instance
    await catalogue.publish(instance.edited(ENTRY, "Ships sail slowly."))
    raised = instance.flagged(ENTRY, uid("reader"))
    await catalogue.publish(raised)
    await catalogue.publish(instance.resolved_flag(raised))
    await catalogue.publish(instance.purged(before=instance.now + YEARS - timedelta(days=2)))
    (edit,), (flag,) = await catalogue.rows("edit"), await catalogue.rows("flag")
    assert (edit["reason"], flag["description"], flag["note"]) == ("Why Ships sail slowly.", "Not so.", "Agreed.")

    await catalogue.publish(instance.purged(before=instance.now + YEARS))
    (edit,), (flag,) = await catalogue.rows("edit"), await catalogue.rows("flag")
    assert (edit["reason"], edit["before_state"], edit["after_state"]) == (None, None, None)
    assert (edit["version"], edit["fields"], edit["made_by"]) == (2, ["wording"], str(uid("editor")))
    assert (flag["description"], flag["note"], flag["status"]) == (None, None, "ACCEPTED")
    entry = await catalogue.entry()
    assert (entry["version"], entry["wording"], entry["summary"]) == (2, NAME, None)
    await catalogue.require_rebuilt(NoTexts())


@pytest.mark.requirement("FH-122")
async def test_a_flag_says_what_who_why_and_how_it_ended(catalogue: Catalogue) -> None:
    """FH-122: A flag names what, who, why and how it ended."""
    raised = catalogue.instance.flagged(ENTRY, uid("reader"))
    await catalogue.publish(raised)
    (flag,) = await catalogue.rows("flag")
    assert (flag["entity_type"], flag["entity_id"], flag["account_id"]) == ("ENTRY", str(ENTRY), str(uid("reader")))
    assert (flag["issue_type"], flag["description"], flag["status"]) == ("WRONG_SOURCE", "Not so.", "OPEN")
    assert (flag["resolved_by"], flag["resolved_at"]) == (None, None)
    await catalogue.publish(catalogue.instance.resolved_flag(raised))
    (flag,) = await catalogue.rows("flag")
    assert (flag["status"], flag["resolved_by"], flag["note"]) == ("ACCEPTED", str(uid("moderator")), "Agreed.")
    assert flag["resolved_at"] > flag["created_at"]


@pytest.mark.requirement("FH-127")
async def test_an_entry_is_stale_until_its_claim_is_analysed_again(catalogue: Catalogue) -> None:
    """FH-127: What makes an entry stale is recorded."""
    instance = catalogue.instance
    await catalogue.publish(EntryStaled(entry_id=ENTRY, parts=("RISK",), trigger="FLAGS", cause_id=uid("flag")))
    await catalogue.publish(EntryStaled(entry_id=ENTRY, parts=("VERDICT",), trigger="EDIT", cause_id=uid("edit")))
    assert (await catalogue.entry())["stale"] == ["RISK", "VERDICT"]
    again = uid("run again")
    await catalogue.publish(instance.analysed(NAME, again))
    assert (await catalogue.entry())["stale"] == []
    await catalogue.publish(instance.edited(ENTRY, "Ships sink."))
    await catalogue.publish(EntryStaled(entry_id=ENTRY, parts=("VERDICT",), trigger="EDIT", cause_id=uid("another")))
    await catalogue.publish(instance.analysed(NAME, uid("third run")))
    assert (await catalogue.entry())["stale"] == ["VERDICT"], "the assertion no longer says what the entry says"
    await catalogue.require_rebuilt()


@pytest.mark.requirement("FH-177")
async def test_an_entry_is_erased_with_its_assertion(catalogue: Catalogue) -> None:
    """FH-177: Jobs, assertions, entries and accounts can be erased."""
    instance = catalogue.instance
    edit, raised = instance.edited(ENTRY, "Ships sink at noon."), instance.flagged(ENTRY, uid("reader"))
    claimed = objected(instance, NAME)
    decided = instance.resolved_flag(claimed)
    for event in (edit, raised, instance.resolved_flag(raised), claimed, decided):
        await catalogue.publish(event)
    await catalogue.publish(other := objected(instance, "Lamps burn."))
    broker = Broker(catalogue.store, instance.tape)
    await erased(catalogue.url, broker, ASSERTION, SHIPS)
    found = await everything(catalogue.url)
    assert (found["entry"], found["edit"]) == ([], [])
    assert [row["id"] for row in found["flag"]] == [str(other.flag_id)]
    assert {claimed.description.sha256, decided.note.sha256} <= set(broker.removed)
    left = await dump(catalogue.url)
    assert "Ships" not in left.replace(f"Ships sail., says {uid('job')}", "")
    assert str(ENTRY) not in left
    assert {edit.before.sha256, edit.after.sha256, edit.reason.sha256, raised.description.sha256} <= set(broker.removed)
    instance.tape.add(instance.entry(NAME))
    await fill(catalogue.store, instance.tape.records[-1:])
    assert await catalogue.rows("entry") == []
    await catalogue.require_rebuilt()


@pytest.mark.requirement("FH-108")
async def test_the_columns_of_an_entry_are_checked(catalogue: Catalogue) -> None:
    """FH-108: A claim is an assertion that never changes and an entry that is edited."""
    entry = await catalogue.entry()
    assert (entry["version"], entry["status"], entry["domain"]) == (1, "PUBLISHED", "harbours")
    assert not {column for column in entry if "view" in column}
    async with await owner(catalogue.url) as db:
        beyond = ("status", "'GONE'"), ("confidence_score", "101"), ("risk_score", "-1"), ("edit_count", "7")
        for column, value in beyond:
            with pytest.raises(Exception, match=f"entry_.*{'score' if 'score' in column else column}.*_check"):
                await db.execute(f"UPDATE entry SET {column} = {value}".encode())
            await db.rollback()
    await catalogue.publish(catalogue.instance.edited(ENTRY, "Ships sink."))
    (assertion,) = [row for row in await catalogue.rows("assertion") if row["id"] == str(SHIPS)]
    assert assertion["canonical"] == "ships sail."
