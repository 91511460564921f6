"""A world for the gateway without servers, and a client that speaks to it as the extension does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from math import inf
from typing import Any
from uuid import UUID

import httpx
from prometheus_client import CollectorRegistry, generate_latest

from contracts.accounts import WITHOUT_ACCOUNT, Right
from contracts.jobs.receipts import PublicKeys
from contracts.rpc.public import PublicResult
from contracts.rpc.status import VersionKey
from contracts.v1 import Event, InvestigationRequested, OnceEvent, VersionRegistered
from contracts.v1.ids import post_id, version_id
from contracts.v1.observation import ObservationEvent
from contracts.v1.pages import Observation, Sighting
from contracts.v1.parts import ClaimPayload, PublishedClaim, Source, TextRef
from kit.database import Database
from kit.model_settings import LlmSettings
from kit.receipts import ReceiptKey
from kit.vault import MasterKey
from services.gateway.assembly import Dependencies, assemble
from services.gateway.domain import Account, InstanceKey
from services.gateway.jobs.routes import JobDependencies
from services.gateway.jobs.stages import StageSettings
from services.gateway.ports import (
    Eligibility,
    InvestigationState,
    KeyVerdict,
    ObservationRejected,
    StoredEvent,
    Unavailable,
    VersionView,
)
from services.gateway.record.repository import PublicRecord
from services.gateway.settings import GatewaySettings
from tests.support.catalogue import MemoryCatalogue
from tests.support.desk import MemoryDesk
from tests.support.event_log import MemoryEvents
from tests.support.fakes import StillClock
from tests.support.job_log import MemoryJobLog, MemoryMemos, MemoryWords
from tests.unit.gateway import shapes

NOW = datetime(2026, 3, 4, 5, 6, 7, 89_000, tzinfo=UTC)
ADDRESS = "203.0.113.7"
VERSION = UUID("00000000-0000-4000-8000-0000000000aa")
POST = UUID("00000000-0000-4000-8000-0000000000bb")
INVESTIGATION = UUID("00000000-0000-4000-8000-0000000000cc")
USER_KEY = "sk-abcdefghijklmnopqrstuvwx"


@dataclass
class Tables:
    """The read model as dictionaries; counts how often it is asked. `read` is called once it was read."""

    views: dict[UUID, VersionView] = field(default_factory=dict)
    investigations: dict[UUID, InvestigationState] = field(default_factory=dict)
    eligibilities: dict[UUID, Eligibility] = field(default_factory=dict)
    counts: dict[tuple[str, str, str], int] = field(default_factory=dict)
    published: dict[UUID, PublicResult] = field(default_factory=dict)
    erased: set[UUID] = field(default_factory=set)
    posts: set[UUID] = field(default_factory=set)
    asked: int = 0
    error: Exception | None = None
    read: Callable[[], object] | None = None

    def _asked(self) -> None:
        self.asked += 1
        if self.error is not None:
            raise self.error
        if self.read is not None:
            self.read()

    async def view(self, version_id: UUID) -> VersionView | None:
        self._asked()
        return self.views.get(version_id)

    async def investigation(self, investigation_id: UUID) -> InvestigationState | None:
        self._asked()
        return self.investigations.get(investigation_id)

    async def eligibility(self, version_id: UUID) -> Eligibility | None:
        self._asked()
        return self.eligibilities.get(version_id)

    async def claim_counts(self, keys: Sequence[VersionKey]) -> Sequence[int | None]:
        self._asked()
        return [self.counts.get((key.platform, key.external_id, key.version_hash.lower())) for key in keys]

    async def document(self, investigation_id: UUID) -> PublicResult | None:
        self._asked()
        return self.published.get(investigation_id)

    async def knows_post(self, post_id: UUID) -> bool:
        self._asked()
        return post_id in self.posts

    async def erased_posts(self) -> frozenset[UUID]:
        if self.error is not None:
            raise self.error
        return frozenset(self.erased)


def registered(observation: Observation) -> Event:
    """What ingest makes of an observation that nobody contradicts."""
    text = observation.text or observation.html
    assert text is not None
    version_hash = sha256(text.sha256.encode()).hexdigest()
    post = post_id(observation.post)
    return VersionRegistered(
        version_id=version_id(post, version_hash),
        post_id=post,
        post=observation.post,
        version_hash=version_hash,
        provenance="CLIENT_FALLBACK",
        sighting=Sighting(observation_id=observation.observation_id, url=observation.url),
        content=text,
        word_count=2,
        occurrences_hash="0" * 64,
    )


@dataclass
class Log:
    """The log: keeps what it is told, answers observations, and knows how far the read model is."""

    clock: StillClock
    told: list[Event] = field(default_factory=list)
    asked: list[ObservationEvent] = field(default_factory=list)
    requests: int = 0
    waited_for: list[int] = field(default_factory=list)
    refusal: str | None = None
    outage: bool = False
    behind: bool = False
    waited_in_vain: int = 0
    gate: asyncio.Event | None = None
    standing: Event | None = None
    answer: Callable[[Observation], Event] = registered

    async def publish(self, event: Event, correlation: UUID) -> int:
        if self.outage:
            raise Unavailable("broker")
        self.told.append(event)
        return len(self.told)

    async def latest_request(self, investigation_id: UUID) -> InvestigationRequested:
        assert isinstance(self.standing, InvestigationRequested)
        return self.standing

    async def publish_once(self, event: OnceEvent, correlation: UUID) -> StoredEvent:
        if self.standing is not None:
            return StoredEvent(self.standing, 1)
        return StoredEvent(event, await self.publish(event, correlation))

    async def request(self, event: Event, correlation: UUID) -> StoredEvent:
        assert isinstance(event, ObservationEvent)
        self.requests += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.outage:
            raise Unavailable("broker")
        if self.refusal is not None:
            raise ObservationRejected(self.refusal)
        self.asked.append(event)
        return StoredEvent(self.answer(event.observation), 100 + len(self.asked))

    async def wait_for_projection(self, sequence: int) -> None:
        if self.behind:
            self.waited_in_vain += 1
            raise Unavailable("read model")
        self.waited_for.append(sequence)


class InlineTexts:
    async def put_text(self, text: str) -> TextRef:
        data = text.encode()
        return TextRef(sha256=sha256(data).hexdigest(), size_bytes=len(data), inline=text)


class KeptCopies:
    """Archived pages as a dictionary."""

    def __init__(self, *pages: bytes) -> None:
        self.pages = {sha256(page).hexdigest(): page for page in pages}

    async def copy(self, sha256: str) -> bytes | None:
        return self.pages.get(sha256)


@dataclass
class KeptKeys:
    """Keys by run and by the name that its request has for them."""

    kept: dict[tuple[UUID, UUID | None], str] = field(default_factory=dict)

    async def attach(self, investigation_id: UUID, attachment: UUID | None, api_key: str) -> bool:
        if (investigation_id, attachment) in self.kept:
            return False
        self.kept[investigation_id, attachment] = api_key
        return True

    async def discard(self, investigation_id: UUID, attachment: UUID | None) -> None:
        self.kept.pop((investigation_id, attachment), None)


@dataclass
class ScriptedProbe:
    verdict: KeyVerdict = field(default_factory=lambda: KeyVerdict("valid"))
    probed: list[str] = field(default_factory=list)

    async def probe(self, api_key: str) -> KeyVerdict:
        self.probed.append(api_key)
        return self.verdict


@dataclass
class KeyTable:
    hashes: dict[str, InstanceKey] = field(default_factory=dict)
    reads: int = 0
    look_ups: int = 0

    async def active(self) -> Mapping[str, InstanceKey]:
        self.reads += 1
        return self.hashes

    async def find(self, key_hash: str) -> InstanceKey | None:
        self.look_ups += 1
        return self.hashes.get(key_hash)

    def add(self, api_key: str, *rights: Right, account: Account | None = None) -> None:
        held = frozenset(rights or WITHOUT_ACCOUNT)
        self.hashes[sha256(api_key.encode()).hexdigest()] = InstanceKey(held, account)


@dataclass
class Signs:
    names: tuple[str, ...] = ()
    helpful: tuple[str, ...] = ()
    asked: int = 0
    helpful_asked: int = 0

    async def find_failing(self) -> tuple[str, ...]:
        self.asked += 1
        return self.names

    async def find_degraded(self) -> tuple[str, ...]:
        self.helpful_asked += 1
        return self.helpful


@dataclass
class Room:
    """Free space; counts how often it is asked for."""

    left: float = inf
    asked: int = 0
    error: Exception | None = None

    async def free_bytes(self) -> float:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return self.left


class AnnouncedKeys:
    """The key that receipts of tests are signed with."""

    async def read(self) -> PublicKeys:
        return PublicKeys(keys=(ReceiptKey(bytes(32)).public,))


class MemoryLookups:
    """Documents of private look-ups; `failing`: the store does not answer. `asked` counts requests."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.failing = False
        self.asked = 0

    async def get(self, name: str) -> bytes | None:
        self.asked += 1
        if self.failing:
            raise Unavailable("blob store: silent")
        return self.objects.get(name)


