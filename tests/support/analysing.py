"""The surroundings of one claim's analysis: a log, texts that outlive a process, pages, and a scripted provider."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from prometheus_client import CollectorRegistry

from analyses.claim_audit_prompts import ANALYSE_CLOSING
from analyses.claims.normalise import NORMATIVE
from contracts.jobs.result import AnalysisBody
from contracts.jobs.words import ClaimWords
from contracts.v1 import AssertionAnalysed, AssertionAnalysisRequested, Event
from contracts.v1.assertion import Shape
from contracts.v1.ids import analysis_run_id, assertion_id
from contracts.v1.run import StageModel
from kit.documents.readable import Readable
from kit.ephemeral import EphemeralTexts
from kit.errors import Retry
from kit.models.base import Model
from kit.settings import SettingsError
from kit.sources import Page, PageUnavailable
from kit.web import parse_url
from lifecycle.audits.runs import ANALYSE, Run, fold_run
from lifecycle.audits.turns import AnalysisTurn
from services.auditor.analysis import Analyst
from services.auditor.evidence import EvidencePages
from services.auditor.metrics import AuditorMetrics
from services.auditor.ports import RunsPort
from services.auditor.runs import Runs
from tests.support.audits import hash_of
from tests.support.factories import NOW
from tests.support.fakes import MemoryLog, StillClock
from tests.support.mortal import Life, Store
from tests.support.openai_server import Answer, OpenAIServer, Request, Turn, call, message, openai_server
from tests.support.providers import KEY, OPENAI, Api
from tests.support.publishers import FixedScores

CLAIM: Final = "The tower is 330 metres tall."
WORDS: Final = ClaimWords(text=CLAIM, canonical="canonical", reference_day=NOW.date())
ASSERTION: Final = assertion_id(NORMATIVE, "en", hash_of("canonical"), hash_of("guard"))
JOB: Final = UUID(int=0x10B)
STANDARD: Final = Shape(scenarios=2, evidence=6)
MODEL: Final = StageModel(step=ANALYSE, provider="openai", model="gpt-5.4", max_tokens=16_384, temperature=0.3)
QUOTE: Final = "the tower is 330 metres tall"
OFFICE: Final = "https://office.example/tower"
PAPER: Final = "https://paper.test/tower"


def write_page(text: str, *, canonical: str | None = None, published: str | None = None) -> Readable:
    return Readable("A page", text, canonical=canonical, published=published)


def pad(name: str) -> str:
    """Words that no other page has."""
    return " ".join(f"{name}{number}" for number in range(40))


PAGES: Final[Mapping[str, Readable]] = {
    OFFICE: write_page(f"We measured it: {QUOTE}. {pad('alpha')}", published="2026-02-01T23:30:00-02:00"),
    PAPER: write_page(f"Another office says: {QUOTE}. {pad('beta')}"),
}


def item(url: str, *quotes: str, supports: bool = True, **more: Any) -> dict[str, Any]:
    given = {"supports": supports, "url": url, "title": "T", "quotes": quotes or (QUOTE,), "relevance": 0.9}
    return {**given, **more}


def scenario(*items: dict[str, Any], probability: float | None = 0.95, **more: Any) -> dict[str, Any]:
    given = {"description": "As it stands", "explanation": "It was measured.", "confidence": 0.97}
    return {**given, "probability": probability, "evidence": items, **more}


def answer(*scenarios: dict[str, Any], recommended: int = 1) -> dict[str, Any]:
    return {"scenarios": scenarios, "recommended": recommended}


_CALL_ID: Final = re.compile(r"'page-(\d+)'")
CONFIDENT: Final = answer(scenario(item(OFFICE), item(PAPER)))


class Reader(OpenAIServer):
    """A model that opens these pages, one a turn, and then answers; `trouble` comes first where there is some."""

    def __init__(self, opens: tuple[str, ...] = (OFFICE, PAPER), said: Any = CONFIDENT, api: Api = OPENAI) -> None:
        super().__init__(api.speech())
        self.opens = opens
        self.said = said
        self.trouble: dict[int, Turn] = {}

    def turn(self, request: Request) -> Turn:
        """The turn depends only on the request's place in its own conversation, so conversations may mix."""
        trouble = self.trouble.pop(len(self.requests), None)
        if trouble is not None:
            return trouble
        opened = max((int(each) + 1 for each in _CALL_ID.findall(str(request.body))), default=0)
        if ANALYSE_CLOSING in str(request.body) or opened >= len(self.opens):
            return Answer((message(json.dumps(self.said)),))
        return Answer((call("fetch_url", {"url": self.opens[opened]}, f"page-{opened}"),))


