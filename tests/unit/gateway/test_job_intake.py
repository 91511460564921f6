"""Accepting jobs: one job a key, money reserved with it or not at all, and refusals that store nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from contracts.jobs.answers import Estimate, JobAccepted, JobRepeated
from contracts.jobs.ids import format_job_id, parse_job_id
from contracts.jobs.problems import CreditLimitReached, ProblemCode
from contracts.jobs.words import RequestWords
from contracts.v1 import CreditPosted, Event, JobEnded, JobIdempotencyKeyBound, JobRequested
from kit.history import StoredFact
from lifecycle.audits.credits import close_reservation, reserve
from services.gateway.domain import Account
from tests.support.job_api import (
    ALICE,
    ARTICLE,
    BOB,
    COMPLETE,
    TERMS,
    TEXT,
    analyze,
    close,
    opened,
    period_of,
    problem,
    send,
    spend,
    start,
    stored,
)
from tests.unit.gateway.fakes import NOW, Bench

ANOTHER = UUID(int=0x10B)
BATCH: list[type[Event]] = [JobIdempotencyKeyBound, CreditPosted, JobRequested]


@pytest.mark.requirement("FH-1", "FH-11", "FH-14", "FH-151", "FH-152")
async def test_an_article_is_accepted() -> None:
    """FH-1: `POST /v1/analyze` accepts an article and answers 202 with a new job.
    FH-11: The 202 body names job, status, time, cost, cache and links.
    FH-14: Links lead to job, result, report and events.
    FH-151: Rate limits are stated in headers.
    FH-152: 202 names the job's address.
    """
    bench = opened(jobs_rate="60/3600")
    client = {"request_id": "mine", "source_label": "a reader", "webhook_url": "https://example.org/hook"}
    response = await analyze(bench, ARTICLE | {"client": client, "options": {"max_claims": 5}})
    assert response.status_code == 202
    accepted = JobAccepted.model_validate_json(response.content)
    assert (accepted.status, accepted.mode, accepted.created_at) == ("QUEUED", "credit", NOW)
    assert accepted.deadline_at == NOW + timedelta(seconds=900)
    assert (accepted.estimated_cost, accepted.maximum_cost) == (COMPLETE, COMPLETE)
    path = f"/v1/jobs/{format_job_id(accepted.job_id)}"
    assert response.headers["location"] == accepted.links.self == path
    assert response.headers["retry-after"] == "5"
    assert response.headers["ratelimit"] == '"jobs";r=59;t=60'
    for link in (path, accepted.links.result, accepted.links.report, accepted.links.events.removesuffix("/events")):
        assert (await send(bench, "GET", link)).status_code in (200, 409)
    assert stored(bench) == BATCH
    (requested,) = bench.jobs.of(JobRequested)
    assert (requested.mode, requested.reserved_micro_usd, requested.has_webhook) == ("CREDIT", COMPLETE, True)
    assert (requested.input_type, requested.options.max_claims) == ("TEXT", 5)
    assert requested.input.until == datetime(2026, 3, 5, 6, tzinfo=UTC)
    ((_, text),) = bench.words.texts.items()
    words = RequestWords.model_validate_json(text)
    assert words == RequestWords(job_id=accepted.job_id, text=TEXT, **client)
    assert period_of(bench).reserved == COMPLETE


@pytest.mark.requirement("FH-31", "FH-32")
@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (("key", None), ("key", None), True),
        (("key", None), ('"key"', None), True),
        ((None, "id"), (None, "id"), True),
        (("key", "id"), ("key", "id"), True),
        (("key", "id"), (None, "id"), False),
        (("key", None), ("other", None), False),
        ((None, None), (None, None), False),
        ((None, ""), (None, ""), False),
    ],
)
async def test_a_repeated_request_is_the_same_job(
    first: tuple[str | None, str | None], second: tuple[str | None, str | None], same: bool
) -> None:
    """FH-31: A key in a header or the request id names a retry, per account.
    FH-32: A repeat within 24 hours is answered with the same job and costs nothing.
    """
    bench = opened()

    async def ask(header: str | None, request_id: str | None, key: str = "oe_of-alice") -> Any:
        body = ARTICLE | ({} if request_id is None else {"client": {"request_id": request_id}})
        return await analyze(bench, body, key=key, **({} if header is None else {"idempotency_key": header}))

    new = await ask(*first)
    assert new.status_code == 202
    bench.clock.pass_by(60)
    repeated = await ask(*second)
    assert (repeated.status_code == 200) == same
    assert len(bench.jobs.of(JobRequested)) == (1 if same else 2)
    if same:
        document = JobRepeated.model_validate_json(repeated.content)
        assert (document.status, document.original_request_at) == ("QUEUED", NOW)
        assert repeated.json()["job_id"] == new.json()["job_id"]
        assert repeated.headers["idempotent-replayed"] == "true"
        assert len(bench.words.texts) == 1
        close(bench, bench.jobs.of(JobRequested)[0].job_id)
        assert (await ask(*second)).json()["status"] == "FAILED"
    assert (await ask(*first, key="oe_of-bob")).status_code == 202, "another account's key is another one"


@pytest.mark.requirement("FH-33")
async def test_the_same_key_with_another_body_is_409() -> None:
    """FH-33: The same key with another body is 409."""
    bench = opened()
    options = {"max_claims": 3, "depth": "deep"}
    await start(bench, {"input_text": TEXT, "options": options}, idempotency_key="key")
    other = await analyze(bench, {"input_text": TEXT, "options": options | {"max_claims": 4}}, idempotency_key="key")
    problem(other, "VALIDATION_ERROR", 409)
    reordered = {"options": dict(reversed(options.items())), "input_text": TEXT}
    assert (await analyze(bench, reordered, idempotency_key="key")).status_code == 200
    assert len(bench.jobs.of(JobRequested)) == len(bench.jobs.of(CreditPosted)) == 1


async def test_a_request_id_that_was_taken_for_a_key_is_named() -> None:
    bench, client = opened(), {"request_id": "batch 7"}
    await start(bench, {"input_text": TEXT, "client": client})
    other = await analyze(bench, {"input_text": "Another text.", "client": client})
    problem(other, "VALIDATION_ERROR", 409)
    assert "client.request_id" in other.json()["detail"]


@pytest.mark.requirement("FH-34")
async def test_a_key_is_free_again_after_a_day() -> None:
    """FH-34: After 24 hours the key is free again."""
    bench = opened()
    first = await start(bench, idempotency_key="key")
    bench.clock.pass_by(86_399)
    assert (await analyze(bench, idempotency_key="key")).status_code == 200
    bench.clock.pass_by(1)
    assert await start(bench, idempotency_key="key") != first
    assert [each.follows for each in bench.jobs.of(JobIdempotencyKeyBound)] == [0, 1]


async def test_an_idempotency_key_that_cannot_be_read_is_400() -> None:
    bench = opened()
    problem(await analyze(bench, idempotency_key="a b"), "INVALID_IDEMPOTENCY_KEY")
    assert bench.jobs.facts == []


@pytest.mark.requirement("FH-35")
async def test_requests_at_once_make_one_job() -> None:
    """FH-35: Concurrent posts with one key make one job and one charge."""
    bench = opened()
    answers = await asyncio.gather(*(analyze(bench, idempotency_key="key") for _ in range(50)))
    assert sorted(each.status_code for each in answers) == [200] * 49 + [202]
    assert stored(bench) == BATCH
    assert len({each.json()["job_id"] for each in answers}) == 1
    assert len(bench.words.texts) == 1


@pytest.mark.requirement("FH-35")
async def test_what_another_gateway_stored_meanwhile_is_the_job() -> None:
    """FH-35: Concurrent posts with one key make one job and one charge."""
    bench = opened()
    job = await start(bench, idempotency_key="key")
    first = list(bench.jobs.facts)
    bench.jobs.facts.clear()
    bench.jobs.meanwhile = lambda: bench.jobs.facts.extend(first)
    response = await analyze(bench, idempotency_key="key")
    assert (response.status_code, parse_job_id(response.json()["job_id"])) == (200, job)
    assert stored(bench) == BATCH
    assert len(bench.words.texts) == 1, "the words of the job that did not come about are removed"


async def test_a_replica_that_lags_is_not_believed() -> None:
    bench = opened()
    job = await start(bench, idempotency_key="key")
    bench.jobs.lag = 3
    response = await analyze(bench, idempotency_key="key")
    assert (response.status_code, parse_job_id(response.json()["job_id"])) == (200, job)
    assert (await send(bench, "GET", f"/v1/jobs/{format_job_id(job)}")).status_code == 200
    assert stored(bench) == BATCH


async def test_a_balance_that_moved_meanwhile_is_looked_at_again() -> None:
    bench = opened()

    def rival() -> None:
        entry = reserve(period_of(bench), TERMS, ANOTHER, most=COMPLETE, least=33_000)
        assert isinstance(entry, CreditPosted)
        bench.jobs.add(entry)

    bench.jobs.meanwhile = rival
    job = await start(bench)
    assert {each.job_id for each in period_of(bench).open} == {ANOTHER, job}
    assert bench.jobs.batches == 2
    bench.jobs.meanwhile = lambda: spend(bench, 10_000_000)
    assert (await analyze(bench)).status_code == 402
    assert len(bench.jobs.of(JobRequested)) == 1


async def test_a_lost_answer_is_looked_up_and_nothing_is_sent_again() -> None:
    bench = opened()
    bench.jobs.loses_answers = True
    assert (await analyze(bench)).status_code == 202
    assert bench.jobs.batches == 1
    assert len(bench.jobs.of(JobRequested)) == 1


async def test_an_outage_stores_nothing() -> None:
    bench = opened()
    bench.jobs.broken = True
    outage = await analyze(bench)
    problem(outage, "SERVICE_UNAVAILABLE")
    assert outage.headers["retry-after"] == "3"
    bench.jobs.broken, bench.words.broken = False, True
    problem(await analyze(bench), "SERVICE_UNAVAILABLE")
    assert bench.jobs.facts == []


@pytest.mark.requirement("FH-32")
async def test_a_repetition_needs_no_blob_store() -> None:
    """FH-32: A repeat within 24 hours is answered with the same job and costs nothing."""
    bench, key = opened(), {"idempotency-key": "one"}
    accepted = await analyze(bench, **key)
    bench.words.broken = True
    repeated = await analyze(bench, **key)
    assert (repeated.status_code, repeated.json()["job_id"]) == (200, accepted.json()["job_id"])


@pytest.mark.requirement("FH-45")
@pytest.mark.parametrize("preference", ["prefer_cache", "skip_cache"])
async def test_without_credit_it_is_402(preference: str) -> None:
    """FH-45: A free account without credit gets 402."""
    bench = opened()
    spend(bench, 10_000_000 - 32_999)
    response = await analyze(bench, ARTICLE | {"options": {"cache_preference": preference}})
    assert response.status_code == 402
    document = CreditLimitReached.model_validate_json(response.content)
    assert (document.credit_remaining, document.reset_date) == (32_999, datetime(2026, 4, 1, tzinfo=UTC))
    assert response.json()["credit_remaining"] == 0.032999
    assert stored(bench) == [CreditPosted]
    assert bench.words.texts == {}
    spend(bench, -1)
    assert (await analyze(bench)).status_code == 202


@pytest.mark.requirement("FH-40")
async def test_with_little_credit_less_is_reserved() -> None:
    """FH-40: Credit is reserved at intake and settled at the end."""
    bench = opened()
    spend(bench, 10_000_000 - 150_000)
    accepted = JobAccepted.model_validate_json((await analyze(bench)).content)
    assert (accepted.maximum_cost, accepted.estimated_cost) == (150_000, 114_000), "one new claim is affordable"
    assert bench.jobs.of(JobRequested)[0].reserved_micro_usd == 150_000


@pytest.mark.requirement("FH-38")
async def test_a_soft_tier_goes_on() -> None:
    """FH-38: Tiers limit the monthly credit, the free one hard."""
    bench = opened()
    spend(bench, 50_000_000, BOB)
    assert (await analyze(bench, key="oe_of-bob")).status_code == 202


@pytest.mark.requirement("FH-49")
@pytest.mark.parametrize("account", [ALICE, BOB, replace(BOB, tier="enterprise")], ids=lambda account: account.tier)
async def test_cache_only_never_spends_credit(account: Account) -> None:
    """FH-49: `cache_only` never spends credit."""
    bench = opened()
    bench.key_table.add("oe_of-any-tier", "audit", account=account)
    body = ARTICLE | {"options": {"cache_preference": "cache_only"}}
    accepted = JobAccepted.model_validate_json((await analyze(bench, body, key="oe_of-any-tier")).content)
    assert (accepted.mode, accepted.estimated_cost, accepted.maximum_cost) == ("cache_only", 0, 0)
    (posted,) = bench.jobs.of(CreditPosted)
    assert (posted.entry, posted.extractions, posted.open) == ("EXTRACTION", 1, ())
    (requested,) = bench.jobs.of(JobRequested)
    assert (requested.mode, requested.reserved_micro_usd, requested.period_id) == ("CACHE_ONLY", 0, None)


async def test_allow_partial_without_credit_uses_the_cache_alone() -> None:
    bench = opened()
    partial = ARTICLE | {"options": {"cache_preference": "allow_partial"}}
    assert (await analyze(bench, partial)).json()["mode"] == "credit"
    spend(bench, 10_000_000)
    assert (await analyze(bench, partial)).json()["mode"] == "cache_only"


@pytest.mark.requirement("FH-42")
async def test_the_51st_extraction_of_a_day_is_429() -> None:
    """FH-42: 50 cache-only extractions a day and account."""
    bench = opened()
    body = ARTICLE | {"options": {"cache_preference": "cache_only"}}
    for _ in range(50):
        close(bench, await start(bench, body))
    refused = await analyze(bench, body)
    problem(refused, "EXTRACTION_QUOTA")
    until_midnight_s = (datetime(2026, 3, 5, tzinfo=UTC) - NOW).total_seconds()
    assert 0 <= int(refused.headers["retry-after"]) - until_midnight_s < 1
    assert (await analyze(bench)).status_code == 202, "credit is there"
    bench.clock.pass_by(until_midnight_s)
    assert (await analyze(bench, body)).status_code == 202


@pytest.mark.requirement("FH-172")
@pytest.mark.parametrize("preference", ["prefer_cache", "cache_only"])
async def test_a_free_account_has_five_open_jobs(preference: str) -> None:
    """FH-172: The number of open jobs is limited."""
    bench = opened()
    body = ARTICLE | {"options": {"cache_preference": preference}}
    jobs = [await start(bench, body) for _ in range(5)]
    refused = await analyze(bench, body)
    problem(refused, "TOO_MANY_OPEN_JOBS")
    assert refused.headers["retry-after"] == "30"
    problem(await analyze(bench), "TOO_MANY_OPEN_JOBS")
    assert len(bench.jobs.of(JobRequested)) == 5
    close(bench, jobs[0])
    assert (await analyze(bench, body)).status_code == 202


async def test_open_jobs_of_the_month_before_count_too() -> None:
    bench = opened()
    bench.clock.jump((datetime(2026, 3, 31, 23, 59, tzinfo=UTC) - NOW).total_seconds())
    for _ in range(4):
        await start(bench)
    bench.clock.jump(120)
    assert period_of(bench).last is None
    assert (await analyze(bench)).status_code == 202
    problem(await analyze(bench), "TOO_MANY_OPEN_JOBS")


async def test_the_month_before_is_not_asked_for_once_nothing_can_be_reserved_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A gateway whose clock is slow may still reserve in it for a while."""
    bench = opened()
    bench.clock.jump((datetime(2026, 4, 1, 0, 10, tzinfo=UTC) - NOW).total_seconds())
    assert await count_months(bench, monkeypatch) == [2, 2]
    bench.clock.jump(3_600)
    assert await count_months(bench, monkeypatch) == [2, 1]


