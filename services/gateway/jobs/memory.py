"""Forecasts a job from an earlier extraction of its article for the same account (decision 0081)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Final
from uuid import UUID

from analyses.claim_audit import ClaimAudit
from analyses.claims.answers import ExtractAnswer
from analyses.claims.extraction import ExtractedClaim, extract_claims
from contracts.jobs.requests import AnalyzeRequest
from contracts.jobs.words import ExtractionWords
from contracts.v1 import JobExtracted, JobFetched, LlmStageConfigured, RunFailed
from contracts.v1.ids import sent_memo_id
from contracts.v1.job import AuditOptions
from kit.history import StoredFact
from lifecycle.audits.cache import DECISIVE, Asked, Cached, Hit, Join, look, shape_of
from services.gateway.jobs.expectation import Forecast
from services.gateway.jobs.options import to_fact
from services.gateway.jobs.ports import JobLog, Memos, Words

NO_JOB: Final = UUID(int=0)
_PROMPT: Final = ClaimAudit().extract.prompt.version
_CONFIGURED: Final = f"{LlmStageConfigured.SUBJECT}.extract"


class Memory:
    """Looks for the claims of an article among the account's extractions, and for each of them in the claim cache.

    Each method may raise Unavailable.
    """

    def __init__(self, log: JobLog, words: Words, memos: Memos) -> None:
        self._log = log
        self._words = words
        self._memos = memos

    async def forecast(self, request: AnalyzeRequest, account_id: UUID, now: datetime) -> Forecast | None:
        """Forecast the job's claims; None if no earlier extraction serves it, so that its claims are not known."""
        options = to_fact(request.options)
        if options.cache_preference == "SKIP_CACHE":
            return None
        sent = request.input_text or request.input_url or ""
        job_id = await self._memos.find(sent_memo_id(account_id, sent, _PROMPT))
        if job_id is None:
            return None
        found = await self._recall(job_id, options, now.astimezone(UTC).date())
        return None if found is None else await self._count(found, options, now)

    async def _recall(self, job_id: UUID, options: AuditOptions, today: date) -> dict[UUID, ExtractedClaim] | None:
        """The extracted claims by assertion; None if their words have expired, or another model would extract now."""
        subjects = (f"{JobFetched.SUBJECT}.{job_id}", f"{JobExtracted.SUBJECT}.{job_id}", _CONFIGURED)
        match await self._log.latest(*subjects):
            case [*_, StoredFact(event=JobFetched() as fetched), StoredFact(event=JobExtracted() as extracted)]:
                text = await self._words.get(extracted.extraction)
            case _:  # the stage was configured after the article was fetched
                return None
        if text is None:
            return None
        words = ExtractionWords.model_validate_json(text)
        answer = ExtractAnswer.model_validate_json(words.answer)
        published = words.extraction.article_metadata.published_at
        read = answer.model_copy(update={"language": fetched.language or answer.language})
        claims = extract_claims(read, None, date.fromisoformat(published) if published else today, options.max_claims)
        return {each.assertion_id(claims.language): each for each in claims.claims if each.canonical}

    async def _count(self, claims: dict[UUID, ExtractedClaim], options: AuditOptions, now: datetime) -> Forecast:
        known = await self._find_cached(tuple(claims))
        shape, preference, hits = shape_of(options), options.cache_preference, 0
        for assertion, claim in claims.items():
            asked = Asked(assertion, NO_JOB, 0, shape, claim.volatility.value, preference, may_buy=options.browsing)
            hits += isinstance(look(now, asked, known[assertion]), Hit | Join)  # joining costs nothing
        return Forecast(hits, len(claims) - hits, "memo")

    async def _find_cached(self, assertions: Sequence[UUID]) -> dict[UUID, Cached]:
        known = dict.fromkeys(assertions, Cached())
        for fact in await self._log.latest(*(f"{kind.SUBJECT}.{each}" for each in assertions for kind in DECISIVE)):
            assertion = UUID(fact.event.key())
            known[assertion] = known[assertion].apply(fact.sequence, fact.envelope.occurred_at, fact.event)
        runs = {each.open_run: assertion for assertion, each in known.items() if each.open_run is not None}
        for fact in await self._log.latest(*(f"{RunFailed.SUBJECT}.{run}" for run in runs)):
            failed = runs[UUID(fact.event.key())]
            known[failed] = known[failed].with_run_failed()
        return known
