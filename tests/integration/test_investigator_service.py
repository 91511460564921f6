"""The investigator as it is put together: real broker, real blob store, pictures and a provider on the loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr

from contracts.v1 import Event, InvestigationDrafted, InvestigationStarted, VersionRegistered
from contracts.v1.ids import investigation_id, post_id, version_id
from contracts.v1.parts import PostRef, Sighting
from kit import topology
from kit.blobs import Blobs, BlobSettings
from kit.bus import Bus, connect
from kit.clock import SystemClock
from kit.delivery import Delivery
from kit.history import history
from kit.host import Host
from kit.models.openai_responses import OpenAIResponses
from kit.telemetry import Telemetry
from kit.vault import UserKeys
from platforms.images import extract_images
from services.investigator.app import build
from tests.support.factories import requested, text_ref
from tests.support.openai_server import Answer as Turn
from tests.support.openai_server import message, openai_server
from tests.support.picture_files import gif, png
from tests.support.servers import Servers, nats_server
from tests.support.sites import Answer, Sites

pytest_plugins = ["tests.support.servers"]

POST = PostRef(platform="LESSWRONG", external_id="abcDEF123456789xy")
URL = "https://www.lesswrong.com/posts/abcDEF123456789xy/a-mountain"


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


async def drafted(bus: Bus, investigation: UUID) -> Sequence[Event]:
    """The investigation's facts, once the model has finished."""
    async with asyncio.timeout(30):
        while True:
            facts = [past.envelope.event for past in await history(bus, str(investigation))]
            if any(isinstance(fact, InvestigationDrafted) for fact in facts):
                return facts
            await asyncio.sleep(0.02)


@pytest.mark.requirement("2.1-05", "2.4-03", "2.9-12")
async def test_a_post_with_pictures_is_shown_to_the_model(
    tmp_path: Path, stack: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = stack.bucket()
    async with Sites() as sites, openai_server() as provider:
        monkeypatch.setenv("OPENERRATA_INVESTIGATOR_PICTURE_ORIGIN", sites.url)
        sites.pages |= {"/a.png": Answer(200, {}, png()), "/b.gif": Answer(200, {}, gif())}
        provider.script(Turn((message("done"),)))
        version = registered(
            f'<p>It is high. [image:0]</p><img src="{sites.url}/a.png" alt="A peak"><img src="data:image/png,AA">'
            f'<p>Snow lies on it.</p><img src="{sites.url}/gone.png"><img src="{sites.url}/b.gif"><p>The end.</p>'
        )
        model = OpenAIResponses(key=SecretStr("sk-instance-key-0123456789abcdef"), base_url=provider.url)
        with nats_server(tmp_path) as server:
            async with connect(server.endpoints.nats_url, name="test") as bus:
                await topology.apply(bus)
                telemetry = Telemetry()
                host = Host(
                    bus=bus,
                    delivery=Delivery(bus, telemetry),
                    blobs=Blobs(
                        BlobSettings(at.endpoint.removeprefix("http://"), at.access_key, at.secret_key, at.bucket)
                    ),
                    clock=SystemClock(),
                    telemetry=telemetry,
                    database_url="",
                    model=model,
                    user_keys=UserKeys(bus, ()),
                )
                await build(host)
                stop = asyncio.Event()
                running = asyncio.create_task(host.run(stop))
                await bus.publish(version, correlation=uuid4())
                wanted = investigation_id(version.version_id, "FACT_CHECK")
                await bus.publish(
                    requested(investigation_id=wanted, version_id=version.version_id, post_id=version.post_id),
                    correlation=uuid4(),
                )
                facts = await drafted(bus, wanted)
                stop.set()
                await asyncio.wait_for(running, 15)
                kept = await host.blobs.get(sha256(gif()).hexdigest())
                await host.close()
        await model.aclose()
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
    article = page.partition("<<<BEGIN ARTICLE>>>")[2].partition("<<<END ARTICLE>>>")[0]
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