class Bench:
    """A gateway with everything around it in reach."""

    def __init__(
        self,
        *,
        record: PublicRecord | None = None,
        prices: Mapping[str, Decimal] | None = None,
        heartbeat_s: float = 15,
        catalogue: bool = False,
        **settings: Any,
    ) -> None:
        self.heartbeat_s = heartbeat_s
        self.clock = StillClock()
        self.reads = Tables()
        self.log = Log(self.clock)
        self.events = MemoryEvents()
        self.user_keys = KeptKeys()
        self.probe = ScriptedProbe()
        self.key_table = KeyTable()
        self.jobs = MemoryJobLog(self.clock)
        self.words = MemoryWords(self.clock)
        self.memos = MemoryMemos()
        self.catalogue = MemoryCatalogue()
        self.desk = MemoryDesk()
        self.health = Signs()
        self.room = Room()
        self.lookups = MemoryLookups()
        self.registry = CollectorRegistry()
        nowhere = Database("postgresql+psycopg://reader@127.0.0.1:9/none", role="reader")
        self.app = assemble(
            GatewaySettings(**settings),
            Dependencies(
                reads=self.reads,
                documents=self.reads,
                record=PublicRecord(nowhere),
                graphql_record=record or PublicRecord(nowhere),
                facts=self.log,
                events=self.events,
                texts=InlineTexts(),
                copies=KeptCopies(),
                lookups=self.lookups,
                user_keys=self.user_keys,
                key_probe=self.probe,
                key_register=self.key_table,
                jobs=JobDependencies(
                    log=self.jobs,
                    words=self.words,
                    memos=self.memos,
                    keys=AnnouncedKeys(),
                    catalogue=self.catalogue,
                    stages=StageSettings(self.jobs, LlmSettings(), "", prices or {}),
                    job_s=900,
                    heartbeat_s=self.heartbeat_s,
                    stall_s=5,
                ),
                health=self.health,
                space=self.room,
                desk=self.desk,
                master_keys=(MasterKey(bytes(32)),),
                clock=self.clock,
                registry=self.registry,
            ),
            catalogue=catalogue,
        )
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False, client=(ADDRESS, 1))
        self.http = httpx.AsyncClient(
            transport=transport,
            base_url="http://gateway",
            headers={"x-openerrata-extension-version": "0.3.3", "user-agent": "Mozilla/5.0"},
        )

    @property
    def metrics(self) -> str:
        """What Prometheus would be told."""
        return generate_latest(self.registry).decode()

    async def query(self, procedure: str, question: object = None, **headers: str) -> httpx.Response:
        """Ask as the extension asks."""
        params = {} if question is None else {"input": json.dumps(question)}
        return await self.http.get(f"/trpc/{procedure}", params=params, headers=_names(headers))

    async def mutate(self, procedure: str, body: object, **headers: str) -> httpx.Response:
        """Send as the extension sends."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"content-type": "application/json", **_names(headers)}
        return await self.http.post(f"/trpc/{procedure}", content=content, headers=sent)


def _names(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def data(procedure: str, response: httpx.Response) -> Any:
    """The answer inside a success, after the extension's own check."""
    assert response.status_code == 200, response.text
    body = response.json()
    assert list(body) == ["result"]
    assert list(body["result"]) == ["data"]
    shapes.check(procedure, body["result"]["data"])
    return body["result"]["data"]


