"""Authors prove an appeal to be theirs over real servers, and theirs come before readers'."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest

from contracts.topology import VERIFIER_APPEAL_PROOF_OFFERED
from contracts.v1 import AppealProofChecked, AppealProofOffered, ErasureOrdered
from contracts.v1.appeal import make_proof_token
from contracts.v1.pages import CanonicalPage, Observation
from kit.clock import SystemClock
from kit.history import read_history
from kit.host import Host
from services.projector.rebuild.rebuild import rebuild
from services.projector.rebuild.shadow import shadow
from services.verifier.domain import Unavailable
from services.verifier.handlers import AuthorProofs
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, owner
from tests.integration.test_appeals import commands
from tests.support.gateway import believing, migrated, serving
from tests.support.public_record import MOON, Article, Finding
from tests.support.published_finding import Published, run_of
from tests.support.servers import Prepare
from tests.support.site_client import page_of
from tests.support.system import until
from tests.unit.projector.histories import inline, uid

pytest_plugins = ["tests.support.servers"]

POST: Final = Article(
    "aB3dE5fG7hJ9kL1mN",
    "Old panes are thicker below. Glass flows like honey. So they say.",
    Finding("Glass flows like honey.", "Glass is a solid."),
    platform="LESSWRONG",
    title="Old panes",
    author="ada",
    url="https://www.lesswrong.com/posts/aB3dE5fG7hJ9kL1mN/panes",
)
TWEET: Final = Article(
    "77", "Glass flows like honey.", Finding("Glass flows like honey.", "It is a solid."), platform="X", author="ada"
)
PAGE: Final = "https://www.lesswrong.com/posts/zY8xW7/a-note"
WORDS: Final = "I wrote so of pitch."
STATEMENTS: Final = """query ($id: ID!) { publicInvestigation(investigationId: $id) {
    authorStatements { claimId appealId text statedAt } } }"""
SAID: Final = {
    "investigation_id": str(POST.investigation_id),
    "kind": "FALSE_POSITIVE",
    "claim_ids": [str(POST.claim(0)[0])],
    "text": WORDS,
    "by_author": True,
}


HEARSAY: Final = Article(
    "en:78", "Glass flows like honey.", Finding("Glass flows like honey.", "It is a solid."), verified=False
)


def named(article: Article) -> dict[str, object]:
    """What an appeal against this article's first finding names."""
    return {"investigation_id": str(article.investigation_id), "claim_ids": [str(article.claim(0)[0])]}


@dataclass
class Site:
    """What LessWrong and Wikipedia show: who a page is by, and its text, by the page's id."""

    pages: dict[str, tuple[str, str]] = field(default_factory=dict)

    async def page(self, observation: Observation, delivery_count: int) -> CanonicalPage | Unavailable:
        shown = self.pages.get(observation.post.external_id)
        if shown is None:
            return Unavailable("not_found", "no such post")
        return CanonicalPage(
            post=observation.post,
            source_url="https://www.lesswrong.com/graphql",
            html=inline(f"<p>{shown[1]}</p>"),
            fetched_at=SystemClock().now(),
            metadata={"author_slug": shown[0], "author_name": "Ada", "contributed_to": shown[0]},
            text=inline(shown[1]),
        )


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
async def published(nats_url: str, database_url: str, site: Site) -> AsyncIterator[Published]:
    async def behind(host: Host) -> None:
        await believing(host)
        proofs = AuthorProofs(site, host.blobs, host.clock)
        host.delivery.subscribe(VERIFIER_APPEAL_PROOF_OFFERED, proofs.on_appeal_proof_offered)

    async with serving(nats_url, database_url, behind) as running:
        found = Published(running, database_url)
        await found.tell(*run_of(MOON), *run_of(POST), *run_of(TWEET), *run_of(HEARSAY))
        yield found


async def appeal(published: Published, **changed: object) -> dict[str, Any]:
    """Send an appeal; its answer."""
    response = await published.running.http.post("/v1/appeals", json=SAID | changed)
    assert response.status_code == 201, response.text
    await published.tell()
    answer: dict[str, Any] = response.json()
    return answer


async def offer(published: Published, appeal_id: str, url: str = PAGE) -> tuple[int, str]:
    """Name a page as proof; the status, and why it is refused."""
    response = await published.running.http.post(f"/v1/appeals/{appeal_id}/proof", json={"url": url})
    return response.status_code, response.json().get("message", "")


