"""The validator as it is put together: real broker, real blob store, cited pages on the loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from analyses.flagging import Review
from contracts.v1 import ClaimApproved, ClaimProposed, ClaimRejected, ClaimValidationFailed
from contracts.v1.parts import Source
from kit import topology
from kit.blob_settings import BlobSettings
from kit.blobs import Blobs
from kit.bus import Bus, connect
from kit.clock import SystemClock
from kit.delivery import Delivery
from kit.history import read_history
from kit.host import Host
from kit.models.base import Brief, Finished
from kit.telemetry import Telemetry
from kit.vault import UserKeys
from services.validator.adapters import LogRuns
from services.validator.app import build
from services.validator.ends import EndedRounds
from services.validator.handlers import Validator
from tests.support.factories import INVESTIGATION_ID, OTHER_QUOTE, QUOTE, payload, proposed, requested, started
from tests.support.fakes import ListedSources, MemoryKeys, ScriptedModel, handled
from tests.support.servers import Servers, nats_server
from tests.support.sites import Answer, Sites

pytest_plugins = ["tests.support.servers"]

PAGE = "<title>A record</title><p>The first ascent was in 1953, by two climbers.</p>"
SAID = "The first ascent was in 1953"

Verdict = ClaimApproved | ClaimRejected | ClaimValidationFailed


@dataclass
class World:
    """A running validator, and the site that claims cite."""

    bus: Bus
    blobs: Blobs
    sites: Sites
    model: ScriptedModel

    def cites(self, quote: str, path: str, snippet: str = SAID) -> ClaimProposed:
        """A candidate about a quote, with one source."""
        source = Source(url=f"{self.sites.url}{path}", title="A record", snippet=snippet)
        return proposed(quote, payload=payload(quote, summary="It was in 1953.", sources=(source,)))

    async def judged(self, *claims: ClaimProposed) -> Sequence[Verdict]:
        """Propose candidates, and wait for a verdict on each."""
        for fact in (requested(), started()):
            await self.bus.publish(fact, correlation=uuid4())
        for claim in claims:
            await self.bus.publish(claim, correlation=uuid4())
        async with asyncio.timeout(60):
            while True:
                facts = [past.envelope.event for past in await read_history(self.bus, str(INVESTIGATION_ID))]
                found = {fact.claim_id: fact for fact in facts if isinstance(fact, Verdict)}
                if len(found) == len(claims):
                    return [found[claim.claim_id] for claim in claims]
                await asyncio.sleep(0.02)


@asynccontextmanager
async def world(
    folder: Path, stack: Servers, environment: pytest.MonkeyPatch, model: ScriptedModel
) -> AsyncIterator[World]:
    at = stack.bucket()
    async with Sites() as sites:
        environment.setenv("OPENERRATA_VALIDATOR_PAGE_ORIGIN", sites.url)
        environment.setenv("OPENERRATA_VALIDATOR_GATE_FAMILIES", "1")
        sites.pages["/record"] = Answer(200, {"content-type": "text/html"}, PAGE.encode())
        with nats_server(folder) as server:
            async with connect(server.endpoints.nats_url, name="test") as bus:
                await topology.apply(bus)
                telemetry = Telemetry()
                blobs = Blobs(
                    BlobSettings(at.endpoint.removeprefix("http://"), at.access_key, at.secret_key, at.bucket)
                )
                host = Host(
                    bus=bus,
                    delivery=Delivery(bus, telemetry),
                    blobs=blobs,
                    clock=SystemClock(),
                    telemetry=telemetry,
                    database_url="",
                    model=model,
                    user_keys=UserKeys(bus, ()),
                )
                await build(host)
                stop = asyncio.Event()
                running = asyncio.create_task(host.run(stop))
                try:
                    yield World(bus, blobs, sites, model)
                finally:
                    stop.set()
                    await asyncio.wait_for(running, 60)
                    await host.close()


@pytest.mark.requirement("2.4-06", "2.12-06")
async def test_claims_are_held_against_the_pages_they_cite(
    tmp_path: Path, stack: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.4-06: Only validated claims are published.
    2.12-06: Source snapshots with hash and retrieval time.
    """
    async with world(tmp_path, stack, monkeypatch, ScriptedModel()) as at:
        good, bad = await at.judged(
            at.cites(QUOTE, "/record"), at.cites(OTHER_QUOTE, "/record", "The mountain lies in Nepal")
        )
        assert isinstance(good, ClaimApproved)
        assert isinstance(bad, ClaimRejected)
        assert bad.gate == "sources"
        assert "does not contain the quoted words" in bad.reason
        (kept,), (lacking,) = good.sources, bad.sources
        assert (kept.status, lacking.status) == ("found", "missing")
        assert kept.page == lacking.page
        assert kept.page is not None
        assert kept.page.sha256 == sha256(PAGE.encode()).hexdigest()
        assert await at.blobs.get(kept.page.sha256) == PAGE.encode()
        (brief,) = at.model.reviews
        assert '"wordsOnPage": "A record The first ascent was in 1953, by two climbers."' in brief.words
        assert len(at.sites.requests) == 1, "judged at the same time, or remembered"


