"""Readers meet sites that are well, ill and hostile: each is answered in time, and what went wrong is on record."""

from __future__ import annotations

import asyncio
import json
import resource
from collections.abc import AsyncIterator, Iterator
from time import monotonic
from typing import Any

import httpx
import pytest
import pytest_asyncio

from platforms.identity import content_hash, version_hash
from tests.e2e.site_pages import DEADLINE_S, WRONG, Make, World, lesswrong, numbers, substack, wikipedia
from tests.support.extension_client import Json, RpcFailed
from tests.support.oracle import oracle
from tests.support.sites import Fault, Sites
from tests.support.system import system, until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("sites")]

KEY = "oe_the-key-of-this-instance"
READERS = 1_000
SOCKETS = 8_192
NO_PICTURES = "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(soft, SOCKETS if hard == resource.RLIM_INFINITY else min(SOCKETS, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))  # for a socket of each reader, at both ends
    async with (
        Sites() as sites,
        system(
            tmp_path_factory.mktemp("sites"),
            OPENERRATA_VERIFIER_WIKIPEDIA_URL=f"{sites.url}/w/api.php",
            OPENERRATA_VERIFIER_LESSWRONG_URL=f"{sites.url}/graphql",
            OPENERRATA_VERIFIER_SUBSTACK_URL=sites.url,
            OPENERRATA_VERIFIER_CONTACT_URL="https://contact.example/",
            OPENERRATA_VERIFIER_TIMEOUT_S="2",
            OPENERRATA_VERIFIER_DEADLINE_S=str(DEADLINE_S),
            OPENERRATA_VERIFIER_RETRY_BASE_S="0.01",
            OPENERRATA_VERIFIER_MAX_BYTES="1000000",
            OPENERRATA_VERIFIER_FAILURE_TTL_S="0",
            OPENERRATA_VERIFIER_REFUSAL_TTL_S="0",
            OPENERRATA_VERIFIER_BREAKER_FAILURES="1000000",  # one host is all sites here
            OPENERRATA_GATEWAY_HEADER_TIMEOUT_S="60",  # a thousand readers connect here, and send later
            OPENERRATA_SELECTOR_RUNS_PER_DAY="0",
        ) as running,
    ):
        process = await running.up()
        added = await running.run("keys", "add", "tests", "--key", KEY)
        assert added.code == 0, added.err
        async with oracle(running.database_url, running.nats_url) as looking:
            yield World(running, process, sites, looking)


@pytest.fixture
def sites(world: World) -> Iterator[Sites]:
    """The sites of this test; they are well again afterwards."""
    world.sites.retry_after = "0"
    yield world.sites
    world.sites.heal()


every_site = pytest.mark.parametrize("make", [wikipedia, lesswrong, substack])


@every_site
@pytest.mark.requirement("2.9-01", "2.9-02", "2.9-03", "2.13-03")
async def test_a_site_that_is_well_confirms_what_was_seen(world: World, sites: Sites, make: Make) -> None:
    """2.9-01: LessWrong server verification.
    2.9-02: Wikipedia verification pinned to revision.
    2.9-03: Substack verification.
    2.13-03: Server verification preferred.
    """
    page = make(sites)
    version = await world.answered(page.observation)
    assert version["provenance"] == "SERVER_VERIFIED"
    assert version["externalId"] == page.external_id
    assert version["versionHash"] == version_hash(content_hash(page.text), NO_PICTURES)
    assert await world.failure(version) == ("", "")
    assert "+https://contact.example/" in sites.requests[-1].headers["user-agent"]


FAULTS: dict[Fault, set[str]] = {
    "slow": {"timeout"},
    "stalled_body": {"timeout"},
    "rate_limited": {"rate_limited"},
    "server_error": {"server_error"},
    "not_found": {"unexpected_status"},
    "huge": {"too_large"},
    "gzip_bomb": {"too_large"},
    "redirect_private": {"blocked_address"},
    "redirect_loop": {"too_many_redirects"},
    "invalid_json": {"bad_answer"},
    "truncated_gzip": {"bad_encoding"},
    "truncated": {"bad_response"},
    "reset": {"connection_failed", "bad_response"},
    "drips": {"timeout"},
    "endless_headers": {"bad_response"},
    "interim_flood": {"timeout"},
    "no_http": {"bad_response"},
    "bad_chunks": {"bad_response"},
    "two_lengths": {"bad_response"},
    "unknown_encoding": {"bad_encoding"},
    "deep_json": {"bad_answer"},
    "wrong_types": {"bad_answer"},
    "no_utf8": {"bad_answer"},
    "redirect_file": {"bad_scheme"},
}
CASES = [
    pytest.param(make, fault, id=f"{make.__name__}-{fault}")
    for make in (wikipedia, lesswrong, substack)
    for fault in FAULTS
    if make is not substack or fault != "not_found"
]


