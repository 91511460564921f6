"""Private look-ups as they run: notary, store and gateway over real servers, and without a database at the end."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from contracts.lookup.buckets import post_key
from contracts.lookup.documents import Bucket, Layout, Retractions
from contracts.lookup.framing import PADDED, unframe
from contracts.v1 import Event
from kit.bus import connect
from tests.support.published_finding import ARTICLE, CLAIM, QUOTE, changed, run_of
from tests.support.system import GivenServers, System, system, until
from tests.support.tlogs import LOG_KEY
from tlog.decision import prove_decision
from tlog.policy import Log, Policy

POLICY = Policy((Log(LOG_KEY.verifier),))


class Reader:
    """Asks as the extension does: for the layout, a bucket and days."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.tag: str | None = None

    async def get(self, path: str) -> bytes | None:
        """What is there; None: nothing yet."""
        answer = await self.http.get(f"/lookup/v1/{path}")
        return answer.content if answer.status_code == 200 else None

    async def layout(self) -> Layout | None:
        """The layout, if there is one yet."""
        data = await self.get("layout.json")
        return None if data is None else Layout.model_validate_json(data)

    async def texts(self) -> list[str] | None:
        """The findings about the article, from proofs and nothing else; None: the bucket is not there yet."""
        body = await self.get("b0/all")
        if body is None:
            return None
        assert len(body) % PADDED == 0
        key = post_key(ARTICLE.post.platform, ARTICLE.post.external_id).hex()
        posts = [each for each in Bucket.model_validate_json(unframe(body)).posts if each.key == key]
        proven = [prove_decision(version.proof.encode(), POLICY) for each in posts for version in each.versions]
        return [json.loads(data)["text"] for each in proven for j, data in each.documents.items() if j]


async def tell(running: System, *events: Event) -> None:
    """Put facts into the log of events."""
    async with connect(running.nats_url, name="test") as bus:
        for event in events:
            await bus.publish(event, correlation=event.event_id())


@pytest.mark.requirement("TR-29")
@pytest.mark.requirement("TR-26")
async def test_a_reader_learns_of_a_finding_without_naming_the_post_and_without_a_database(tmp_path: Path) -> None:
    """Private look-ups are served while the database is stopped.

    What is released is in its bucket in 30 seconds; what is taken back or erased leaves it in two minutes.
    """
    with GivenServers(tmp_path / "given") as servers:
        settings = {
            **servers.settings,
            "OPENERRATA_NOTARY_KEY": LOG_KEY.secret(),
            "OPENERRATA_NOTARY_PUBLISH_S": "0.2",
        }
        async with system(tmp_path / "running", **settings) as running:
            applied = await running.run("topology", "apply")
            assert applied.code == 0, applied.err
            await running.up("projector", "gateway")
            await running.up("notary")
            begun = await running.run("log", "init")
            assert begun.code == 0, begun.err
            await tell(running, *run_of(ARTICLE))
            async with httpx.AsyncClient(base_url=running.url, timeout=20, trust_env=False) as http:
                reader = Reader(http)

                async def found() -> bool:
                    return await reader.texts() == [QUOTE]

                async def gone() -> bool:
                    return await reader.texts() == []

                await until(found, "the finding is in its bucket")
                layout = await reader.layout()
                assert layout is not None
                assert (layout.layout, layout.bits, layout.paused) == ("b0", 0, False)
                before = datetime.now(UTC).date()
                await tell(running, changed("SUSPENDED", 0))
                await until(gone, "the finding has left its bucket")
                days = {before, datetime.now(UTC).date()}
                servers.kill("postgres")
                bucket = await http.get("/lookup/v1/b0/all")
                again = await http.get("/lookup/v1/b0/all", headers={"if-none-match": bucket.headers["etag"]})
                assert (bucket.status_code, again.status_code) == (200, 304)
                bodies = [await reader.get(f"retractions/{day}") for day in days]
                listed = [
                    (each.id, each.state)
                    for body in bodies
                    if body is not None
                    for each in Retractions.model_validate_json(unframe(body)).claims
                ]
                assert listed == [(CLAIM, "SUSPENDED")]
                assert await reader.layout() == layout
