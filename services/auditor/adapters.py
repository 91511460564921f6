"""The stream `JOBS`, the web and the models, as the auditor's handlers see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Protocol
from uuid import UUID

from contracts.jobs.words import ArticleWords
from contracts.topology import CLAIM_KEYS, JOBS, MEMOS
from contracts.v1 import (
    AssertionAnalysed,
    AssertionAnalysisRequested,
    AssertionInvalidated,
    Event,
    JobEnded,
    JobExtracted,
    JobRequested,
    LlmStageConfigured,
    RunFailed,
    RunStarted,
)
from contracts.v1.run import StageModel
from kit.bus import Bus
from kit.documents.article import ReadArticle
from kit.documents.walls import MIN_LETTERS, count_letters, find_redirect
from kit.errors import Retry
from kit.history import StoredFact, read_history, read_latest, read_latest_from_leader
from kit.kv import Bucket
from kit.models.stages import STEPS, Stage, Stages, StoredStage
from kit.sources import INTERRUPTED, Page, PageUnavailable
from lifecycle.audits.cache import DECISIVE, Analysed, Cached, Invalidated, is_withdrawn
from lifecycle.audits.jobs import Job
from lifecycle.audits.runs import Run, fold_run
from lifecycle.audits.turns import AnalysisTurn
from services.auditor.domain import (
    Article,
    NoArticle,
    explain,
    parse_day,
    parse_language,
    require_length,
)
from services.auditor.ports import LoggedJob

AGAIN_S: Final = 10.0
_NAMES: Final[Mapping[str, Stage]] = {"extract": 1, "analyse": 2, "assess": 3}


class EventLog:
    """Reads the log each time, so that every decision is about what is stored."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def job(self, job_id: UUID) -> LoggedJob | None:
        """The job, or None if the log does not show its request yet."""
        facts = await read_history(self._bus, str(job_id), stream=JOBS)
        request = next((fact for fact in facts if isinstance(fact.event, JobRequested)), None)
        if request is None:
            return None
        job = Job(job_id)
        for fact in facts:
            job.apply(fact.event)
        extracted = next((fact.envelope.occurred_at for fact in facts if isinstance(fact.event, JobExtracted)), None)
        return LoggedJob(job, request.sequence, request.envelope.occurred_at, request.envelope.correlation, extracted)

    async def is_over(self, job_id: UUID) -> bool:
        return bool(await read_latest(self._bus, f"{JobEnded.SUBJECT}.{job_id}", stream=JOBS))

    async def run(self, run_id: UUID) -> Run:
        """The state of a run, folded from its own events."""
        facts = await read_history(self._bus, str(run_id), stream=JOBS)
        return fold_run(run_id, [(fact.sequence, fact.event) for fact in facts])

    async def turn(self, event: AssertionAnalysisRequested) -> AnalysisTurn:
        turn = AnalysisTurn(event.run_id, event.follows)
        for fact in await read_history(self._bus, str(event.assertion_id), stream=JOBS):
            turn.apply(fact.sequence, fact.envelope.occurred_at, fact.event)
        return turn

    async def cached(self, assertion_id: UUID) -> Cached:
        cached = await self._read(assertion_id, *DECISIVE)
        if cached.open_run is None:
            return cached
        failed = await read_latest(self._bus, f"{RunFailed.SUBJECT}.{cached.open_run}", stream=JOBS)
        return cached.with_run_failed() if failed else cached

    async def _read(self, assertion_id: UUID, *kinds: type[Event]) -> Cached:
        """The newest facts of these kinds about an assertion."""
        found = await read_latest(self._bus, *(f"{kind.SUBJECT}.{assertion_id}" for kind in kinds), stream=JOBS)
        cached = _fold(found)
        if not cached.may_be_withdrawn_before:
            return cached
        history = await read_history(self._bus, str(assertion_id), stream=JOBS)
        return _fold([fact for fact in history if isinstance(fact.event, kinds)])

    async def analysis(self, assertion_id: UUID, analysis_id: UUID) -> Analysed | None:
        """An analysis, nearly always the newest; None if it was withdrawn."""
        cached = await self._read(assertion_id, AssertionAnalysed, AssertionInvalidated)
        found = cached.analysed
        if found is not None and found.event.analysis_id == analysis_id:
            return None if is_withdrawn(found, cached.invalidated) else found
        facts = await read_history(self._bus, str(assertion_id), stream=JOBS)
        found = next(
            Analysed(fact.sequence, fact.envelope.occurred_at, fact.event)
            for fact in facts
            if isinstance(fact.event, AssertionAnalysed) and fact.event.analysis_id == analysis_id
        )
        withdrawals = (
            Invalidated(fact.sequence, fact.event) for fact in facts if isinstance(fact.event, AssertionInvalidated)
        )
        return None if any(is_withdrawn(found, each) for each in withdrawals) else found

    async def starts(self, runs: Sequence[UUID]) -> Mapping[UUID, datetime]:
        found = await read_latest(self._bus, *(f"{RunStarted.SUBJECT}.{run}" for run in runs), stream=JOBS)
        return {UUID(fact.event.key()): fact.envelope.occurred_at for fact in found}

    async def request_analysis(self, event: AssertionAnalysisRequested, correlation: UUID) -> bool:
        return await self._bus.publish_if_first(event, correlation)