async def checked(published: Published, number: int, article: Article = POST) -> list[str]:
    """The outcomes once so many pages were looked at, and the tables hold them."""
    outcomes: list[str] = []

    async def reached() -> bool:
        facts = await read_history(published.running.host.bus, str(article.investigation_id))
        outcomes[:] = [fact.event.outcome for fact in facts if isinstance(fact.event, AppealProofChecked)]
        return len(outcomes) >= number

    await until(reached, "the pages were looked at")
    await published.tell()
    return outcomes


async def prove(published: Published, site: Site, answer: dict[str, Any], number: int = 1) -> None:
    """Publish the token of an appeal as its author, and have it looked at."""
    site.pages["zY8xW7"] = ("u-ada", answer["token"])
    assert (await offer(published, answer["appeal_id"]))[0] == 202
    assert (await checked(published, number))[-1] == "PROVEN"


async def stated(published: Published) -> list[tuple[str, str]]:
    """What the author says, in the JSON document; GraphQL and the page say the same."""
    document = json.loads(await published.page(f"{page_of(POST)}.json"))["authorStatements"]
    asked = await published.running.http.post(
        "/graphql", json={"query": STATEMENTS, "variables": {"id": str(POST.investigation_id)}}
    )
    assert asked.json()["data"]["publicInvestigation"]["authorStatements"] == document
    page = await published.page(page_of(POST))
    assert page.count("<h4>The author says</h4>") == len(document)
    assert [each["text"] for each in document if each["text"] not in page] == []
    return [(each["claimId"], each["text"]) for each in document]


@pytest.mark.requirement("TR-52")
async def test_what_a_proven_author_states_stands_beside_the_finding(
    published: Published, site: Site, nats_url: str, tmp_path: Path
) -> None:
    """TR-52: A proven author’s statement stands beside the finding, in public"""
    run, claim = commands(published, nats_url, tmp_path), str(POST.claim(0)[0])
    first = await appeal(published, statement="I meant pitch.")
    assert await stated(published) == []
    assert "I meant pitch." not in await published.page(first["page"])
    await prove(published, site, first)
    assert await stated(published) == [(claim, "I meant pitch.")]
    assert WORDS not in await published.page(page_of(POST))
    assert (await run("decide", first["appeal_id"], "DISMISSED", "--note", "The post says glass."))[0] == 0
    await published.tell()
    assert await stated(published) == [(claim, "I meant pitch.")]

    newer = await appeal(published, statement="I meant <b>warm</b> glass.")
    assert "statement  I meant <b>warm</b> glass." in (await run("show", newer["appeal_id"]))[1]
    assert await stated(published) == [(claim, "I meant pitch.")]
    await prove(published, site, newer, 2)
    page = await published.page(page_of(POST))
    assert "I meant &lt;b&gt;warm&lt;/b&gt; glass." in page
    assert "I meant pitch." not in page
    assert (await run("decide", newer["appeal_id"], "REFUSED", "--note", "It says nothing about the result."))[0] == 0
    await published.tell()
    assert await stated(published) == [(claim, "I meant pitch.")]
    await published.tell(ErasureOrdered(erasure_id=uid("e"), post_id=POST.post_id, reason="asked for"))
    assert (await everything(published.url))["appeal"] == []
    assert (await published.running.http.get(page_of(POST))).status_code == 404


@pytest.mark.requirement("TR-52")
async def test_what_is_no_statement_is_refused(published: Published) -> None:
    """TR-52: A proven author’s statement stands beside the finding, in public"""
    wrong: list[dict[str, object]] = [
        {"statement": "x" * 501},
        {"statement": " "},
        {"statement": "a\0b"},
        {"statement": "I meant pitch.", "by_author": False},
        {"statement": "I meant pitch.", "claim_ids": [], "kind": "FALSE_NEGATIVE"},
    ]
    for changed in wrong:
        answer = await published.running.http.post("/v1/appeals", json=SAID | changed)
        assert answer.status_code == 400, changed


