"""What the catalogue says of publishers, and what an operator says of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final
from uuid import uuid4

import httpx
import pytest

from contracts.topology import JOBS
from contracts.v1 import PublisherRated
from contracts.v1.ids import publisher_id
from kit import topology
from kit.bus import connect
from kit.history import read_history
from services.gateway.public.described import describe_public
from tests.integration.readmodel_tables import prepare
from tests.support.forked import Forked, without_blobs
from tests.support.publishers import tape_of_publishers
from tests.support.servers import Prepare
from tests.support.site_client import TAG
from tests.support.site_server import pages_of, tell
from tests.unit.projector.audit_histories import scored
from tests.unit.projector.histories import START, uid

pytest_plugins = ["tests.support.servers"]

PAGE: Final = "/publishers/for.example"
ID: Final = publisher_id("for.example")


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@asynccontextmanager
async def catalogue(database_url: str, *, on: bool = True) -> AsyncIterator[httpx.AsyncClient]:
    """The pages over these publishers."""
    await tell(database_url, tape_of_publishers())
    async with (
        pages_of(database_url, START + timedelta(days=30), catalogue=on) as router,
        httpx.AsyncClient(transport=httpx.ASGITransport(router), base_url="https://errata.example") as http,
    ):
        yield http


@pytest.mark.requirement("FH-131")
@pytest.mark.requirement("FH-133")
@pytest.mark.requirement("FH-136")
async def test_a_page_shows_score_parts_formula_and_log(database_url: str) -> None:
    """FH-131: A source's score is composed of five parts.

    FH-133: Scores fall into five bands.

    FH-136: A moderator may set a score with a reason.
    """
    async with catalogue(database_url) as http:
        response = await http.get(PAGE)
        assert response.status_code == 200
        words = " ".join(TAG.sub(" ", response.text).split())
        assert "The Harbour Post as a source" in words
        assert "of 100 72.5 band Reliable" in words
        assert "3 of 4" in words
        for part in ("Accuracy 50 % 80.0", "Correction policy 20 % 80", "Editorial standards 15 % not rated"):
            assert part in words
        assert "50 % accuracy + 20 % correction policy + 15 % editorial standards" in words
        assert "Rated by a moderator (the monthly audit): news, correction policy 80, score set to 65." in words
        assert words.count("by the formula; 3 of 4 judged citations were correct") == 2
        assert "an estimate by code and models" in words
        assert str(uid("moderator")) not in response.text
        for style in ('class="pair"', 'class="quote', 'class="right"', 'class="withdrawn"', 'class="card"'):
            assert style not in response.text, "it looks unlike a correction"
        assert (await http.get("/publishers/new.example")).status_code == 200
        for unknown in ("other.example", "for.example%00"):
            assert (await http.get(f"/publishers/{unknown}")).status_code == 404, unknown
        for path in ("/sitemap.xml", "/feeds/all.atom", "/"):
            assert "for.example" not in (await http.get(path, headers={"accept": "text/html"})).text


@pytest.mark.requirement("FH-111")
async def test_the_same_for_machines(database_url: str) -> None:
    """FH-111: A source has a track record."""
    async with catalogue(database_url) as http:
        found = (await http.get(f"/v1/publishers/{ID}")).json()
        assert (found["domain"], found["name"], found["type"]) == ("for.example", "The Harbour Post", "news")
        assert (found["track_record_score"], found["band"], found["score_epoch"]) == (72.5, "Reliable", 202602)
        assert [each["epoch"] for each in found["accuracy_history"]] == [202602, 202601]
        assert (found["total_citations"], found["claim_count"], found["corrections_count"]) == (10, 6, None)
        assert sum(found["weights"].values()) == 100
        described = describe_public({}, publishers=True)["paths"]["/v1/publishers/{publisher_id}"]["get"]
        schema = described["responses"]["200"]["content"]["application/json"]["schema"]
        assert {*found} == {*schema["properties"]}
        for wrong in (uuid4(), "x", "for.example"):
            response = await http.get(f"/v1/publishers/{wrong}")
            assert (response.status_code, response.json()) == (404, {"message": "There is no such publisher."})


async def test_the_catalogue_is_off_unless_it_is_turned_on(database_url: str) -> None:
    async with catalogue(database_url, on=False) as http:
        assert (await http.get(PAGE)).status_code == 404
        assert (await http.get(f"/v1/publishers/{ID}")).status_code == 404


async def ratings_at(url: str) -> list[PublisherRated]:
    async with connect(url, name="test") as bus:
        facts = await read_history(bus, str(ID), stream=JOBS)
    return [each.event for each in facts if isinstance(each.event, PublisherRated)]


async def apply(url: str) -> None:
    async with connect(url, name="test") as bus:
        await topology.apply(bus)
        await bus.publish(scored("for.example", 202601), correlation=uuid4())


@pytest.mark.requirement("FH-136")
def test_an_operator_rates_a_publisher(nats_url: str, tmp_path: Path) -> None:
    """FH-136: A moderator may set a score with a reason."""
    environment = without_blobs(nats_url, "postgresql://reader@127.0.0.1:9/none")

    def run(*arguments: str) -> tuple[int, str]:
        out = tmp_path / uuid4().hex
        code = Forked(("publisher", *arguments), tmp_path, environment, out, out).wait(60)
        return code, out.read_text().strip()

    asyncio.run(apply(nats_url))
    rate = ("rate", "for.example", "--reason")
    assert run(*rate, "MONTHLY_AUDIT", "--name", "The Post", "--type", "news", "--score", "65")[0] == 0
    assert run(*rate, "MISTAKE", "--longevity", "40", "--no-score")[0] == 0
    for wrong in (
        ("rate", "www.for.example", "--reason", "MISTAKE"),
        (*rate, "BECAUSE"),
        (*rate, "MISTAKE", "--longevity", "101"),
        (*rate, "MISTAKE", "--name", "it lied"),
        (*rate, "MISTAKE", "--score", "1", "--no-score"),
    ):
        assert run(*wrong)[0] == 2, wrong
    first, second = asyncio.run(ratings_at(nats_url))
    assert (first.name, first.type, first.score, first.reason) == ("The Post", "news", 65, "MONTHLY_AUDIT")
    assert (second.name, second.type, second.score, second.longevity) == ("The Post", "news", None, 40)
    code, shown = run("show", "for.example")
    assert code == 0
    lines = [line[18:] for line in shown.splitlines()]
    assert lines[0].startswith("scored 72.5 (Reliable) for 202601: COMPUTED, 3 of 4")
    assert lines[1] == "rated by the operator, MONTHLY_AUDIT: name The Post, type news, score 65"
    assert len(lines) == 3