@pytest.mark.requirement("2.12-06")
async def test_a_source_is_published_as_the_page_where_it_ended(
    tmp_path: Path, stack: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.12-06: Source snapshots with hash and retrieval time."""
    async with world(tmp_path, stack, monkeypatch, ScriptedModel()) as at:
        at.sites.pages["/trusted"] = Answer(302, {"location": "/record"})
        cited = at.cites(QUOTE, "/trusted")
        (fact,) = await at.judged(cited)
        assert isinstance(fact, ClaimApproved)
        (source,), (checked,) = fact.payload.sources, fact.sources
        end = f"{at.sites.url}/record"
        assert (source.url, checked.url, checked.final_url) == (end, end, end)
        assert checked.cited_url == f"{at.sites.url}/trusted"
        assert (source.title, source.snippet) == (cited.payload.sources[0].title, SAID)


async def test_a_claim_that_can_never_be_reviewed_is_not_waited_for(
    tmp_path: Path, stack: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kit.failure_policy.BUG_RETRY_MAX_S", 0.0)
    async with world(tmp_path, stack, monkeypatch, ScriptedModel()) as at:
        (fact,) = await at.judged(proposed(analysis="UNHEARD_OF"))
        assert isinstance(fact, ClaimValidationFailed)
        assert "UNHEARD_OF" in fact.reason


@pytest.mark.parametrize(("setting", "gate"), [("refuse", "sources"), ("allow", None)])
async def test_the_operator_decides_about_pages_that_cannot_be_had(
    tmp_path: Path, stack: Servers, monkeypatch: pytest.MonkeyPatch, setting: str, gate: str | None
) -> None:
    monkeypatch.setenv("OPENERRATA_VALIDATOR_UNCHECKED_SOURCES", setting)
    async with world(tmp_path, stack, monkeypatch, ScriptedModel()) as at:
        at.sites.fail("not_found")
        (fact,) = await at.judged(at.cites(QUOTE, "/record"))
        assert isinstance(fact, ClaimApproved | ClaimRejected)
        assert [(source.status, source.reason) for source in fact.sources] == [("unavailable", "http_404")]
        assert getattr(fact, "gate", None) == gate
        assert len(at.model.reviews) == (setting == "allow")


class Meeting(ScriptedModel):
    """Answers no review before so many are asked at once."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._together = asyncio.Barrier(size)

    async def review(self, brief: Brief[Any, Any]) -> Finished[Review]:
        async with asyncio.timeout(60):
            await self._together.wait()
        return await super().review(brief)


@pytest.mark.parametrize(("setting", "at_once"), [({}, 4), ({"OPENERRATA_VALIDATOR_SLOTS": "2"}, 2)])
async def test_a_process_judges_four_claims_at_once_or_what_the_operator_says(
    tmp_path: Path, stack: Servers, monkeypatch: pytest.MonkeyPatch, setting: dict[str, str], at_once: int
) -> None:
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    taken: list[int | None] = []

    def subscribe(delivery: Delivery, *given: Any, slots: int | None = None, **more: Any) -> None:
        taken.append(slots)
        plainly(delivery, *given, slots=slots, **more)

    plainly = Delivery.subscribe
    monkeypatch.setattr(Delivery, "subscribe", subscribe)
    quotes = (QUOTE, OTHER_QUOTE, "Then came many more.", "That is all.")[:at_once]
    async with world(tmp_path, stack, monkeypatch, Meeting(at_once)) as at:
        verdicts = await at.judged(*(at.cites(quote, "/record") for quote in quotes))
    assert [type(verdict) for verdict in verdicts] == [ClaimApproved] * at_once
    assert taken == [at_once], "and never more than these"


class DemoModel(ScriptedModel):
    labelled_demo = True


@pytest.mark.requirement("2.12-06")
async def test_a_demonstration_fetches_nothing(tmp_path: Path, stack: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """2.12-06: Source snapshots with hash and retrieval time."""
    async with world(tmp_path, stack, monkeypatch, DemoModel()) as at:
        (fact,) = await at.judged(at.cites(QUOTE, "/record"))
        assert isinstance(fact, ClaimApproved)
        assert [(source.status, source.reason, source.page) for source in fact.sources] == [("unchecked", "demo", None)]
        assert len(fact.payload.sources) == 1
        assert at.sites.requests == []


async def test_a_review_that_is_in_the_log_is_not_bought_again(
    tmp_path: Path, stack: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a crash between the verdict's receipt and the acknowledgement, and as when the run is repeated."""
    async with world(tmp_path, stack, monkeypatch, ScriptedModel()) as at:
        claim = at.cites(QUOTE, "/record")
        await at.judged(claim)
        paid = len(at.model.reviews)
        validator = Validator(
            LogRuns(at.bus, EndedRounds(at.bus)), at.blobs, MemoryKeys(), at.model, ListedSources(), SystemClock()
        )
        for repeated, delivery in ((claim, 2), (claim.model_copy(update={"attempt": 2}), 1)):
            assert (await handled(validator.on_claim_proposed(repeated, delivery))).facts == []
        assert len(at.model.reviews) == paid == 1
        *_, anew = (await handled(validator.on_claim_proposed(claim.model_copy(update={"round": 2}), 2))).facts
        assert isinstance(anew, ClaimApproved)
        assert len(at.model.reviews) == 2