@pytest.mark.requirement("TR-36")
async def test_the_author_proves_an_appeal_to_be_theirs(published: Published, site: Site) -> None:
    """TR-36: Authors prove appeals to be theirs; forged, foreign and expired proofs are refused"""
    before = await published.page(f"{page_of(POST)}.json")
    assert 'name="by_author"' in await published.page(page_of(POST))
    answer = await appeal(published)
    id_, token = answer["appeal_id"], answer["token"]
    assert token == make_proof_token(UUID(id_))
    page = await published.page(answer["page"])
    assert token in page
    assert "A reader objected" in page

    assert (await offer(published, id_))[0] == 202
    assert await checked(published, 1) == ["UNAVAILABLE"]
    site.pages["zY8xW7"] = ("mallory", token)
    await offer(published, id_)
    assert await checked(published, 2) == ["UNAVAILABLE", "OTHER_AUTHOR"]
    assert "the page is by somebody else" in await published.page(answer["page"])
    site.pages["zY8xW7"] = ("u-ada", make_proof_token(uid("another appeal")))
    await offer(published, id_)
    assert (await checked(published, 3))[2] == "NO_TOKEN"
    assert "A reader objected" in await published.page(answer["page"])

    site.pages["zY8xW7"] = ("u-ada", f"For OpenErrata: {token}")
    form = await published.running.http.post(f"/v1/appeals/{id_}/proof", data={"url": PAGE})
    assert (form.status_code, form.headers["location"]) == (303, answer["page"])
    assert (await checked(published, 4))[3] == "PROVEN"
    page = await published.page(answer["page"])
    assert "The author of the post objected" in page
    assert token not in page
    status, why = await offer(published, id_)
    assert (status, "proven already" in why) == (409, True)
    late = AppealProofChecked(
        proof_id=uid("late"), appeal_id=UUID(id_), investigation_id=POST.investigation_id, outcome="NO_TOKEN"
    )
    await published.tell(late, late)
    assert "The author of the post objected" in await published.page(answer["page"])

    assert await published.page(f"{page_of(POST)}.json") == before
    tables = await everything(published.url)
    assert [(row["by_author"], row["proof"]) for row in tables["appeal"]] == [(True, "PROVEN")]
    assert await shadow(published.url, NoTexts(), analyses=ANALYSES) == []
    await rebuild(published.url, NoTexts(), analyses=ANALYSES)
    assert (await everything(published.url))["appeal"] == tables["appeal"]
    await published.tell(ErasureOrdered(erasure_id=uid("e"), post_id=POST.post_id, reason="asked for"))
    assert (await everything(published.url))["appeal"] == []


@pytest.mark.requirement("TR-36")
async def test_an_address_that_cannot_be_the_authors_is_refused_at_once(published: Published) -> None:
    """TR-36: Authors prove appeals to be theirs; forged, foreign and expired proofs are refused"""
    answer = await appeal(published)
    for url, why in (
        ("https://www.lesswrong.com/users/ada", "the author is"),
        ("https://evil.example/posts/zY8xW7", "not that of a LessWrong post"),
        ("http://www.lesswrong.com/posts/zY8xW7", "url: must begin with https://"),
        ("www.lesswrong.com/posts/zY8xW7", "url: must be the whole address of a page"),
        ("https://127.0.0.1/posts/zY8xW7", "not that of a LessWrong post"),
    ):
        status, message = await offer(published, answer["appeal_id"], url)
        assert (status, why in message) == (400, True), (url, message)
    facts = await read_history(published.running.host.bus, str(POST.investigation_id))
    assert not [fact for fact in facts if isinstance(fact.event, AppealProofOffered)]


@pytest.mark.requirement("TR-36")
async def test_a_token_expires_after_three_days(published: Published) -> None:
    """TR-36: Authors prove appeals to be theirs; forged, foreign and expired proofs are refused"""
    answer = await appeal(published)
    for hours, expected in ((71, 202), (73, 410)):
        async with await owner(published.url) as db:
            await db.execute("UPDATE appeal SET opened_at = now() - %s * interval '1 hour'", (hours,))
        status, message = await offer(published, answer["appeal_id"])
        assert (status, "expired" in message) == (expected, expected == 410)