def error(response: httpx.Response) -> Any:
    """The data of an error envelope, whose status must be the response's."""
    body = response.json()
    assert list(body) == ["error"]
    assert set(body["error"]) == {"message", "code", "data"}
    assert body["error"]["data"]["httpStatus"] == response.status_code
    return body["error"]["data"]


def claim(number: int = 1) -> PublishedClaim:
    """A finding."""
    return PublishedClaim(claim_id=UUID(int=number), payload=payload(number))


def payload(number: int = 1) -> ClaimPayload:
    """A candidate."""
    source = Source(url=f"https://example.org/{number}", title="Example", snippet="It is not.")
    text = f"The moon is made of cheese {number}."
    return ClaimPayload(
        text=text, context=f"He said: {text}", summary="It is rock.", reasoning="See.", sources=(source,)
    )


def post_on_x(**changes: object) -> dict[str, Any]:
    """A well-formed observation."""
    return {
        "platform": "X",
        "url": "https://x.com/someone/status/1234567890",
        "externalId": "1234567890",
        "observedContentText": "Alpha beta",
        "metadata": {"authorHandle": "someone", "text": "Alpha beta", "mediaUrls": []},
        **changes,
    }


def post_on_lesswrong(**changes: object) -> dict[str, Any]:
    """A well-formed observation."""
    return {
        "platform": "LESSWRONG",
        "url": "https://www.lesswrong.com/posts/aBcDeFgHiJkLmNoPq/a-slug",
        "externalId": "aBcDeFgHiJkLmNoPq",
        "metadata": {"slug": "a-slug", "htmlContent": "<p>Alpha beta</p>", "tags": []},
        **changes,
    }


def post_on_substack(**changes: object) -> dict[str, Any]:
    """A well-formed observation."""
    return {
        "platform": "SUBSTACK",
        "url": "https://example.substack.com/p/a-slug",
        "externalId": "123456",
        "observedContentText": "Alpha beta",
        "metadata": {
            "substackPostId": "123456",
            "publicationSubdomain": "example",
            "slug": "a-slug",
            "title": "A title",
            "authorName": "Somebody",
        },
        **changes,
    }


def post_on_wikipedia(**changes: object) -> dict[str, Any]:
    """A well-formed observation."""
    return {
        "platform": "WIKIPEDIA",
        "url": "https://en.wikipedia.org/wiki/Albert_Einstein",
        "observedContentText": "Alpha beta",
        "metadata": {"language": "en", "title": "Albert Einstein", "pageId": "736", "revisionId": "1"},
        **changes,
    }
