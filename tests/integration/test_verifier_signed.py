"""Posts that prove themselves, over real sockets: the steps of a look-up, its limits, and what is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry

from contracts.v1 import CanonicalFetched, CanonicalUnavailable, Event, ObservationReceived
from contracts.v1.pages import CanonicalPage, Observation
from kit.clock import SystemClock
from kit.web import GuardedHttpClient, Policy
from platforms.atproto.cbor import decode
from platforms.atproto.records import HIDDEN
from services.verifier.adapters import SitePages
from services.verifier.domain import Lifetimes
from services.verifier.fetching import Fetcher
from services.verifier.handlers import Verifier
from tests.integration.test_verifier import PATIENCE, MemoryTexts
from tests.support.bluesky import RECORD, RESOLVE, Network, observation
from tests.support.repositories import (
    DID,
    POST_PATH,
    PROFILE_PATH,
    Repository,
    Signer,
    post,
    profile,
)  # fmt: skip
from tests.support.sites import Answer, Sites

WORDS = "Tea is the most consumed drink."


@dataclass
class World:
    """The verifier and the servers that it asks."""

    sites: Sites
    network: Network
    texts: MemoryTexts
    verifier: Verifier
    pages: SitePages

    async def verify(self, seen: Observation) -> Event:
        """The one event that follows from an observation."""
        received = ObservationReceived(observation=seen)
        (event,) = [each async for each in self.verifier.on_observation_received(received, 1)]
        return event

    async def page(self, seen: Observation | None = None) -> CanonicalPage:
        """The proved page."""
        event = await self.verify(seen or observation())
        assert isinstance(event, CanonicalFetched), event
        return event.page

    async def refusal(self, seen: Observation | None = None) -> tuple[str, str]:
        """Why there is none: the code, and what the detail begins with."""
        event = await self.verify(seen or observation())
        assert isinstance(event, CanonicalUnavailable), event
        return event.reason, event.detail.partition(":")[0]


def repository(at: datetime | None = None) -> Repository:
    return Repository({POST_PATH: post(WORDS), PROFILE_PATH: profile()}, at=at or datetime.now(UTC))


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    async with Sites() as sites:
        network = Network(repository())
        policy = Policy("https://contact.example/", max_bytes=10_000_000, exempt_origins=frozenset({sites.url}))
        async with GuardedHttpClient(policy) as http:
            texts = MemoryTexts()
            pages = SitePages(
                Fetcher(http, SystemClock(), PATIENCE),
                Lifetimes(page_s=0.0, failure_s=0.0, refusal_s=0.0),
                texts,
                SystemClock(),
                network.serve(sites),
                CollectorRegistry(),
                capacity=100,
                cached=100,
            )
            yield World(sites, network, texts, Verifier(pages), pages)
            await pages.close()


@pytest.mark.requirement("FS-50", "FS-51")
async def test_a_post_is_proved_in_four_steps_and_its_proof_is_kept() -> None:
    """FS-50: The text is taken only from a proved record.
    FS-51: A version is pinned to address and hash of its record.
    """
    async with world() as at:
        page = await at.page()
        assert page.text is not None
        assert at.texts.texts[page.text.sha256] == WORDS
        assert [seen.path for seen in at.sites.requests] == [f"/{DID}", RESOLVE, RECORD, RECORD]
        assert page.proof is not None
        assert page.metadata["proof_sha256"] == page.proof.sha256
        kept = decode(at.texts.objects[page.proof.sha256])
        assert isinstance(kept, dict)
        assert sorted(kept) == ["document", "post", "profile"]

        at.network.repository = replace(at.network.repository, records={POST_PATH: post("Coffee.")})
        other = await at.page(observation(DID))
        assert other.post == page.post
        assert other.revision_id != page.revision_id


@pytest.mark.requirement("FS-50")
async def test_an_older_revision_than_the_known_one_is_refused() -> None:
    """FS-50: The text is taken only from a proved record."""
    async with world() as at:
        await at.page()
        at.network.repository = repository(datetime.now(UTC) - timedelta(days=1))
        assert await at.refusal() == ("bad_answer", "revision")


@pytest.mark.requirement("FS-50", "FS-52")
async def test_what_is_not_proved_is_refused_for_its_reason() -> None:
    """FS-50: The text is taken only from a proved record.
    FS-52: An author's wish not to be shown without an account means not public.
    """
    async with world() as at:
        whole = at.network.repository
        at.network.repository = replace(whole, signer=Signer("K-256"))
        await at.page()  # a key that was changed signs anew
        at.network.forge = lambda _: whole.car(POST_PATH)
        assert await at.refusal() == ("bad_answer", "signature")
        at.network.forge = lambda car: car + b"\xff"
        assert await at.refusal() == ("bad_answer", "car")
        at.network.forge = lambda car: car + b"\0" * 1_000_000
        assert (await at.refusal())[0] == "too_large"
        at.network.forge = bytes
        at.network.repository = replace(whole, records={})
        assert (await at.refusal())[0] == "not_found"
        at.network.repository = replace(whole, records={POST_PATH: post(WORDS), PROFILE_PATH: profile("Ann", HIDDEN)})
        assert (await at.refusal())[0] == "hidden_by_author"
        at.network.error = "RepoTakendown"
        assert (await at.refusal())[0] == "not_public"


async def test_a_server_that_leads_elsewhere_is_not_followed() -> None:
    async with world() as at, Sites() as elsewhere:
        at.network.serve(elsewhere)
        location = {"location": f"{elsewhere.url}{RECORD}"}
        at.sites.pages[RECORD] = Answer(302, location)
        event = await at.verify(observation())
        assert isinstance(event, CanonicalUnavailable)
        assert event.reason in ("blocked_address", "blocked_port", "other_host")
        assert elsewhere.requests == []


async def test_a_did_that_the_directory_does_not_know_is_not_found() -> None:
    async with world() as at:
        at.sites.pages[f"/{DID}"] = Answer(410)
        assert (await at.refusal())[0] == "not_found"