@pytest.mark.parametrize(("make", "fault"), CASES)
@pytest.mark.requirement("2.9-06", "2.9-14", "2.13-05")
async def test_a_fault_is_answered_with_what_the_reader_saw_and_recorded(
    world: World, sites: Sites, make: Make, fault: Fault
) -> None:
    """2.9-06: Degraded path on fetch failure.
    2.9-14: Fetch failure reason kept for audit.
    2.13-05: SSRF-safe image fetch.
    """
    page = make(sites)
    sites.fail(fault)
    version = await world.answered(page.observation)
    assert version["provenance"] == "CLIENT_FALLBACK"
    assert version["externalId"] == page.external_id
    assert version["versionHash"] == version_hash(content_hash(page.text), NO_PICTURES)

    reason, detail = await world.failure(version)
    assert reason in FAULTS[fault]
    assert detail, "an operator reads a sentence, not only a code"
    assert await world.metric(f'openerrata_canonical_lookups_total{{outcome="{reason}",site="{page.site}"}}') >= 1
    assert "/private" not in {seen.path for seen in sites.requests}

    sites.heal()
    again = await world.answered(page.seen_anew())
    assert (again["provenance"], again["postVersionId"]) == ("SERVER_VERIFIED", version["postVersionId"])


DENIALS: list[tuple[Make, Fault | None]] = [
    (wikipedia, None),
    (wikipedia, "wrong_revision"),
    (lesswrong, None),
    (substack, None),
    (substack, "not_found"),
]


@pytest.mark.parametrize(("make", "fault"), DENIALS)
@pytest.mark.requirement("2.9-14")
async def test_a_page_that_its_site_denies_is_refused_until_the_site_shows_it(
    world: World, sites: Sites, make: Make, fault: Fault | None
) -> None:
    """2.9-14: Fetch failure reason kept for audit."""
    page = make(sites)
    served: tuple[dict[str, Any], ...] = sites.wikipedia, sites.lesswrong, sites.substack
    shown = [dict(pages) for pages in served]
    if fault is None:
        for pages in served:
            pages.clear()
    else:
        sites.fail(fault)
    for _ in range(2):
        with pytest.raises(RpcFailed) as refused:
            await world.answered(page.observation)
        assert refused.value.status == 400
        assert "does not show this page" in str(refused.value)
    assert await world.versions(page.external_id) == 0
    sites.heal()
    for pages, given in zip(served, shown, strict=True):
        pages.update(given)
    assert (await world.answered(page.seen_anew()))["provenance"] == "SERVER_VERIFIED"
    assert await world.versions(page.external_id) == 1


@pytest.mark.requirement("2.9-04")
async def test_an_article_is_called_what_its_site_calls_it(world: World, sites: Sites) -> None:
    """2.9-04: Identity correction by server pageId."""
    page = wikipedia(sites)
    named = {**page.observation["metadata"], "displayTitle": "What a stranger calls it"}
    version = await world.answered({**page.observation, "metadata": named})
    title = await world.oracle.value(
        "SELECT title FROM readmodel.version_heading WHERE post_version_id = %s", version["postVersionId"]
    )
    assert title == "A walk"


@every_site
@pytest.mark.requirement("2.9-04", "2.9-05")
async def test_the_site_decides_whose_page_it_is(world: World, sites: Sites, make: Make) -> None:
    """2.9-04: Identity correction by server pageId.
    2.9-05: Anomaly recorded on mismatch.
    """
    page = make(sites)
    sites.fail("other_page")
    version = await world.answered(page.observation)
    assert version["provenance"] == "SERVER_VERIFIED"
    assert version["externalId"] != page.external_id
    assert await world.anomaly("identity", version["externalId"]) == (page.external_id, version["externalId"])
    assert await world.versions(page.external_id) == 0


