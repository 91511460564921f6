"""Extracts an article's claims by asking a model, or by reusing the answer to an earlier job of the account.

The model is shown no options, and code makes the claims from its answer. So an answer serves every later job with the
same model and article, whatever its options.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Final
from uuid import UUID

from analyses.claim_audit import Article
from analyses.claims.answers import ExtractAnswer
from analyses.claims.extraction import Extraction, extract_claims
from contracts.jobs.words import ArticleWords, ExtractionWords, RequestWords
from contracts.v1 import Event, JobExtracted, JobFetched, JobRequested
from contracts.v1.ids import memo_id, sent_memo_id, step_run_id
from contracts.v1.run import RunEnd, StageModel
from kit.clock import Clock
from lifecycle.audits.cache import Asked, Hit, look, shape_of
from lifecycle.audits.runs import EXTRACT
from lifecycle.audits.words import run_folder
from services.auditor.domain import CLAIM_AUDIT, Answered, RunRequest
from services.auditor.extraction import describe_claims, write_document
from services.auditor.materials import load_article
from services.auditor.ports import Log, Memos, RunsPort, Texts

EXTRACT_S: Final = 120.0


class Extractor:
    """Extracts claims. Units: `call_micro_usd` is the most that one request to a model may cost."""

    def __init__(self, log: Log, texts: Texts, runs: RunsPort, memos: Memos, clock: Clock, call_micro_usd: int) -> None:
        self._log = log
        self._texts = texts
        self._runs = runs
        self._memos = memos
        self._clock = clock
        self._call_micro_usd = call_micro_usd

    async def extract(self, request: JobRequested, fetched: JobFetched, delivery_count: int) -> AsyncIterator[Event]:
        """Have a model find the claims, or reuse an earlier answer; code gives them keys, classes and places."""
        words, article = await load_article(self._texts, fetched)
        model = next(each for each in fetched.stages if each.step == EXTRACT)
        memo = _name_memo(request.account_id, fetched, words, model)
        earlier = None if request.options.cache_preference == "SKIP_CACHE" else await self._memos.find(memo)
        answer = None if earlier is None else await self._recall(earlier)
        if earlier is not None and answer is not None:
            yield await self._describe(request, fetched, words, article, answer, memo_id=memo, memo_of=earlier.job_id)
            return
        memos = memo, await self._name_sent(request)
        wanted: RunRequest[Article, ExtractAnswer] = RunRequest(
            run_id=step_run_id(request.job_id, EXTRACT),
            subject_id=request.job_id,
            step=CLAIM_AUDIT.extract,
            rules=CLAIM_AUDIT.rules,
            material=article,
            model=model,
            until=request.input.until,
            folder=run_folder(request.job_id, EXTRACT),
            call_micro_usd=self._call_micro_usd,
            run_s=EXTRACT_S,
        )
        async for item in self._runs.carry_out(wanted, delivery_count):
            if isinstance(item, Event):
                yield item
            elif isinstance(item, Answered):
                if await self._log.is_over(request.job_id):
                    return  # cancelled meanwhile: its words are removed, and nothing may be kept of them
                extracted, _ = await asyncio.gather(  # a memo is used only once its job has an extraction
                    self._describe(request, fetched, words, article, item.answer, memo_id=memo, end=item.end),
                    asyncio.gather(*(self._memos.keep(each, request.job_id) for each in memos)),
                )
                yield extracted

    async def _name_sent(self, request: JobRequested) -> UUID:
        """The id of the memo by which an estimate finds the extraction."""
        words = RequestWords.model_validate_json(await self._texts.get(request.input))
        return sent_memo_id(request.account_id, words.text or words.url or "", CLAIM_AUDIT.extract.prompt.version)

    async def _recall(self, earlier: JobExtracted) -> ExtractAnswer | None:
        """The model's answer for an earlier job; None if it has expired."""
        try:
            words = ExtractionWords.model_validate_json(await self._texts.get(earlier.extraction))
        except LookupError:
            return None
        return ExtractAnswer.model_validate_json(words.answer)

    async def _describe(
        self,
        request: JobRequested,
        fetched: JobFetched,
        words: ArticleWords,
        article: Article,
        answer: ExtractAnswer,
        *,
        memo_id: UUID,
        memo_of: UUID | None = None,
        end: RunEnd | None = None,
    ) -> JobExtracted:
        """Store the extraction, and return the event that refers to it."""
        read = answer if fetched.language is None else answer.model_copy(update={"language": fetched.language})
        sent = article.text if request.input_type == "TEXT" else None
        found = extract_claims(read, sent, fetched.reference_day, request.options.max_claims)
        is_free = request.mode == "CACHE_ONLY" or memo_of is not None
        cost = 0 if is_free else request.prices.extract_micro_usd
        stored = ExtractionWords(
            extraction=write_document(request, fetched, words, found, await self._find_cached(request, found), cost),
            queries=tuple(each.found.queries for each in found.claims),
            answer=answer.model_dump_json(),
        )
        return JobExtracted(
            job_id=request.job_id,
            extraction=await self._texts.put(stored.model_dump_json(), request.input.until),
            memo_id=memo_id,
            memo_of=memo_of,
            claims=describe_claims(found),
            end=end,
        )

    async def _find_cached(self, request: JobRequested, found: Extraction) -> frozenset[str]:
        """The hashes of the further claims that have an analysis in the cache."""
        assertions = [claim.assertion_id(found.language) for claim in found.more_claims]
        known = await asyncio.gather(*(self._log.cached(assertion) for assertion in assertions))
        now, shape, hashes = self._clock.now(), shape_of(request.options), set()
        for claim, assertion, cached in zip(found.more_claims, assertions, known, strict=True):
            asked = Asked(assertion, request.job_id, 0, shape, claim.volatility.value, "CACHE_ONLY", may_buy=False)
            if isinstance(look(now, asked, cached), Hit):
                hashes.add(claim.claim_hash)
        return frozenset(hashes)


def _name_memo(account: UUID, fetched: JobFetched, words: ArticleWords, model: StageModel) -> UUID:
    """The id of a memo, from all that an answer depends on: what the model is shown, which model, and which account."""
    described = sha256(words.model_dump_json().encode()).hexdigest()
    beside = sha256(f"{described}\n{model.model_dump_json()}".encode()).hexdigest()
    return memo_id(account, fetched.content_sha256, beside, CLAIM_AUDIT.extract.prompt.version)
