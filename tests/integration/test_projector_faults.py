"""A fact that cannot be applied is refused by itself and on the record; trouble with a server is tried again."""

from __future__ import annotations

import random
from collections.abc import Iterable
from string import ascii_lowercase
from typing import Any

import pytest

from contracts.v1 import ErasureOrdered, Event
from contracts.v1.erasure import ErasedFact
from contracts.v1.parts import Author, TextRef
from kit.blobs import BlobsUnavailable
from services.projector.projections import metadata
from services.projector.rebuild.rebuild import rebuild
from services.projector.rebuild.shadow import shadow
from services.projector.store.store import Store
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, fill, owner, prepare, store_at, total
from tests.support.servers import Prepare
from tests.unit.projector.histories import Page, Tape, digest, mixed, uid

pytest_plugins = ["tests.support.servers"]

HOSTILE = "<svg><sup>2</sup></svg>"


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning fails for what is titled `HOSTILE`."""
    sound = metadata.title_of

    def title_of(event: Any) -> str | None:
        if event.sighting.metadata.get("display_title") == HOSTILE:
            raise RuntimeError("no such title\0 \ud800")
        return sound(event)

    monkeypatch.setattr(metadata, "title_of", title_of)


def titled(event: Any, title: str = HOSTILE) -> Any:
    metadata = {**event.sighting.metadata, "display_title": title}
    return event.model_copy(update={"sighting": event.sighting.model_copy(update={"metadata": metadata})})


def log_of(*events: Event) -> Tape:
    tape = Tape()
    tape.add(*events)
    return tape


async def refused(url: str) -> list[tuple[int, str, str]]:
    return [
        (row["sequence"], row["outcome"], row["reason"])
        for row in sorted((await everything(url))["refused_fact"], key=lambda row: row["sequence"])
    ]


async def test_a_title_with_markup_that_browsers_read_otherwise_is_applied(database_url: str) -> None:
    """An anonymous observation with this title stopped the projector for good."""
    page = Page("a", provenance="CLIENT_FALLBACK")
    store = store_at(database_url)
    outcomes = total(await fill(store, log_of(titled(page.registered()), *page.investigated()).records))
    await store.close()
    assert outcomes == {"applied": 11}


@pytest.mark.usefixtures("breaking")
@pytest.mark.parametrize("sizes", [None, [1] * 20, [3, 5]])
async def test_a_fact_that_cannot_be_planned_is_refused_on_the_record(
    database_url: str, sizes: list[int] | None
) -> None:
    good, bad = Page("a"), Page("b", "many words")
    tape = log_of(good.registered(), titled(bad.registered()), *good.investigated(), bad.seen("later"))
    store = store_at(database_url)
    outcomes = total(await fill(store, tape.records, sizes))
    await store.close()
    assert outcomes == {"applied": 11, "refused": 1, "parked": 1}
    assert await refused(database_url) == [(2, "refused", "RuntimeError: no such title\ufffd ?")]
    before = await everything(database_url)
    assert before["investigation"][0]["status"] == "COMPLETE"
    assert await shadow(database_url, NoTexts(), analyses=ANALYSES) == []
    await rebuild(database_url, NoTexts(), analyses=ANALYSES)
    after = await everything(database_url)
    assert after["refused_fact"] == before["refused_fact"]
    assert after["post"] == before["post"]


@pytest.mark.usefixtures("breaking")
@pytest.mark.parametrize("sizes", [None, [1] * 20])
async def test_a_parked_fact_that_fails_later_is_refused_instead_of_the_one_it_waited_for(
    database_url: str, sizes: list[int] | None
) -> None:
    page = Page("a", provenance="CLIENT_FALLBACK")
    tape = log_of(titled(page.verified()), page.seen("early"), page.registered(), *page.investigated())
    store = store_at(database_url)
    outcomes = total(await fill(store, tape.records, sizes))
    await store.close()
    assert outcomes["refused"] == 1
    assert [(sequence, outcome) for sequence, outcome, _ in await refused(database_url)] == [(1, "refused")]
    found = await everything(database_url)
    assert found["post_version"][0]["seen_count"] == 2
    assert found["investigation"][0]["status"] == "COMPLETE"
    assert found["parked"] == []
    assert await shadow(database_url, NoTexts(), analyses=ANALYSES) == []


class Away(NoTexts):
    """A blob store that does not answer."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error: Exception | None = error

    async def fetch(self, refs: Iterable[TextRef]) -> dict[str, str]:
        if self.error is not None:
            raise self.error
        return {ref.sha256: "long" for ref in refs}


@pytest.mark.parametrize(
    "error", [BlobsUnavailable("away"), ConnectionResetError("gone"), TimeoutError(), MemoryError()]
)
async def test_trouble_with_a_server_refuses_nothing(database_url: str, error: Exception) -> None:
    page = Page("a", "long")
    tape = log_of(page.registered(content=TextRef(sha256=digest("long"), size_bytes=4)))
    texts = Away(error)
    store = store_at(database_url, texts=texts)
    with pytest.raises(type(error)):
        await fill(store, tape.records)
    assert await store.position("ERRATA") == 0
    texts.error = None
    assert total(await fill(store, tape.records)) == {"applied": 1}
    await store.close()
    assert await refused(database_url) == []