@every_site
@pytest.mark.requirement("2.9-05", "2.13-03", "2.13-04")
async def test_the_site_decides_what_its_page_says(world: World, sites: Sites, make: Make) -> None:
    """2.9-05: Anomaly recorded on mismatch.
    2.13-03: Server verification preferred.
    2.13-04: A made-up text is another version.
    """
    page = make(sites)
    forged = "Nobody ever wrote this."
    seen = {**page.observation, "observedContentText": forged}
    if page.site == "LESSWRONG":
        seen = {**page.observation, "metadata": {**page.observation["metadata"], "htmlContent": f"<p>{forged}</p>"}}
    version = await world.answered(seen)
    honest = await world.answered(page.observation)
    assert version["provenance"] == "SERVER_VERIFIED"
    assert version == honest
    assert await world.anomaly("content", page.external_id) == (content_hash(forged), content_hash(page.text))
    assert await world.versions(page.external_id) == 1


@pytest.mark.requirement("2.9-06")
async def test_a_site_is_asked_again_when_it_said_it_would_be_ready(world: World, sites: Sites) -> None:
    """2.9-06: Degraded path on fetch failure."""
    page, before = wikipedia(sites), len(sites.requests)
    sites.fail("rate_limited", times=2)
    version = await world.answered(page.observation)
    assert version["provenance"] == "SERVER_VERIFIED"
    assert len(sites.requests) - before == 3


@pytest.mark.requirement("2.9-06", "2.9-14")
async def test_a_site_that_asks_for_a_pause_is_left_alone(world: World, sites: Sites) -> None:
    """2.9-06: Degraded path on fetch failure.
    2.9-14: Fetch failure reason kept for audit.
    """
    sites.retry_after = "8"
    sites.fail("rate_limited")
    began = monotonic()
    first = await world.answered(wikipedia(sites).observation)
    asked = len(sites.requests)
    second = await world.answered(wikipedia(sites).observation)
    assert [first["provenance"], second["provenance"]] == ["CLIENT_FALLBACK"] * 2
    assert (await world.failure(first))[0] == "rate_limited"
    assert (await world.failure(second))[0] == "site_unavailable"
    assert len(sites.requests) == asked, "nobody is asked during the pause"
    sites.heal()

    async def confirmed() -> bool:
        version = await world.answered(wikipedia(sites).observation)
        return bool(version["provenance"] == "SERVER_VERIFIED")

    await until(confirmed, "the site is asked again")
    assert monotonic() - began > 8


@pytest.mark.requirement("2.1-11", "3.5-03")
async def test_a_thousand_readers_of_a_new_page_are_one_request_and_one_version(world: World, sites: Sites) -> None:
    """2.1-11: No limit on the rate of ordinary requests.
    3.5-03: Registrations at once make one version.
    """
    page = wikipedia(sites)
    text, revision = page.observation["observedContentText"], page.observation["metadata"]["revisionId"]
    seen = [{**page.observation, "observedContentText": text + " " * number} for number in range(READERS)]

    async def register_all() -> list[Json]:
        async with world.reader() as readers:
            await readers.http.aclose()
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
            readers.http = httpx.AsyncClient(base_url=world.system.url, timeout=60, limits=limits, trust_env=False)
            return await asyncio.gather(*map(readers.register, seen))

    # This loop serves the site; a thousand readers in it would delay its answer until the verifier asks again.
    answers = await asyncio.to_thread(asyncio.run, register_all())
    (version,) = {tuple(sorted(answer.items())) for answer in answers}
    assert dict(version)["provenance"] == "SERVER_VERIFIED"
    assert [seen.query.get("oldid") for seen in sites.requests].count(revision) == 1
    assert await world.versions(page.external_id) == 1
    id_ = dict(version)["postVersionId"]
    sightings = await world.oracle.facts(f"errata.v1.version.%.{id_}")
    assert len({fact.envelope["event"]["sighting"]["observation_id"] for fact in sightings}) == READERS


async def origin(world: World, run: str) -> Json:
    """Where the text of a published investigation came from."""
    async with world.reader() as reader:
        body: Any = (await reader.http.get(f"/investigations/{run}.json")).json()
    found: Json = body["investigation"]["origin"]
    return found


