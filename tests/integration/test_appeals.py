"""Appeals over real servers: taken within their limits, decided once, and gone with their post."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Never
from uuid import UUID, uuid4

import pytest

from contracts.v1 import AppealDecided, AppealOpened, ErasureOrdered, FindingChanged, InvestigationRequested
from contracts.v1.appeal import AppealOutcome
from kit.database import Database
from kit.history import read_history
from kit.vault import MasterKey
from services.gateway.adapters import BusFacts
from services.gateway.ports import Unavailable
from services.gateway.public.appeals import DAY
from services.gateway.record.repository import PublicRecord
from services.projector.rebuild.rebuild import rebuild
from services.projector.rebuild.shadow import shadow
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything
from tests.support.forked import Forked
from tests.support.gateway import migrated, serving
from tests.support.public_record import DEMO, MOON, Article, Finding
from tests.support.published_finding import ARTICLE, CLAIM, QUOTE, Published, run_of
from tests.support.servers import Prepare
from tests.support.site_client import page_of

pytest_plugins = ["tests.support.servers"]

WORDS: Final = "The window was made so, says Zora."
SAID: Final = {
    "investigation_id": str(ARTICLE.investigation_id),
    "kind": "FALSE_POSITIVE",
    "claim_ids": [str(CLAIM)],
    "text": WORDS,
    "links": ["https://glass.example/made"],
}


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@pytest.fixture
async def published(nats_url: str, database_url: str) -> AsyncIterator[Published]:
    async with serving(nats_url, database_url) as running:
        found = Published(running, database_url)
        await found.tell(*run_of(MOON), *run_of(ARTICLE))
        yield found


async def appeal(published: Published, **changed: object) -> tuple[int, dict[str, Any]]:
    """Send an appeal; its status and answer."""
    response = await published.running.http.post("/v1/appeals", json=SAID | changed)
    return response.status_code, response.json()


async def opened(published: Published) -> list[AppealOpened]:
    """What the log holds of appeals against the article's result."""
    facts = await read_history(published.running.host.bus, str(ARTICLE.investigation_id))
    return [fact.event for fact in facts if isinstance(fact.event, AppealOpened)]


async def decide(published: Published, appeal_id: str, outcome: AppealOutcome, follows: int = 0) -> int:
    """Decide an appeal; the sequence of the decision."""
    event = AppealDecided(
        follows=follows,
        appeal_id=UUID(appeal_id),
        investigation_id=ARTICLE.investigation_id,
        outcome=outcome,
        reason="The source says so.",
    )
    receipt = await published.running.host.bus.publish(event, correlation=uuid4())
    await published.tell()
    return receipt.sequence


def commands(
    published: Published, nats_url: str, folder: Path, runs_per_day: int = 100
) -> Callable[..., Awaitable[tuple[int, str]]]:
    """Runs `openerrata appeal …`; its exit status, and what it prints."""
    environment = {
        "OPENERRATA_DATABASE_URL": published.url,
        "OPENERRATA_NATS_URL": nats_url,
        "OPENERRATA_S3_ENDPOINT": "http://127.0.0.1:9",
        "OPENERRATA_S3_ACCESS_KEY": "none",
        "OPENERRATA_S3_SECRET_KEY": "none",
        "OPENERRATA_ENCRYPTION_KEYS": str(MasterKey.generate()),
        "OPENERRATA_SELECTOR_RUNS_PER_DAY": str(runs_per_day),
    }

    async def run(*arguments: str) -> tuple[int, str]:
        out = folder / uuid4().hex
        process = Forked(("appeal", *arguments), folder, environment, out, out)
        return await asyncio.to_thread(process.wait, 60), out.read_text().strip()

    return run