def _fold(facts: Sequence[StoredFact]) -> Cached:
    cached = Cached()
    for fact in facts:
        cached = cached.apply(fact.sequence, fact.envelope.occurred_at, fact.event)
    return cached


class JobsLog:
    """The stream, read from its leader, which never lags: decisions depend on what is absent from it.

    Raises: Outage: it could not be read now. BusError: nothing was confirmed.
    """

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def newest(self, *subjects: str) -> list[StoredFact]:
        return await read_latest_from_leader(self._bus, *subjects, stream=JOBS)

    async def history(self, key: str) -> list[StoredFact]:
        return await read_history(self._bus, key, stream=JOBS)

    async def publish(self, event: Event, correlation: UUID) -> bool:
        return await self._bus.publish_if_first(event, correlation)


class BucketMemos:
    """The job whose extraction serves others, by memo; entries of the bucket live as long as a job's words."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def find(self, memo_id: UUID) -> JobExtracted | None:
        job = await (await Bucket.open(self._bus, MEMOS)).get(str(memo_id))
        if job is None:
            return None
        found = await read_latest(self._bus, f"{JobExtracted.SUBJECT}.{job.decode()}", stream=JOBS)
        return next((fact.event for fact in found if isinstance(fact.event, JobExtracted)), None)

    async def keep(self, memo_id: UUID, job_id: UUID) -> None:
        await (await Bucket.open(self._bus, MEMOS)).put(str(memo_id), str(job_id).encode())


class BucketKeys:
    """The assertion that had a published key first; entries of the bucket live as long as its first analysis."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def is_shared(self, event: AssertionAnalysisRequested) -> bool:
        bucket = await Bucket.open(self._bus, CLAIM_KEYS)
        key, own = f"{event.norm_version}.{event.language}.{event.canonical_sha256}", str(event.assertion_id).encode()
        return not await bucket.create(key, own) and await bucket.get(key) not in (None, own)


class WebArticles:
    """Articles from the web."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def fetch(self, address: str, accepted_at: datetime) -> Article:
        return await fetch_article(self._pages, address, accepted_at)


class ConfiguredStages:
    """The model of each stage: the one that an operator stored, else the one in the settings."""

    def __init__(self, bus: Bus, models: Stages) -> None:
        self._bus = bus
        self._models = models

    async def models(self) -> Mapping[str, StageModel]:
        found = await read_latest(self._bus, *(f"{LlmStageConfigured.SUBJECT}.{name}" for name in _NAMES), stream=JOBS)
        stored: dict[Stage, StoredStage] = {
            _NAMES[event.stage]: StoredStage(event.provider, event.model, event.max_tokens, event.temperature)
            for fact in found
            if isinstance(event := fact.event, LlmStageConfigured)
        }
        return {step: self._models.resolve(stage, stored.get(stage)) for stage, step in STEPS.items()}


class Pages(Protocol):
    """Pages by address."""

    async def get(self, address: str) -> Page[ReadArticle] | PageUnavailable: ...


async def fetch_article(pages: Pages, address: str, accepted_at: datetime) -> Article:
    """Read the article at an address. Raises: NoArticle. Retry: the process that read it was killed."""
    page = await pages.get(address)
    if isinstance(page, PageUnavailable):
        if page.reason == INTERRUPTED:
            raise Retry(AGAIN_S, "the reading of the article was ended from outside")
        raise NoArticle(explain(page.reason))
    found = page.text
    if wall := found.wall or find_redirect(address, page.final_url):
        raise NoArticle("FETCH_FAILED" if wall == "missing" else "NOT_PUBLIC")
    if count_letters(found.text) < MIN_LETTERS:
        raise NoArticle("UNSUPPORTED_CONTENT")
    published = parse_day(found.published, accepted_at)
    words = ArticleWords(
        text=require_length(found.text),
        title=found.title,
        address=page.final_url,
        author=found.author,
        publisher=found.publisher,
        published=published,
    )
    return Article(words, published or accepted_at.astimezone(UTC).date(), parse_language(found.language))