class World:
    """The log, the texts, the pages and the model that analyses of one assertion meet."""

    def __init__(self, pages: Mapping[str, Readable] | None = None) -> None:
        self.log = MemoryLog()
        self.store = Store()
        self.clock = StillClock(NOW)
        self.pages = dict(PAGES if pages is None else pages)
        self.moved: dict[str, str] = {}
        self.fetched: list[str] = []
        self.model: Model | None = None
        self.deliveries = 0
        self.scores = FixedScores()
        self.registry = CollectorRegistry()
        self.metrics = AuditorMetrics(self.registry)

    @property
    def texts(self) -> EphemeralTexts:
        return EphemeralTexts(self.store, self.clock)

    async def get(self, address: str) -> Page[Readable] | PageUnavailable:
        self.fetched.append(address)
        self.store.life.touch()
        url = str(parse_url(address))
        url = self.moved.get(url, url)
        found = self.pages.get(url)
        return PageUnavailable("http_404") if found is None else Page(url, None, NOW, found, "text/html")

    async def turn(self, event: AssertionAnalysisRequested) -> AnalysisTurn:
        self.store.life.touch()
        turn = AnalysisTurn(event.run_id, event.follows)
        for each in self.log.entries:
            if each.event.key() == str(event.assertion_id):
                turn.apply(each.sequence, NOW, each.event)
        return turn

    async def run(self, run_id: UUID) -> Run:
        self.store.life.touch()
        about = [each for each in self.log.entries if each.event.key() == str(run_id)]
        return fold_run(run_id, [(each.sequence, each.event) for each in about])

    def open(self, chosen: StageModel) -> Model:
        assert chosen == MODEL
        if self.model is None:
            raise SettingsError("OPENAI_API_KEY is not set")
        return self.model

    async def request(
        self, shape: Shape = STANDARD, *, job: UUID = JOB, follows: int = 0
    ) -> AssertionAnalysisRequested:
        """Store a request."""
        event = await request_analysis(self.texts, shape, job=job, follows=follows)
        self.log.publish(event)
        return event

    def analyst(self, runs: RunsPort | None = None, call_micro_usd: int = 1_000_000) -> Analyst:
        runs = runs or Runs(self, self.texts, self, self.clock, "one")
        return Analyst(
            self,
            self.texts,
            EvidencePages(self),
            runs,
            self.clock,
            call_micro_usd,
            Decimal("0.5"),
            self.metrics,
            self.scores,
        )

    def hold(self, event: AssertionAnalysisRequested) -> None:
        """Store another job's request, and the words that it refers to."""
        self.store.objects[event.words.name] = WORDS.model_dump_json().encode()
        self.log.publish(event.model_copy(update={"follows": 0}))

    async def deliver(self, event: AssertionAnalysisRequested, life: Life | None = None) -> Retry | None:
        """Deliver once; return the Retry if the delivery was put off."""
        self.deliveries += 1
        self.store.life = life or Life()
        try:
            async for fact in self.analyst().on_assertion_analysis_requested(event, self.deliveries):
                self.store.life.touch()
                self.log.publish(fact)
                self.store.life.touch()
        except Retry as error:
            self.clock.pass_by(error.after_s)
            return error
        return None

    async def analyse(self, said: Any = CONFIDENT, shape: Shape = STANDARD, **reader: Any) -> AssertionAnalysed:
        """Have the claim analysed by a model that answers `said`; return the resulting fact."""
        event = await self.request(shape)
        async with asking(self, Reader(said=said, **reader)):
            assert await self.deliver(event) is None
        return self.analysed[-1]

    @property
    def requests(self) -> list[AssertionAnalysisRequested]:
        return [event for event in self.log.events if isinstance(event, AssertionAnalysisRequested)]

    @property
    def analysed(self) -> list[AssertionAnalysed]:
        return [event for event in self.log.events if isinstance(event, AssertionAnalysed)]

    def of(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.log.events if isinstance(event, kind)]

    async def body(self, fact: AssertionAnalysed) -> AnalysisBody:
        return AnalysisBody.model_validate_json(await self.texts.get(fact.body))


async def request_analysis(
    texts: EphemeralTexts,
    shape: Shape = STANDARD,
    *,
    assertion: UUID = ASSERTION,
    job: UUID = JOB,
    follows: int = 0,
    at: datetime = NOW,
    words: ClaimWords = WORDS,
    language: str = "en",
) -> AssertionAnalysisRequested:
    """A request with its words stored."""
    return AssertionAnalysisRequested(
        follows=follows,
        assertion_id=assertion,
        run_id=analysis_run_id(assertion, follows),
        published_key=f"claim:{NORMATIVE}:{language}:{hash_of('canonical')}",
        norm_version=NORMATIVE,
        language=language,
        canonical_sha256=hash_of("canonical"),
        guard_sha256=hash_of("guard"),
        volatility="SLOW",
        words=await texts.put(words.model_dump_json(), at + timedelta(days=91)),
        shape=shape,
        model=MODEL,
        requested_by=job,
    )


@asynccontextmanager
async def asking(world: World, reader: Reader | None = None, api: Api = OPENAI) -> AsyncIterator[Reader]:
    """The provider that the world's models ask."""
    reader = reader or Reader()
    async with openai_server(reader):
        model = api.make(reader.url, key=KEY, silence_s=5, **({"model": MODEL.model} if api.is_chat else {}))
        world.model = model
        try:
            yield reader
        finally:
            await model.aclose()