@pytest.mark.requirement("TR-35")
async def test_an_appeal_leaves_the_result_as_it_was_and_one_is_open(published: Published) -> None:
    """TR-35: An appeal leaves the original unchanged, and there is one open at a time"""
    before = await published.page(f"{page_of(ARTICLE)}.json")
    answers = await asyncio.gather(*(appeal(published) for _ in range(2)))
    assert sorted(status for status, _ in answers) == [201, 409]
    (answer,) = (body for status, body in answers if status == 201)
    await published.tell()
    assert (await appeal(published))[0] == 409
    assert [event.text for event in await opened(published)] == [WORDS]
    assert await published.page(f"{page_of(ARTICLE)}.json") == before
    page = await published.page(answer["page"])
    assert "Open." in page
    assert "Zora" not in page
    assert "glass.example" not in page
    await decide(published, answer["appeal_id"], "DISMISSED")
    page = await published.page(answer["page"])
    assert "Dismissed" in page
    assert "The source says so." in page
    assert await published.page(f"{page_of(ARTICLE)}.json") == before
    tables = await everything(published.url)
    (row,) = tables["appeal"]
    assert (row["words"], row["outcome"], row["claims"]) == (WORDS, "DISMISSED", [str(CLAIM)])
    assert await shadow(published.url, NoTexts(), analyses=ANALYSES) == []
    await rebuild(published.url, NoTexts(), analyses=ANALYSES)
    assert (await everything(published.url))["appeal"] == tables["appeal"]


@pytest.mark.requirement("TR-37")
async def test_a_flood_of_appeals_is_three_a_day(published: Published) -> None:
    """TR-37: Appeals are few, short and name what they are about, and authors come first"""
    decided = 0
    for _ in range(3):
        status, answer = await appeal(published)
        assert status == 201
        await published.tell()
        decided = await decide(published, answer["appeal_id"], "REFUSED", decided)
    for _ in range(5):
        refused = await published.running.http.post("/v1/appeals", json=SAID)
        assert (refused.status_code, "3 appeals a day" in refused.json()["message"]) == (429, True)
        assert 86_000 < int(refused.headers["retry-after"]) <= 86_400
    elsewhere = {"investigation_id": str(MOON.investigation_id), "claim_ids": [str(MOON.claim(0)[0])]}
    assert (await appeal(published, **elsewhere))[0] == 429
    assert len(await opened(published)) == 3


async def test_of_two_appeals_that_come_at_once_one_counts(published: Published) -> None:
    answers = await asyncio.gather(*(appeal(published) for _ in range(2)))
    assert sorted(status for status, _ in answers) == [201, 409]
    await published.tell()
    (answer,) = (body for status, body in answers if status == 201)
    await decide(published, answer["appeal_id"], "DISMISSED")
    elsewhere = {"investigation_id": str(MOON.investigation_id), "claim_ids": [str(MOON.claim(0)[0])]}
    again = {"links": ["https://glass.example/other"]}
    assert [(await appeal(published, **each))[0] for each in (again, elsewhere)] == [201, 201]


@pytest.mark.requirement("TR-37")
async def test_what_was_dismissed_is_taken_again_only_with_a_page_that_nothing_named(published: Published) -> None:
    """TR-37: Appeals are few, short and name what they are about, and authors come first"""
    missed = {"kind": "FALSE_NEGATIVE", "claim_ids": []}
    _, answer = await appeal(published)
    await published.tell()
    decided = await decide(published, answer["appeal_id"], "DISMISSED")
    for links in ([], SAID["links"]):
        status, refused = await appeal(published, links=links)
        assert (status, "no appeal has named yet" in refused["message"]) == (400, True)
    status, answer = await appeal(published, **missed)
    assert status == 201, "it is about something else"
    await published.tell()
    await decide(published, answer["appeal_id"], "DISMISSED", decided)
    assert (await appeal(published, **missed))[0] == 400
    assert (await appeal(published, links=[*SAID["links"], "https://glass.example/more"]))[0] == 201