@pytest.mark.requirement("2.9-06", "2.9-07", "2.9-09", "2.9-10")
async def test_a_later_success_is_remembered_and_rewrites_no_investigation(world: World, sites: Sites) -> None:
    """2.9-06: Degraded path on fetch failure.
    2.9-07: Provenance stored immutable per investigation.
    2.9-09: Verification is recorded once and stays.
    2.9-10: Every finished result is public, whoever vouches for its text.
    """
    page = wikipedia(sites)
    sites.fail("server_error")
    async with world.reader(api_key=KEY) as member:
        version, run, result = await member.investigated(page.observation)
        assert result["provenance"] == "CLIENT_FALLBACK"
        assert [claim["text"] for claim in result["claims"]] == [WRONG]
        first = await origin(world, run)
        assert (first["provenance"], first["serverVerifiedAt"]) == ("CLIENT_FALLBACK", None)

        sites.heal()
        again = await member.register(page.seen_anew())
        assert (again["provenance"], again["postVersionId"]) == ("SERVER_VERIFIED", version["postVersionId"])
        latched = await origin(world, run)
        assert latched["provenance"] == "CLIENT_FALLBACK"
        assert latched["serverVerifiedAt"] is not None

        sites.fail("server_error")
        once_more = await member.register(page.seen_anew())
        assert once_more["provenance"] == "SERVER_VERIFIED", "what the site has said once it has said"
        assert await origin(world, run) == latched
        assert (await member.look(run))["provenance"] == "CLIENT_FALLBACK"


@pytest.mark.requirement("3.9-10", "3.9-11", "3.9-12", "3.9-13")
async def test_an_article_on_a_mobile_host_in_another_language(world: World, sites: Sites) -> None:
    """3.9-10: Wikipedia excluded sections.
    3.9-11: Wikipedia no author.
    3.9-12: Wikipedia mobile host accepted.
    3.9-13: Sections are left out in other languages too.
    """
    html = (
        "<div class='mw-parser-output' lang='de'><p>Text.</p>"
        "<div class='mw-heading'><h2>Siehe auch</h2></div><p>Mehr.</p>"
        "<div class='mw-heading'><h2>Einzelnachweise</h2></div><ol class='references'><li>x</li></ol><p>y</p></div>"
    )
    page = wikipedia(sites, html, language="de", host="m.wikipedia.org")
    assert page.text == "Text. Siehe auch Mehr."
    version = await world.answered(page.observation)
    assert (version["provenance"], version["externalId"]) == ("SERVER_VERIFIED", page.external_id)
    author = await world.oracle.value(
        "SELECT coalesce(author_id::text, 'none') FROM readmodel.post WHERE external_id = %s", page.external_id
    )
    assert author == "none"


@pytest.mark.requirement("3.9-09")
@pytest.mark.parametrize("title", ["Talk:A_walk", "User:A", "Special:Random"])
async def test_pages_about_pages_are_no_articles(world: World, sites: Sites, title: str) -> None:
    """3.9-09: Wikipedia namespace filter."""
    page = wikipedia(sites)
    metadata = {**page.observation["metadata"], "title": title}
    seen = {**page.observation, "url": f"https://en.wikipedia.org/wiki/{title}", "metadata": metadata}
    with pytest.raises(RpcFailed) as refused:
        await world.answered(seen)
    assert refused.value.status == 400


@pytest.mark.requirement("2.13-04", "3.9-03")
async def test_what_only_a_reader_vouches_for_is_a_version_of_its_own(world: World, sites: Sites) -> None:
    """2.13-04: A made-up text is another version.
    3.9-03: X main tweet only.
    """
    number = str(1_700_000_000_000_000_000 + next(numbers))
    versions = []
    for text in ("What was posted.", "What was not posted."):
        seen: dict[str, Any] = {
            "platform": "X",
            "externalId": number,
            "url": f"https://x.com/walker/status/{number}",
            "observedContentText": text,
            "metadata": {"authorHandle": "walker", "text": text, "mediaUrls": []},
        }
        versions.append(await world.answered(seen))
    assert {version["provenance"] for version in versions} == {"CLIENT_FALLBACK"}
    assert len({version["postVersionId"] for version in versions}) == 2
    assert await world.failure(versions[0]) == ("", ""), "nobody was asked, so nothing failed"


@pytest.mark.requirement("2.13-01", "2.13-02")
async def test_a_signature_is_counted_and_decides_nothing(world: World, sites: Sites) -> None:
    """2.13-01: Attestation accepted, never required.
    2.13-02: Attestation used as telemetry.
    """
    page, answers = wikipedia(sites), []
    for counted, given in (("invalid", "0" * 64), ("absent", ""), ("valid", None)):
        series = f'openerrata_gateway_attested_total{{signature="{counted}"}}'
        before = await world.metric(series)
        async with world.reader() as reader:
            forged = {} if given is None else {"x-openerrata-signature": given}
            answers.append(await reader.send("post.registerObservedVersion", json.dumps(page.seen_anew()), **forged))
        assert await world.metric(series) == before + 1
    assert answers == [answers[0]] * 3
