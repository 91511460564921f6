"""A job up to its plan: what is stored is not done again, what fails says why, and what is cached is not bought."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from contracts.jobs.words import ArticleWords, ClaimWords, ExtractionWords
from contracts.v1 import (
    AssertionAnalysisRequested,
    Event,
    JobEnded,
    JobExtracted,
    JobFetched,
    JobPlanned,
    RunFailed,
)
from contracts.v1.job import AuditOptions
from kit.errors import Outage
from lifecycle.audits.cache import LIFETIME, Cached
from lifecycle.audits.runs import ANALYSE, ASSESS, EXTRACT
from services.auditor.domain import Article, NoArticle, RunRequest
from tests.support.auditing import CLAIMS, JOB, MODELS, TEXT, World
from tests.support.concluding_jobs import analysed
from tests.support.factories import NOW


async def test_a_text_becomes_claims_and_a_plan() -> None:
    world = World()
    fetched, extracted, planned = await world.whole()
    assert isinstance(fetched, JobFetched)
    assert (fetched.characters, fetched.reference_day) == (len(TEXT), NOW.date())
    assert [each.step for each in fetched.stages] == [EXTRACT, ANALYSE, ASSESS]
    assert isinstance(extracted, JobExtracted)
    document = ExtractionWords.model_validate_json(world.texts[extracted.extraction.sha256]).extraction
    texts = [each["text"] for each in CLAIMS]
    assert [each.claim_text for each in document.claims] == [texts[0], texts[1], texts[3]]
    assert document.claims[0].spans is not None
    assert isinstance(planned, JobPlanned)
    assert [each.outcome for each in planned.claims] == ["OWN", "OWN", "UNUSABLE"]
    requests = [event for event in world.log.events if isinstance(event, AssertionAnalysisRequested)]
    words = ClaimWords.model_validate_json(world.texts[requests[0].words.sha256])
    assert (words.text, words.canonical) == ("The sky is blue.", "the sky is blue")
    assert requests[0].words.until > NOW + LIFETIME, "a stale analysis is renewed from them"
    assert requests[0].published_key.endswith("4d856725cba58f4435ccded2e23dc7842bfd7157f966d8164828f37740b3fb77")


@pytest.mark.requirement("FH-129")
async def test_a_job_pins_its_epoch_when_it_starts() -> None:
    """FH-129: A job reads one closed epoch of scores.

    A week is closed while the job runs.
    """
    world = World()
    world.scores.epoch = 202601
    world.log.publish(world.request)
    async for fact in world.auditor.on_job_requested(world.request, 1):
        world.log.publish(fact)
        world.scores.epoch = 202602
    (fetched,) = [each for each in world.log.events if isinstance(each, JobFetched)]
    requests = [each for each in world.log.events if isinstance(each, AssertionAnalysisRequested)]
    assert requests
    assert [fetched.score_epoch, *(each.score_epoch for each in requests)] == [202601] * (1 + len(requests))


async def test_a_redelivery_goes_on_where_the_log_ends() -> None:
    whole = World()
    facts = await whole.whole()
    for stored in range(len(facts) + 1):
        world = World()
        world.texts = dict(whole.texts)
        for event in [whole.request, *[each for each in whole.log.events[1:] if each in facts[:stored]]]:
            world.log.publish(event)
        world.request = whole.request
        assert [type(each) for each in await world.deliver()] == [type(each) for each in facts[stored:]]
        assert world.bought == (stored < 2)


async def test_requests_of_an_earlier_delivery_are_its_own() -> None:
    world = World()
    facts = await world.whole()
    again = World()
    again.texts = dict(world.texts)
    for event in world.log.events:
        if event is not facts[-1]:
            again.log.publish(event)
    (planned,) = await again.deliver()
    assert planned == facts[-1]


async def test_an_article_that_was_sent_as_text_lies_in_its_request_alone() -> None:
    world = World()
    (fetched, *_) = await world.whole()
    assert isinstance(fetched, JobFetched)
    assert fetched.article == world.request.input


async def test_a_text_that_an_earlier_version_stored_apart_is_read_and_has_the_same_memo() -> None:
    usual, world = World(), World()
    fetched, extracted, _ = await usual.whole()
    assert isinstance(fetched, JobFetched)
    apart = await world.put(ArticleWords(text=TEXT).model_dump_json(), NOW)
    for event in (world.request, fetched.model_copy(update={"article": apart})):
        world.log.publish(event)
    (again, _) = await world.deliver()
    assert isinstance(extracted, JobExtracted)
    assert isinstance(again, JobExtracted)
    assert (again.claims, again.memo_id) == (extracted.claims, extracted.memo_id)


@pytest.mark.parametrize("code", ["NOT_PUBLIC", "FETCH_FAILED", "INPUT_TOO_LONG"])
async def test_without_an_article_the_job_fails_with_a_code(code: Any) -> None:
    world = World(url="https://news.example/a")
    world.articles["https://news.example/a"] = NoArticle(code)
    (end,) = await world.whole()
    assert isinstance(end, JobEnded)
    assert (end.outcome, end.code, end.charged_micro_usd, world.bought) == ("FAILED", code, 0, 0)
    assert await world.deliver() == []


async def test_a_job_that_cannot_be_worked_on_costs_nothing() -> None:
    world = World()
    (end,) = [each async for each in world.auditor.on_exhausted(world.request, "too many deliveries")]
    assert isinstance(end, JobEnded)
    assert (end.job_id, end.outcome, end.code, end.charged_micro_usd) == (JOB, "FAILED", "INTERNAL", 0)


async def test_a_failed_extraction_ends_the_work_and_is_not_tried_again() -> None:
    world = World(answer={})
    fetched, failed = await world.whole()
    assert isinstance(fetched, JobFetched)
    assert isinstance(failed, RunFailed)
    assert await world.deliver() == []


async def test_the_pages_own_language_and_day_count() -> None:
    address = "https://news.example/a"
    world = World(url=address)
    world.articles[address] = Article(ArticleWords(text=TEXT, title="T", address=address), NOW.date(), "de")
    facts = await world.whole()
    requests = [event for event in world.log.events if isinstance(event, AssertionAnalysisRequested)]
    assert {each.language for each in requests} == {"de"}
    document = ExtractionWords.model_validate_json(
        world.texts[next(each for each in facts if isinstance(each, JobExtracted)).extraction.sha256]
    ).extraction
    assert all(each.spans is None for each in document.claims), "spans are places in a text that was sent"


async def test_nothing_is_bought_beyond_the_reservation() -> None:
    world = World()
    world.request = world.request.model_copy(update={"reserved_micro_usd": 114_000})
    facts = await world.whole()
    planned = facts[-1]
    assert isinstance(planned, JobPlanned)
    assert [each.outcome for each in planned.claims] == ["OWN", "MISS", "UNUSABLE"]


async def test_without_browsing_nothing_is_bought() -> None:
    world = World()
    world.request = world.request.model_copy(update={"options": AuditOptions(browsing=False)})
    planned = (await world.whole())[-1]
    assert isinstance(planned, JobPlanned)
    assert [each.outcome for each in planned.claims] == ["MISS", "MISS", "UNUSABLE"]


async def test_a_claim_that_another_job_requests_first_is_looked_up_again() -> None:
    world = World()
    world.refusals = 8
    planned = (await world.whole())[-1]
    assert isinstance(planned, JobPlanned)
    assert [each.outcome for each in planned.claims] == ["OWN", "OWN", "UNUSABLE"]
    contested = World()
    contested.refusals = 9
    with pytest.raises(Outage):
        await contested.whole()


async def test_an_analysis_whose_words_are_gone_is_bought_anew() -> None:
    """No backup holds words, so after a restore the log names analyses that cannot be read."""
    world = World()
    await world.whole()
    body = await world.put("an analysis", NOW + LIFETIME)
    for each in [each for each in world.log.events if isinstance(each, AssertionAnalysisRequested)]:
        given = {"assertion_id": each.assertion_id, "shape": each.shape, "body": body}
        world.log.publish(analysed(each.run_id).model_copy(update=given))
    assert await _outcomes(world, UUID(int=2)) == ["HIT", "HIT", "UNUSABLE"]
    del world.texts[body.sha256]
    assert await _outcomes(world, UUID(int=3)) == ["OWN", "OWN", "UNUSABLE"]


async def _outcomes(world: World, job_id: UUID) -> list[str]:
    """How each claim of the same article is served to another job."""
    await world.again(job_id)
    planned = world.log.events[-1]
    assert isinstance(planned, JobPlanned)
    return [each.outcome for each in planned.claims]


async def test_a_request_that_the_log_does_not_show_yet_comes_again() -> None:
    with pytest.raises(Outage):
        await World().deliver()


@pytest.mark.requirement("FH-53")
async def test_an_extraction_serves_later_jobs_of_its_account() -> None:
    """FH-53: An extraction is shared within an account while its words are kept."""
    world = World()
    first = await world.again(JOB)
    other = AuditOptions(cache_preference="ALLOW_PARTIAL", max_claims=1)
    second = await world.again(UUID(int=2), other)
    assert world.bought == 1
    assert (second.memo_of, second.end, second.memo_id) == (JOB, None, first.memo_id)
    assert second.claims == first.claims[:1]
    document = ExtractionWords.model_validate_json(world.texts[second.extraction.sha256]).extraction
    assert (document.job_id, document.cost) == (UUID(int=2), 0)
    assert [each.claim_text for each in document.more_claims] == [CLAIMS[1]["text"], CLAIMS[3]["text"]]
    third = await world.again(UUID(int=3), AuditOptions())
    assert (third.memo_of, third.claims) == (JOB, first.claims)


@pytest.mark.requirement("FH-53", "FH-68")
@pytest.mark.parametrize("why", ["skipped", "another account", "another model", "expired", "another article"])
async def test_an_extraction_is_bought_where_none_serves(why: str) -> None:
    """FH-53: An extraction is shared within an account while its words are kept.
    FH-68: `prefer_cache` uses hits, `skip_cache` computes everything.
    """
    world = World()
    first = await world.again(JOB)
    changed: dict[str, Any] = {}
    match why:
        case "skipped":
            changed["options"] = AuditOptions(cache_preference="SKIP_CACHE")
        case "another account":
            changed["account_id"] = UUID(int=0xACC2)
        case "another model":
            world.stages = {**MODELS, EXTRACT: MODELS[EXTRACT].model_copy(update={"model": "gpt-6"})}
        case "expired":
            del world.texts[first.extraction.sha256]
        case _:
            changed["input"] = world.keep_request(text=f"{TEXT} It is late.")
    second = await world.again(UUID(int=2), **changed)
    assert (world.bought, second.memo_of, second.end is None) == (2, None, False)


@pytest.mark.requirement("FH-155")
@pytest.mark.parametrize("after", [JobFetched, JobExtracted])
async def test_a_job_that_is_cancelled_meanwhile_buys_nothing_more(after: type[Event]) -> None:
    """FH-155: A cancelled job pays for its own started steps."""
    world = World()
    world.log.publish(world.request)
    async for fact in world.auditor.on_job_requested(world.request, 1):
        world.log.publish(fact)
        if isinstance(fact, after):
            world.log.publish(JobEnded(job_id=world.request.job_id, outcome="CANCELED", charged_micro_usd=0))
    assert isinstance(world.log.events[-1], JobEnded)
    assert world.bought == (after is JobExtracted)


class CancelledWorld(World):
    """A job that is cancelled while a model extracts its claims."""

    async def carry_out(self, wanted: RunRequest[Any, Any], delivery_count: int) -> AsyncIterator[Any]:
        async for item in super().carry_out(wanted, delivery_count):
            self.log.publish(JobEnded(job_id=self.request.job_id, outcome="CANCELED", charged_micro_usd=0))
            self.texts.clear()
            yield item


async def test_of_a_job_that_is_cancelled_while_its_claims_are_extracted_nothing_is_kept() -> None:
    world = CancelledWorld()
    await world.whole()
    assert (world.bought, world.texts, world.memos) == (1, {}, {})


@pytest.mark.requirement("FH-67")
async def test_a_claim_without_words_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """FH-67: An empty canonical form is never a key."""
    world = World()
    found = world.cached
    looked: list[UUID] = []

    async def look(assertion_id: UUID) -> Cached:
        looked.append(assertion_id)
        return await found(assertion_id)

    monkeypatch.setattr(world, "cached", look)
    facts = await world.whole()
    extracted = next(each for each in facts if isinstance(each, JobExtracted))
    assert looked == [each.assertion_id for each in extracted.claims[:2]]
