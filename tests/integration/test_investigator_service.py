"""The investigator as it is put together: real broker, real blob store, pictures and a provider on the loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr

from contracts.v1 import (
    ClaimRetained,
    Event,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationStarted,
    VersionRegistered,
)
from contracts.v1.ids import investigation_id, post_id, version_id
from contracts.v1.pages import Sighting
from contracts.v1.parts import PostRef
from kit import topology
from kit.blob_settings import BlobSettings
from kit.blobs import Blobs
from kit.bus import Bus, connect
from kit.clock import SystemClock
from kit.delivery import Delivery
from kit.history import read_history
from kit.host import Host
from kit.models.openai_responses import OpenAIResponses
from kit.telemetry import Telemetry
from kit.vault import MasterKey, UserKeys
from services.investigator.app import build
from tests.integration.readmodel_tables import fill, prepare, store_at
from tests.support.factories import requested, text_ref
from tests.support.marks import without_words
from tests.support.openai_server import Answer as Turn
from tests.support.openai_server import OpenAIServer, call, message, openai_server
from tests.support.page_images import extract_images
from tests.support.picture_files import gif, png
from tests.support.servers import Prepare, Servers, nats_server
from tests.support.sites import Answer, Sites
from tests.unit.projector.histories import Page, Tape

pytest_plugins = ["tests.support.servers"]

POST = PostRef(platform="LESSWRONG", external_id="abcDEF123456789xy")
URL = "https://www.lesswrong.com/posts/abcDEF123456789xy/a-mountain"


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


def registered(html: str) -> VersionRegistered:
    """A version the site vouches for, with the pictures a browser finds in it."""
    found = extract_images(html, URL)
    digest = sha256(html.encode()).hexdigest()
    return VersionRegistered(
        version_id=version_id(post_id(POST), digest),
        post_id=post_id(POST),
        post=POST,
        version_hash=digest,
        provenance="SERVER_VERIFIED",
        sighting=Sighting(observation_id=uuid4(), url=URL, server_html=text_ref(html), image_urls=found.urls),
        content=text_ref(found.text),
        word_count=len(found.text.split()),
        occurrences_hash=digest,
        occurrences=found.occurrences,
    )


@asynccontextmanager
async def service(tmp_path: Path, stack: Servers, provider: OpenAIServer, database_url: str) -> AsyncIterator[Host]:
    """The investigator, running, over servers of its own."""
    at = stack.bucket()
    model = OpenAIResponses(key=SecretStr("sk-instance-key-0123456789abcdef"), base_url=provider.url)
    with nats_server(tmp_path) as server:
        async with connect(server.endpoints.nats_url, name="test") as bus:
            await topology.apply(bus)
            telemetry = Telemetry()
            host = Host(
                bus=bus,
                delivery=Delivery(bus, telemetry),
                blobs=Blobs(BlobSettings(at.endpoint.removeprefix("http://"), at.access_key, at.secret_key, at.bucket)),
                clock=SystemClock(),
                telemetry=telemetry,
                database_url=database_url,
                model=model,
                user_keys=UserKeys(bus, (MasterKey.generate(),)),
            )
            await build(host)
            stop = asyncio.Event()
            running = asyncio.create_task(host.run(stop))
            yield host
            stop.set()
            await asyncio.wait_for(running, 60)
            await host.close()
    await model.aclose()


async def investigated(bus: Bus, version: VersionRegistered, until: type[Event]) -> Sequence[Event]:
    """Ask for a version's investigation; its facts once there is one of that class."""
    wanted = investigation_id(version.version_id, "FACT_CHECK")
    await bus.publish(version, correlation=uuid4())
    request = requested(
        investigation_id=wanted, version_id=version.version_id, post_id=version.post_id, requested_by="SELECTOR"
    )
    await bus.publish(request, correlation=uuid4())
    return await facts_of(bus, wanted, until)


async def facts_of(bus: Bus, run: UUID, until: type[Event]) -> Sequence[Event]:
    """The facts of a run once there is one of that class."""
    async with asyncio.timeout(60):
        while True:
            facts = [past.envelope.event for past in await read_history(bus, str(run))]
            if any(isinstance(fact, until) for fact in facts):
                return facts
            await asyncio.sleep(0.02)