@pytest.mark.requirement("TR-36")
async def test_who_cannot_be_proven_is_told_before_the_appeal_is_stored(published: Published) -> None:
    """TR-36: Authors prove appeals to be theirs; forged, foreign and expired proofs are refused"""
    http = published.running.http
    refused = await http.post("/v1/appeals", json=SAID | named(TWEET))
    assert (refused.status_code, "authors cannot prove" in refused.text) == (400, True)
    assert 'name="by_author"' not in await published.page(page_of(TWEET))
    unconfirmed = await http.post("/v1/appeals", json=SAID | named(HEARSAY))
    assert (unconfirmed.status_code, "has not said who wrote" in unconfirmed.text) == (400, True)
    assert 'name="by_author"' not in await published.page(page_of(HEARSAY))
    reader = await appeal(published, by_author=False)
    assert "token" not in reader
    assert (await offer(published, reader["appeal_id"]))[0] == 404
    assert (await offer(published, str(uid("none"))))[0] == 404
    assert (await http.post("/v1/appeals/none/proof", json={"url": PAGE})).status_code == 404
    assert (await http.get(f"/v1/appeals/{uid('none')}/proof")).status_code == 405


@pytest.mark.requirement("TR-36")
async def test_a_contributor_proves_an_appeal_and_is_never_called_the_author(
    published: Published, site: Site, nats_url: str, tmp_path: Path
) -> None:
    """TR-36: Authors prove appeals to be theirs; forged, foreign and expired proofs are refused"""
    run = commands(published, nats_url, tmp_path)
    form = await published.page(page_of(MOON))
    assert "I have contributed to this article" in form
    assert 'name="statement"' not in form
    public = SAID | named(MOON) | {"statement": "I meant pitch."}
    refused = await published.running.http.post("/v1/appeals", json=public)
    assert (refused.status_code, "by many" in refused.text) == (400, True)

    answer = await appeal(published, **named(MOON))
    assert "Prove that you are a contributor" in await published.page(answer["page"])
    edit, id_ = "https://en.wikipedia.org/wiki/Special:Diff/789", answer["appeal_id"]
    assert (await offer(published, id_))[0] == 400
    site.pages["en:9316@70/789"] = ("en:9316@69", answer["token"])
    assert (await offer(published, id_, edit))[0] == 202
    assert await checked(published, 1, MOON) == ["OTHER_AUTHOR"]
    assert "this edit had not edited the article" in await published.page(answer["page"])
    site.pages["en:9316@70/789"] = ("en:9316@70", answer["token"])
    assert (await offer(published, id_, edit))[0] == 202
    assert await checked(published, 2, MOON) == ["OTHER_AUTHOR", "PROVEN"]
    page = await published.page(answer["page"])
    assert "A contributor to the article objected" in page
    assert "author of the post" not in page
    assert "the author" not in page
    assert id_ + "  CONTRIBUTOR  " in (await run("list"))[1]
    assert "a contributor, proven" in (await run("show", id_))[1]


@pytest.mark.requirement("TR-37")
async def test_appeals_of_proven_authors_come_before_readers(
    published: Published, site: Site, nats_url: str, tmp_path: Path
) -> None:
    """TR-37: Appeals are few, short and name what they are about, and authors come first"""
    run = commands(published, nats_url, tmp_path, 19)
    missed = {"investigation_id": str(MOON.investigation_id), "kind": "FALSE_NEGATIVE", "claim_ids": []}
    reader = (await appeal(published, by_author=False, **missed))["appeal_id"]
    answer = await appeal(published)
    author = answer["appeal_id"]

    async def listed() -> list[str]:
        return [line.split()[2] for line in (await run("list"))[1].splitlines()]

    assert await listed() == [reader, author]
    await prove(published, site, answer)
    assert await listed() == [author, reader]
    assert "the author, proven" in (await run("show", author))[1]
    code, said = await run("investigate", reader)
    assert (code, "authors' appeals come first" in said) == (1, True)
    assert (await run("investigate", author))[0] == 0
    await published.tell()
    code, said = await run("investigate", reader)
    assert (code, "had their runs" in said) == (1, True)


@pytest.mark.requirement("TR-37")
async def test_a_reader_gets_what_waiting_authors_leave(
    published: Published, site: Site, nats_url: str, tmp_path: Path
) -> None:
    """TR-37: Appeals are few, short and name what they are about, and authors come first"""
    run = commands(published, nats_url, tmp_path, 20)
    missed = {"investigation_id": str(MOON.investigation_id), "kind": "FALSE_NEGATIVE", "claim_ids": []}
    reader = (await appeal(published, by_author=False, **missed))["appeal_id"]
    answer = await appeal(published)
    await prove(published, site, answer)
    assert (await run("investigate", reader))[0] == 0