async def test_what_cannot_be_read_and_what_lost_its_text_is_on_the_record(database_url: str) -> None:
    tape = Tape()
    tape.raw("errata.v1.version.registered.x", b"{")
    tape.raw("errata.v1.unheard.of.x", b"{}")
    lost = TextRef(sha256=digest("gone"), size_bytes=4)
    tape.add(Page("b", "gone").registered(content=lost))
    store = store_at(database_url)
    assert total(await fill(store, tape.records)) == {"undecodable": 2, "textless": 1}
    await store.close()
    found = await refused(database_url)
    assert [(sequence, outcome) for sequence, outcome, _ in found] == [
        (1, "undecodable"),
        (2, "undecodable"),
        (3, "textless"),
    ]
    assert digest("gone") in found[2][2]


async def test_an_investigation_whose_result_is_refused_ends_as_failed(database_url: str) -> None:
    """It used to be PROCESSING for ever."""
    page, other = Page("a"), Page("b", "other words")
    async with await owner(database_url) as admin:
        await admin.execute(
            """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE check_violation USING MESSAGE = 'too much'; END $$"""
        )
        await admin.execute(
            """CREATE TRIGGER refuse BEFORE INSERT ON investigation_doc
            FOR EACH ROW WHEN (new.claim_count = 2) EXECUTE FUNCTION refuse()"""
        )
    tape = log_of(page.registered(), *page.investigated(), other.registered(), other.requested(), other.started())
    tape.add(other.completed())
    store = store_at(database_url)
    outcomes = total(await fill(store, tape.records))
    await store.close()
    assert outcomes == {"applied": 14, "refused": 1}
    found = {row["id"]: row for row in (await everything(database_url))["investigation"]}
    assert found[str(page.investigation_id)]["status"] == "FAILED"
    assert found[str(page.investigation_id)]["failure_reason"] == "the result could not be stored"
    assert found[str(other.investigation_id)]["status"] == "COMPLETE"
    assert (await everything(database_url))["investigation_lease"] == []


def words(characters: int) -> str:
    """Different addresses, each of which is three words to the search: their tsvector has thrice the text's size."""
    draw = random.Random(5)
    return " ".join("{}{}.{}{}/{}{}".format(*draw.choices(ascii_lowercase, k=6)) for _ in range(characters // 9))


@pytest.mark.parametrize("part", ["title", "url", "author", "finding"])
async def test_no_length_of_words_keeps_a_result_out(database_url: str, part: str) -> None:
    long = words(480_000)
    page = Page("a", platform="SUBSTACK")
    registered: Any = page.registered()
    sighting = registered.sighting
    if part == "title":
        sighting = sighting.model_copy(update={"metadata": {**sighting.metadata, "title": long}})
    elif part == "url":
        sighting = sighting.model_copy(update={"url": f"https://site.example/a?q={long.replace(' ', '+')}"})
    elif part == "author":
        sighting = sighting.model_copy(update={"author": Author(platform_user_id="u", display_name=long)})
    registered = registered.model_copy(update={"sighting": sighting})
    completed: Any = page.completed((0, 2))
    if part == "finding":
        claims = tuple(
            claim.model_copy(update={"payload": claim.payload.model_copy(update={"reasoning": long})})
            for claim in completed.claims
        )
        completed = completed.model_copy(update={"claims": claims})
    store = store_at(database_url)
    tape = log_of(registered, *page.investigated()[:-1], completed)
    assert total(await fill(store, tape.records)) == {"applied": 11}
    await store.close()
    found = await everything(database_url)
    (heading,) = found["version_heading"]
    assert len(heading["title"]) <= 1_000
    assert len(heading["url"]) <= 2_048
    assert len(heading["author_name"]) <= 300
    assert len(found["post"][0]["url"]) <= 2_048
    assert len(found["author"][0]["display_name"]) <= 300
    assert found["investigation"][0]["status"] == "COMPLETE"
    assert len(found["search_document"]) == 1


@pytest.mark.usefixtures("breaking")
async def test_an_erasure_takes_what_was_refused_of_its_post(database_url: str) -> None:
    page = Page("a")
    tape = log_of(titled(page.registered()), page.seen("again"))
    tape.add(
        ErasureOrdered(
            erasure_id=uid("e"),
            post_id=page.post_id,
            reason="asked",
            facts=tuple(ErasedFact(sequence=each, hash="0" * 64) for each in (1, 2)),
        )
    )
    store = store_at(database_url)
    outcomes = total(await fill(store, tape.records[:2]))
    assert outcomes == {"refused": 1, "parked": 1}
    await fill(store, tape.records[2:])
    await store.close()
    found = await everything(database_url)
    assert found["refused_fact"] == found["parked"] == []


async def test_a_fact_that_cannot_be_prepared_is_refused_alone(database_url: str) -> None:
    """Also in a rebuild, which prepares its batches apart from applying them."""
    good, bad = Page("a"), Page("b", "long")
    texts = Away(ValueError("no such name"))
    tape = log_of(good.registered(), bad.registered(content=TextRef(sha256=digest("long"), size_bytes=4)))
    store = store_at(database_url, texts=texts)
    assert total(await fill(store, tape.records)) == {"applied": 1, "refused": 1}
    await store.close()
    assert await refused(database_url) == [(2, "refused", "ValueError: no such name")]
    assert await shadow(database_url, texts, analyses=ANALYSES) == []


@pytest.mark.parametrize("seed", range(3))
async def test_sound_facts_are_never_taken_for_faults(
    database_url: str, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Looking for a fault in a batch that has none finds every fact sound, at ten times the cost."""

    async def search(*_: object) -> None:
        pytest.fail("a batch of sound facts failed as a whole")

    monkeypatch.setattr(Store, "_apply_without_fault", search)
    errata, views = mixed(12, seed)
    store = store_at(database_url)
    await fill(store, errata.records)
    await fill(store, views.records)
    await store.close()