@pytest.mark.requirement("2.1-05", "2.4-03", "2.9-12")
async def test_a_post_with_pictures_is_shown_to_the_model(
    tmp_path: Path, stack: Servers, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.1-05: Text plus images investigated.
    2.4-03: Images sent as multimodal input.
    2.9-12: Images downloaded, deduplicated, uploaded.
    """
    async with Sites() as sites, openai_server() as provider:
        monkeypatch.setenv("OPENERRATA_INVESTIGATOR_PICTURE_ORIGIN", sites.url)
        sites.pages |= {"/a.png": Answer(200, {}, png()), "/b.gif": Answer(200, {}, gif())}
        provider.script(Turn((message("done"),)))
        version = registered(
            f'<p>It is high. [image:0]</p><img src="{sites.url}/a.png" alt="A peak"><img src="data:image/png,AA">'
            f'<p>Snow lies on it.</p><img src="{sites.url}/gone.png"><img src="{sites.url}/b.gif"><p>The end.</p>'
        )
        async with service(tmp_path, stack, provider, database_url) as host:
            facts = await investigated(host.bus, version, InvestigationDrafted)
            kept = await host.blobs.get(sha256(gif()).hexdigest())
    (begun,) = (fact for fact in facts if isinstance(fact, InvestigationStarted))
    assert [(picture.status, picture.reason) for picture in begun.input.pictures] == [
        ("used", None),
        ("unavailable", "http_404"),
        ("used", None),
    ]
    assert begun.input.markdown_source == "SERVER_HTML"
    assert kept == gif()
    (sent,) = provider.requests[0].body["input"]
    page = "".join(part.get("text") or f"<{part['image_url'][:14]}>" for part in sent["content"])
    article = without_words(page).partition("<<<BEGIN ARTICLE>>>")[2].partition("<<<END ARTICLE>>>")[0]
    order = [
        "It is high.",
        "<data:image/png>",
        "Snow lies",
        "[Picture 1: not to be had]",
        "<data:image/gif>",
        "The end.",
    ]
    places = [article.index(each) for each in order]
    assert places == sorted(places)
    assert "image:0" in article, "words of the article that only look like a placeholder"


async def test_a_run_that_can_never_begin_ends_for_each_payer(
    tmp_path: Path, stack: Servers, database_url: str
) -> None:
    async with openai_server() as provider, service(tmp_path, stack, provider, database_url) as host:
        for payer in ("INSTANCE", "USER"):
            run = uuid4()
            await host.bus.publish(
                requested(investigation_id=run, version_id=uuid4(), key_source=payer), correlation=uuid4()
            )
            end = (await facts_of(host.bus, run, InvestigationFailed))[-1]
            assert isinstance(end, InvestigationFailed)
            assert "is not in the log" in end.reason


@pytest.mark.requirement("2.4-05", "2.4.3-01", "2.4.3-06", "2.12-05")
async def test_an_edited_post_keeps_what_is_still_wrong_and_the_model_reads_pages(
    tmp_path: Path, stack: Servers, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.4-05: Incremental update runs for edited posts.
    2.4.3-01: An update run is given old claims, the text and the difference.
    2.4.3-06: Old claims that are not kept disappear.
    2.12-05: Update lineage stored.
    """
    old = Page(POST.external_id, "It was before Wrong sentence 0. Wrong sentence 1. The end.", platform=POST.platform)
    tape = Tape()
    tape.add(old.registered(), old.requested(), old.started(), old.drafted(2), old.completed([0, 1]))
    store = store_at(database_url)
    await fill(store, tape.records)
    await store.close()
    kept, payload = old.claim(0)
    async with Sites() as sites, openai_server() as provider:
        monkeypatch.setenv("OPENERRATA_INVESTIGATOR_PAGE_ORIGIN", sites.url)
        sites.pages["/page"] = Answer(200, {"content-type": "text/html"}, b"<title>T</title><p>Read this.")
        provider.script(
            Turn(
                (
                    call("fetch_url", {"url": f"{sites.url}/page"}, "call-1"),
                    call("author_history", {"posts": 5}, "call-2"),
                    call("retain_correction", {"id": str(kept)}, "call-3"),
                )
            ),
            Turn((message("done"),)),
        )
        version = registered("<p>It was before Wrong sentence 0. A right one. The end.</p>")
        async with service(tmp_path, stack, provider, database_url) as host:
            facts = await investigated(host.bus, version, InvestigationCompleted)
    begun = next(fact for fact in facts if isinstance(fact, InvestigationStarted))
    assert begun.input.parent_investigation_id == old.investigation_id
    assert [claim.claim_id for claim in begun.input.old_claims] == [kept, old.claim(1)[0]]
    assert begun.input.content_diff is not None
    assert "- Wrong sentence 1.\n+ A right one.\n" in (begun.input.content_diff.inline or "")
    (retained,) = (fact for fact in facts if isinstance(fact, ClaimRetained))
    assert (retained.retained_from, retained.payload.summary) == (kept, payload.summary)
    end = facts[-1]
    assert isinstance(end, InvestigationCompleted)
    assert [(claim.claim_id, claim.payload) for claim in end.claims] == [(retained.claim_id, retained.payload)]
    assert "Wrong sentence 1." not in end.model_dump_json()
    answers = {each["call_id"]: json.loads(each["output"]) for each in provider.requests[1].body["input"]}
    assert (answers["call-1"]["title"], answers["call-1"]["contentText"]) == ("T", "Read this.")
    assert answers["call-2"] == {"ok": True, "author": None, "posts": []}
    assert answers["call-3"] == {"acknowledged": True}
    assert "openerrata.com" in sites.requests[0].headers["user-agent"]
