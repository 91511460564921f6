"""The investigator's view of a version, read from a real broker."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from prometheus_client import CollectorRegistry

from contracts.v1 import VersionSeen, VersionVerified
from contracts.v1.parts import ImageOccurrence
from kit import topology
from kit.bus import connect
from kit.web import GuardedHttpClient, Policy
from services.investigator.adapters import EventLog
from services.investigator.pictures import Pictures
from tests.support.factories import TEXT, VERSION_ID, text_ref
from tests.support.fakes import MemoryTexts
from tests.support.versions import later, registered, sighting

pytest_plugins = ["tests.support.servers"]

PICTURE = ImageOccurrence(original_index=0, normalized_text_offset=0, source_url="https://www.lesswrong.com/a.png")


@pytest.mark.requirement("2.4.4-01", "2.4.4-04")
async def test_a_snapshot_holds_the_site_s_page_as_markdown(nats_url: str) -> None:
    """2.4.4-01: One section of content, as Markdown where there is HTML.
    2.4.4-04: The input is frozen when the first attempt starts.
    """
    facts = (
        registered(sighting(1, reader=f"<p>{TEXT}</p>"), occurrences=(PICTURE,)),
        later(VersionVerified, sighting(2, site=f"<p>{TEXT}</p>"), "SERVER_VERIFIED"),
        later(VersionSeen, sighting(3, site=f"<h1>{TEXT}<img src=/a.png></h1>"), "SERVER_VERIFIED"),
        later(VersionSeen, sighting(4, reader=f"<h2>{TEXT}</h2>"), "SERVER_VERIFIED"),
        later(VersionSeen, sighting(5, site=f"<h3>{TEXT}<img src=/a.png></h3>"), "SERVER_VERIFIED"),
    )
    async with connect(nats_url, name="test") as bus, GuardedHttpClient(Policy("https://contact.example/")) as http:
        await topology.apply(bus)
        log = EventLog(bus, MemoryTexts(), Pictures(http, MemoryTexts(), CollectorRegistry(), wanted=False))
        assert await log.snapshot(VERSION_ID) is None
        for fact in facts:
            await bus.publish(fact, correlation=uuid4())
        assert await log.snapshot(UUID(int=1)) is None
        taken = await log.snapshot(VERSION_ID)
    assert taken is not None
    assert (taken.provenance, taken.markdown_source, taken.image_marker) == ("SERVER_VERIFIED", "SERVER_HTML", "IMAGE")
    assert taken.markdown == text_ref(f"### {TEXT}[IMAGE:0]")
    assert [picture.original_index for picture in taken.pictures] == [0]