async def test_appeals_count_for_their_own_network_and_for_a_day(published: Published) -> None:
    await appeal(published)
    await published.tell()
    (event,) = await opened(published)
    database = Database(published.url, role="reader")
    now = datetime.now(UTC)
    async with PublicRecord(database).open() as session:
        for network, since, counted in (
            (event.range_key, now - DAY, 1),
            (event.range_key, now, 0),
            (uuid4().hex, now - DAY, 0),
        ):
            target = await session.appeals.target(MOON.investigation_id, (), network, since)
            assert target is not None
            assert (len(target.recent), target.is_open) == (counted, False)
    await database.close()


async def test_an_appeal_that_an_outage_refuses_can_be_sent_again(
    published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> Never:
        raise Unavailable("broker: timeout")

    with monkeypatch.context() as outage:
        outage.setattr(BusFacts, "publish_once", fail)
        assert [(await appeal(published))[0] for _ in range(4)] == [503] * 4
    assert (await appeal(published))[0] == 201


@pytest.mark.requirement("TR-37")
async def test_what_is_no_appeal_is_refused(published: Published) -> None:
    """TR-37: Appeals are few, short and name what they are about, and authors come first"""
    wrong: list[tuple[dict[str, object], int]] = [
        ({"text": "x" * 4_001}, 400),
        ({"text": " \n "}, 400),
        ({"text": "a\0b"}, 400),
        ({"links": ["https://a.example/"] * 6}, 400),
        ({"links": ["ftp://a.example/"]}, 400),
        ({"links": ["javascript:alert(1)"]}, 400),
        ({"links": ["https://a:b@a.example/"]}, 400),
        ({"kind": "OTHER"}, 400),
        ({"claim_ids": []}, 400),
        ({"claim_ids": [str(MOON.claim(0)[0])]}, 400),
        ({"author_proof": "at://did:plc:x"}, 400),
        ({"investigation_id": str(uuid4())}, 404),
    ]
    for changed, status in wrong:
        given, answer = await appeal(published, **changed)
        assert (given, list(answer), await opened(published)) == (status, ["message"], []), changed


async def test_the_words_are_erased_with_the_post(published: Published) -> None:
    _, answer = await appeal(published)
    await published.tell()
    await published.tell(ErasureOrdered(erasure_id=uuid4(), post_id=ARTICLE.post_id, reason="asked for"))
    assert (await everything(published.url))["appeal"] == []
    assert (await published.running.http.get(answer["page"])).status_code == 404


async def test_an_operator_upholds_an_appeal_and_the_findings_fall(
    published: Published, nats_url: str, tmp_path: Path
) -> None:
    run = commands(published, nats_url, tmp_path)
    _, answer = await appeal(published)
    await published.tell()
    id_ = answer["appeal_id"]
    assert id_ in (await run("list"))[1]
    assert WORDS in (await run("show", id_))[1]
    note = ("--note", "The source is of another year.")
    code, said = await run("decide", id_, "PARTLY", *note)
    assert (code, "--claim" in said) == (1, True)
    code, said = await run("decide", id_, "UPHELD", *note)
    assert (code, said.splitlines()[0]) == (0, f"retracted  {CLAIM}")
    (changed,) = (fact.event for fact in await read_history(published.running.host.bus, str(CLAIM)))
    assert isinstance(changed, FindingChanged)
    assert (changed.state, changed.cause) == ("RETRACTED", "APPEAL")
    await published.tell()
    assert "Upheld" in await published.page(answer["page"])
    assert "retracted after an appeal" in await published.page("/retractions")
    code, said = await run("decide", id_, "DISMISSED", *note)
    assert (code, "decided already" in said) == (1, True)


@pytest.mark.requirement("TR-53")
async def test_appeals_are_counted_by_what_found_the_result_and_by_outcome(published: Published) -> None:
    """TR-53: Appeals are counted in public by what found the result, and by their outcome"""
    demo = Article("en:778", "Honey is a metal.", Finding("Honey is a metal.", "It is not."), model=DEMO)
    await published.tell(*run_of(demo))
    bus = published.running.host.bus
    outcomes: tuple[tuple[Article, tuple[AppealOutcome | None, ...]], ...] = (
        (ARTICLE, ("UPHELD", "PARTLY", "DISMISSED", "DISMISSED", None)),
        (demo, ("REFUSED", None)),
    )
    for article, decisions in outcomes:
        opened_at = decided_at = 0
        for nth, outcome in enumerate(decisions):
            id_ = uuid4()
            event = article.appealed().model_copy(update={"follows": opened_at, "appeal_id": id_})
            opened_at = (await bus.publish(event, correlation=uuid4())).sequence
            if nth == 0:
                await published.tell(article.proven().model_copy(update={"appeal_id": id_}))
            if outcome is not None:
                end = article.decided().model_copy(update={"follows": decided_at, "appeal_id": id_, "outcome": outcome})
                decided_at = (await bus.publish(end, correlation=uuid4())).sequence
    await published.tell()
    counted = json.loads(await published.page("/accuracy.json"))["appeals"]
    names = ("opened", "by_authors", "upheld", "partly", "dismissed", "refused")
    assert [counted[name] for name in names] == [7, 2, 1, 1, 2, 1]
    assert [(each["provider"], [each[name] for name in names]) for each in counted["variants"]] == [
        ("openai", [5, 1, 1, 1, 2, 0]),
        ("demo", [2, 1, 0, 0, 0, 1]),
    ]
    page = await published.page("/accuracy")
    assert "7 appeals, 2 by proven authors of the post or contributors to it: 1 upheld" in page
    assert "".join(f'<td class="n">{number}</td>' for number in (5, 1, 1, 1, 2, 0)) in page


@pytest.mark.requirement("TR-35", "TR-37", "TR-38")
async def test_an_appeal_leads_to_one_run_and_each_page_links_the_other(
    published: Published, nats_url: str, tmp_path: Path
) -> None:
    """TR-35: An appeal leaves the original unchanged, and there is one open at a time
    TR-37: Appeals are few, short and name what they are about, and authors come first
    TR-38: Appeals that lie get nothing wrong published, and take nothing back by themselves
    """
    run = commands(published, nats_url, tmp_path)
    before = await published.page(f"{page_of(ARTICLE)}.json")
    _, answer = await appeal(published)
    await published.tell()
    id_ = UUID(answer["appeal_id"])
    again = ARTICLE.checked_again("APPEAL", id_)
    asked = await asyncio.gather(*(run("investigate", str(id_)) for _ in range(2)))
    assert sorted(code for code, _ in asked) == [0, 1]
    assert (0, f"requested  {again.investigation_id}") in asked
    assert any("requested already" in said for _, said in asked)
    bus = published.running.host.bus
    (request,) = (fact.event for fact in await read_history(bus, str(again.investigation_id)))
    assert isinstance(request, InvestigationRequested)
    assert request.objection is not None
    assert (request.objection.text, request.objection.findings) == (WORDS, (QUOTE,))
    await published.tell()
    assert "another investigation" not in await published.page(page_of(ARTICLE))
    await published.tell(again.started(), again.drafted(0), again.completed())
    assert await published.page(f"{page_of(ARTICLE)}.json") == before
    assert f'href="/investigations/{again.investigation_id}"' in await published.page(answer["page"])
    original, other = await published.page(page_of(ARTICLE)), await published.page(page_of(again))
    assert (
        f'<a href="/appeals/{id_}">An appeal</a> led to <a href="/investigations/{again.investigation_id}">' in original
    )
    assert f'<a href="/appeals/{id_}">an appeal</a> against <a href="{page_of(ARTICLE)}">an earlier result' in other
    assert not [page for page in (original, other, await published.page(answer["page"])) if "Zora" in page]
    code, _ = await run("decide", str(id_), "DISMISSED", "--note", "The new investigation found the same.")
    assert code == 0
    await published.tell()
    code, said = await run("investigate", str(id_))
    assert (code, "decided already" in said) == (1, True)


@pytest.mark.requirement("TR-37")
async def test_appeals_lead_to_a_tenth_of_the_selectors_runs_a_day(
    published: Published, nats_url: str, tmp_path: Path
) -> None:
    """TR-37: Appeals are few, short and name what they are about, and authors come first"""
    few, more = (commands(published, nats_url, tmp_path, runs) for runs in (19, 20))
    _, first = await appeal(published)
    missed = {"kind": "FALSE_NEGATIVE", "claim_ids": []}
    _, second = await appeal(published, investigation_id=str(MOON.investigation_id), **missed)
    await published.tell()
    assert (await few("investigate", first["appeal_id"]))[0] == 0
    await published.tell()
    code, said = await few("investigate", second["appeal_id"])
    assert (code, "had their runs of this UTC day, 1;" in said) == (1, True)
    run = MOON.checked_again("APPEAL", UUID(second["appeal_id"])).investigation_id
    assert not await read_history(published.running.host.bus, str(run))
    assert "requested already" in (await few("investigate", first["appeal_id"]))[1]
    assert (await more("investigate", second["appeal_id"]))[0] == 0


@pytest.mark.requirement("TR-37")
async def test_the_form_on_the_page_takes_an_appeal_without_scripts(published: Published) -> None:
    """TR-37: Appeals are few, short and name what they are about, and authors come first"""
    http = published.running.http
    page = await published.page(page_of(ARTICLE))
    assert '<form class="object" action="/v1/appeals" method="post">' in page
    assert f'<input type="checkbox" name="claim_ids" value="{CLAIM}">' in page
    form = {
        "investigation_id": str(ARTICLE.investigation_id),
        "kind": "FALSE_POSITIVE",
        "claim_ids": [str(CLAIM)],
        "text": f"{WORDS}\r\nSee there.",
        "links": "https://glass.example/made\r\nhttps://glass.example/more\r\n",
    }
    elsewhere = await http.post("/v1/appeals", data=form, headers={"sec-fetch-site": "cross-site"})
    empty = await http.post("/v1/appeals", data=form | {"claim_ids": []})
    broken = await http.post("/v1/appeals", data={}, headers={"content-type": "application/x-www-form-urlencoded"})
    assert (elsewhere.status_code, empty.status_code, broken.status_code) == (403, 400, 400)
    assert await opened(published) == []
    sent = await http.post("/v1/appeals", data=form, headers={"sec-fetch-site": "same-origin"})
    assert sent.status_code == 303
    (event,) = await opened(published)
    assert (event.text, len(event.links)) == (f"{WORDS}\nSee there.", 2)
    await published.tell()
    assert "Open." in await published.page(sent.headers["location"])
    again = await http.post("/v1/appeals", data=form)
    assert (again.status_code, again.text) == (409, "An appeal against this investigation is open already.\n")


@pytest.mark.parametrize(
    ("link", "sent"),
    [
        ("https://de.wikipedia.org/wiki/Übung", "https://de.wikipedia.org/wiki/%C3%9Cbung"),
        ("https://bücher.example/ä?ö=ü#ß", "https://xn--bcher-kva.example/%C3%A4?%C3%B6=%C3%BC#%C3%9F"),
    ],
)
async def test_a_link_may_be_written_as_browsers_show_it(published: Published, link: str, sent: str) -> None:
    assert (await appeal(published, links=[link]))[0] == 201
    assert [event.links for event in await opened(published)] == [(sent,)]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"links": "glass.example/made"},
            "links.0: must be the whole address of a page, such as https://example.org/page",
        ),
        ({"claim_ids": []}, "body: claim_ids must name the findings that the appeal is about"),
    ],
)
async def test_a_form_that_is_refused_is_answered_with_a_sentence(
    published: Published, changed: dict[str, object], sentence: str
) -> None:
    response = await published.running.http.post("/v1/appeals", data=SAID | changed)
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert (response.status_code, response.text) == (400, f"{sentence}\n")