async def test_the_month_before_is_asked_for_while_a_job_of_it_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = opened()
    bench.clock.jump((datetime(2026, 3, 31, 23, 59, tzinfo=UTC) - NOW).total_seconds())
    job, march = await start(bench), period_of(bench)
    bench.clock.jump(7_200)
    assert await count_months(bench, monkeypatch) == [2, 2]
    settled = close_reservation(march, job, 0)
    assert settled is not None
    bench.jobs.add(settled)
    assert await count_months(bench, monkeypatch) == [2, 1]


async def count_months(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many months' credit two jobs, one after another, ask the log for."""
    look, counts = bench.jobs.latest, list[int]()

    async def latest(*subjects: str, current: bool = False) -> Sequence[StoredFact]:
        counts[-1] += sum(subject.startswith(CreditPosted.SUBJECT) for subject in subjects)
        return await look(*subjects, current=current)

    with monkeypatch.context() as patch:
        patch.setattr(bench.jobs, "latest", latest)
        for _ in range(2):
            counts.append(0)
            close(bench, await start(bench))
    return counts


@pytest.mark.requirement("FH-154")
async def test_an_estimate_buys_and_stores_nothing() -> None:
    """FH-154: An estimate buys and stores nothing."""
    bench = opened()
    estimate = Estimate.model_validate_json((await send(bench, "POST", "/v1/estimate", ARTICLE)).content)
    assert (estimate.estimated_cost, estimate.maximum_cost) == (COMPLETE, COMPLETE)
    assert (estimate.credit_remaining, estimate.would_be_accepted, estimate.mode) == (10_000_000, True, "credit")
    assert (bench.jobs.facts, bench.words.texts) == ([], {})
    spend(bench, 10_000_000)
    estimate = Estimate.model_validate_json((await send(bench, "POST", "/v1/estimate", ARTICLE)).content)
    assert (estimate.credit_remaining, estimate.would_be_accepted) == (0, False)
    body = ARTICLE | {"options": {"cache_preference": "allow_partial"}}
    estimate = Estimate.model_validate_json((await send(bench, "POST", "/v1/estimate", body)).content)
    assert (estimate.mode, estimate.maximum_cost, estimate.would_be_accepted) == ("cache_only", 0, True)
    assert stored(bench) == [CreditPosted]


@pytest.mark.parametrize("refusal", ["EXTRACTION_QUOTA", "TOO_MANY_OPEN_JOBS"])
async def test_what_may_only_use_the_cache_is_estimated_at_no_cost_while_it_is_refused(refusal: ProblemCode) -> None:
    bench = opened()
    body = ARTICLE | {"options": {"cache_preference": "cache_only"}}
    for _ in range(50 if refusal == "EXTRACTION_QUOTA" else 5):
        job = await start(bench, body)
        if refusal == "EXTRACTION_QUOTA":
            close(bench, job)
    problem(await analyze(bench, body), refusal)
    estimate = Estimate.model_validate_json((await send(bench, "POST", "/v1/estimate", body)).content)
    assert (estimate.mode, estimate.estimated_cost, estimate.maximum_cost) == ("cache_only", 0, 0)
    assert not estimate.would_be_accepted


@pytest.mark.requirement("FH-13")
async def test_the_cost_follows_the_rolling_hit_rate() -> None:
    """FH-13: Claims to extract are estimated hits and new claims, and the basis says how."""
    bench = opened()
    for _ in range(2):
        close(bench, await start(bench), result="{}", from_cache=3, newly_analysed=2)
    bench.clock.pass_by(301)
    for preference, hits, cost in (("prefer_cache", 3, 195_000), ("skip_cache", 0, COMPLETE)):
        body = ARTICLE | {"options": {"cache_preference": preference}}
        found = JobAccepted.model_validate_json((await analyze(bench, body)).content)
        assert (found.cache_info.estimated_cache_hits, found.estimated_cost) == (hits, cost)
        assert found.cache_info.basis == "rolling_hit_rate"
        assert found.maximum_cost == COMPLETE
    assert len(bench.jobs.of(JobEnded)) == 2


@pytest.mark.requirement("FH-13")
@pytest.mark.parametrize(
    ("cached", "new", "claims", "hits"), [(1, 1, 5, 3), (1, 2, 5, 2), (3, 1, 5, 4), (0, 9, 5, 0), (9, 0, 7, 7)]
)
async def test_hits_are_estimated_to_the_nearest_claim(cached: int, new: int, claims: int, hits: int) -> None:
    """FH-13: Claims to extract are estimated hits and new claims, and the basis says how."""
    bench = opened()
    close(bench, await start(bench), result="{}", from_cache=cached, newly_analysed=new)
    bench.clock.pass_by(301)
    info = JobAccepted.model_validate_json(
        (await analyze(bench, ARTICLE | {"options": {"max_claims": claims}})).content
    ).cache_info
    assert (info.claims_to_extract, info.estimated_cache_hits, info.estimated_new_claims) == (
        claims,
        hits,
        claims - hits,
    )


async def test_without_browsing_nothing_new_is_reserved_for() -> None:
    bench = opened()
    found = JobAccepted.model_validate_json((await analyze(bench, ARTICLE | {"options": {"browsing": "off"}})).content)
    assert (found.estimated_cost, found.maximum_cost) == (33_000, 33_000)
