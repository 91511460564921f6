"""A reader opens a page: seen, checked with its site, investigated, validated, published."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from contracts.v1.ids import claim_id, investigation_id
from platforms.identity import content_hash, version_hash
from tests.e2e.conftest import World
from tests.e2e.posts import BATS, BRAIN, FIVE, GOLDFISH, WALL, on_lesswrong, on_substack, on_wikipedia, on_x
from tests.support.extension_client import RpcFailed, keys
from tests.support.recorded import recorded
from tests.support.sites import WikiPage

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("e2e")]

OF_FINDINGS = ("withdrawnClaims", "authorStatements", "audit", "sourceChecks", "decisions")
NO_OCCURRENCES = "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"


async def published(world: World, run: str) -> dict[str, Any]:
    """The public page of a finished investigation."""
    async with world.reader() as reader:
        response = await reader.http.get(f"/investigations/{run}.json")
    assert response.status_code == 200
    body: dict[str, Any] = response.json()
    keys(body, "investigation", "post", "claims", *OF_FINDINGS)
    return body


@pytest.mark.requirement("2.6-01", "2.6-07", "2.6-13", "2.6-18", "2.8-05", "2.9-02", "2.12-01", "3.3-01", "3.3-03")
async def test_an_article_is_verified_investigated_and_published(world: World) -> None:
    """2.6-01: A page load registers the version, then records the view.
    2.6-07: A view of a finished version returns its claims.
    2.6-13: A finished result is returned at once.
    2.6-18: The extension polls until the run ends.
    2.8-05: The version hash follows its formula.
    2.9-02: Wikipedia verification pinned to revision.
    2.12-01: Input text and contentHash persisted.
    3.3-01: The answer to a registration has its exact shape.
    3.3-03: An investigation's four states have their shapes.
    """
    article = on_wikipedia(world.sites, BRAIN, WALL)
    async with world.member() as reader:
        version, run, result = await reader.investigated(article.observation)
        assert [claim["text"] for claim in result["claims"]] == [BRAIN, WALL]
        seen_again = await reader.view(version["postVersionId"])
        assert seen_again == {name: value for name, value in result.items() if name != "checkedAt"}
        assert (await reader.investigate(version["postVersionId"]))["status"] == "COMPLETE"

    text = article.observation["observedContentText"]
    assert "Nobody counts this" not in text
    page_id = article.observation["metadata"]["pageId"]
    assert (version["platform"], version["externalId"]) == ("WIKIPEDIA", f"en:{page_id}")
    assert version["provenance"] == "SERVER_VERIFIED"
    assert version["versionHash"] == version_hash(content_hash(text), NO_OCCURRENCES)
    asked = [seen.query["oldid"] for seen in world.sites.requests if seen.path == "/w/api.php"]
    assert asked.count(article.observation["metadata"]["revisionId"]) == 1

    page = await published(world, run)
    assert page["claims"] == result["claims"]
    assert page["post"]["url"] == article.observation["url"]
    assert page["investigation"]["contentHash"] == content_hash(text)
    assert page["investigation"]["origin"]["provenance"] == "SERVER_VERIFIED"
    assert await world.oracle.once_each(run) == [BRAIN, WALL]


@pytest.mark.requirement("2.9-02", "2.8-05", "3.3-06", "3.9-10")
@pytest.mark.parametrize("case_id", ["albert-einstein", "openai"])
async def test_real_articles_are_the_versions_that_the_browser_saw(world: World, case_id: str) -> None:
    """2.9-02: Wikipedia verification pinned to revision.
    2.8-05: The version hash follows its formula.
    3.3-06: A request for a text that is too long is refused.
    3.9-10: Wikipedia excluded sections.
    """
    cases = json.loads(recorded("wikipedia_pages").read_text())["cases"]
    case = next(case for case in cases if case["id"] == case_id)
    given, output, content = case["input"], case["output"], case["output"]["page_extract"]["content"]
    world.sites.wikipedia[given["revisionId"]] = WikiPage(int(given["pageId"]), given["parseApiHtml"], case_id)
    observation = {
        "platform": "WIKIPEDIA",
        "url": content["url"],
        "observedContentText": content["contentText"],
        "observedImageUrls": content["imageUrls"],
        "observedImageOccurrences": content["imageOccurrences"],
        "metadata": content["metadata"],
    }
    async with world.member() as reader:
        version = await reader.register(observation)
        assert version["provenance"] == "SERVER_VERIFIED"
        assert version["externalId"] == content["externalId"]
        stored = await world.oracle.value(
            "SELECT b.content_hash FROM readmodel.post_version v JOIN readmodel.content_blob b ON b.content_hash = "
            "v.content_hash WHERE v.id = %s",
            version["postVersionId"],
        )
        assert stored == output["sha256"]
        if len(output["text"].split()) > 10_000:
            with pytest.raises(RpcFailed) as refused:
                await reader.investigate(version["postVersionId"])
            assert refused.value.status == 400
            return
        asked = await reader.investigate(version["postVersionId"])
        result = await reader.result(asked["investigationId"])
    page = await published(world, asked["investigationId"])
    assert page["claims"] == result["claims"] == [], "nothing in this article is in the catalogue"
    assert page["investigation"]["contentHash"] == output["sha256"]


@pytest.mark.requirement("3.1-01")
async def test_without_any_key_a_reader_reports_a_page_and_sees_what_is_known(world: World) -> None:
    """3.1-01: without a key a reader has a page checked with its site and is shown the result that is there.

    3.1-01: Anonymous use works without any key.
    """
    page = on_wikipedia(world.sites, BRAIN)
    async with world.reader() as stranger:
        version = await stranger.register(page.observation)
        assert version["provenance"] == "SERVER_VERIFIED"
        before = await stranger.view(version["postVersionId"])
        assert before["investigationState"] == "NOT_INVESTIGATED"
        async with world.member() as member:
            _, run, result = await member.investigated(page.observation)
        seen = await stranger.view(version["postVersionId"])
        looked = await stranger.look(run)
    assert seen["investigationState"] == looked["investigationState"] == "INVESTIGATED"
    assert seen["claims"] == looked["claims"] == result["claims"]
    assert [claim["text"] for claim in seen["claims"]] == [BRAIN]


@pytest.mark.requirement("2.9-06", "2.9-03")
@pytest.mark.parametrize("post", [on_x, on_substack, on_lesswrong])
async def test_a_post_that_nobody_else_vouches_for(world: World, post: Any) -> None:
    """2.9-06: Degraded path on fetch failure.
    2.9-03: Substack verification.
    """
    async with world.member() as reader:
        version, run, result = await reader.investigated(post(GOLDFISH, BATS))
    assert version["provenance"] == result["provenance"] == "CLIENT_FALLBACK"
    assert [claim["text"] for claim in result["claims"]] == [GOLDFISH, BATS]
    origin = (await published(world, run))["investigation"]["origin"]
    assert (origin["provenance"], origin["serverVerifiedAt"]) == ("CLIENT_FALLBACK", None)
    assert origin.keys() == {"provenance", "serverVerifiedAt", "corroboratedAt"}


@pytest.mark.requirement("2.6-08", "2.8-03", "2.8-04", "2.9-11", "3.5-02")
async def test_an_edited_article_shows_what_was_found_before(world: World) -> None:
    """2.6-08: A view of a new version returns the verified earlier result meanwhile.
    2.8-03: The result of another version is never shown as final.
    2.8-04: Showing an earlier result starts no run.
    2.9-11: Only verified earlier results are shown meanwhile.
    3.5-02: The newest verified earlier result is chosen.
    """
    first = on_wikipedia(world.sites, BRAIN, title="An edited walk")
    page_id = int(first.observation["metadata"]["pageId"])
    second = on_wikipedia(world.sites, BRAIN, BATS, page_id=page_id, title="An edited walk")
    async with world.member() as reader:
        _, run, result = await reader.investigated(first.observation)
        edited = await reader.register(second.observation)
        shown = await reader.view(edited["postVersionId"])
        assert shown["investigationState"] == "NOT_INVESTIGATED"
        assert shown["priorInvestigationResult"] == {"oldClaims": result["claims"], "sourceInvestigationId": run}
        again = await reader.look(str(investigation_id(UUID(edited["postVersionId"]), "FACT_CHECK")))
        assert again["investigationState"] == "NOT_INVESTIGATED", "showing an earlier result starts nothing"


@pytest.mark.requirement("2.6-18", "3.3-03")
async def test_a_reader_sees_five_findings_in_the_order_of_the_text(world: World) -> None:
    """2.6-18: The extension polls until the run ends.
    3.3-03: An investigation's four states have their shapes.
    """
    async with world.member() as reader:
        _, run, result = await reader.investigated(on_x(*FIVE))
    assert [claim["text"] for claim in result["claims"]] == list(FIVE)
    derived = [str(claim_id(UUID(run), claim["text"], claim["text"])) for claim in result["claims"]]
    assert [claim["id"] for claim in result["claims"]] == derived


@pytest.mark.requirement("2.9-04", "2.9-05")
async def test_the_site_knows_better_than_the_reader(world: World) -> None:
    """2.9-04: Identity correction by server pageId.
    2.9-05: Anomaly recorded on mismatch.
    """
    article = on_wikipedia(world.sites, BRAIN, title="Misread")
    revision = article.observation["metadata"]["revisionId"]
    served = world.sites.wikipedia[revision]
    world.sites.wikipedia[revision] = WikiPage(served.page_id + 5_000_000, served.html, served.title)
    misread = {**article.observation, "observedContentText": "Something else entirely."}
    async with world.reader() as reader:
        version = await reader.register(misread)
    assert version["externalId"] == f"en:{served.page_id + 5_000_000}"
    assert version["versionHash"] == version_hash(
        content_hash(article.observation["observedContentText"]), NO_OCCURRENCES
    )
    kinds = await world.oracle.value(
        "SELECT count(DISTINCT kind) FROM readmodel.integrity_anomaly WHERE external_id IN (%s, %s)",
        version["externalId"],
        f"en:{served.page_id}",
    )
    assert kinds == 2
