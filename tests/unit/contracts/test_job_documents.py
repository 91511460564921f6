"""What the job API answers: exact documents, money to the micro-dollar, and no document that contradicts itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from contracts.jobs.answers import (
    ENDED,
    CacheInfo,
    Estimate,
    Health,
    JobAccepted,
    JobFinished,
    JobRepeated,
    JobView,
    links_of,
)
from contracts.jobs.assessment import ArticleAssessment
from contracts.jobs.costs import CostBreakdown
from contracts.jobs.credit import Credit, UsageStats, cache_hit_rate
from contracts.jobs.extraction import ClaimExtraction
from contracts.jobs.ids import format_job_id, parse_job_id
from contracts.jobs.problems import CreditLimitReached, describe_credit_limit
from contracts.jobs.result import CacheOnlyResult, FullResult, Result
from contracts.jobs.stages import Configuration, Configured
from contracts.jobs.values import Document, Money

SAMPLES: Final[dict[str, Any]] = json.loads(  # JSON of any depth
    (Path(__file__).parents[2] / "cases" / "claims" / "job_documents.json").read_text()
)
CLASSES: Final[tuple[type[Document], ...]] = (
    JobAccepted,
    JobFinished,
    JobRepeated,
    Estimate,
    JobView,
    Health,
    ClaimExtraction,
    FullResult,
    CacheOnlyResult,
    ArticleAssessment,
    Credit,
    Configured,
    Configuration,
    CreditLimitReached,
)
MONEY: Final = TypeAdapter[int](Money)
OPTIONAL: Final = {"model_used", "processing_time_seconds", "planned_queries", "cache_used"}
WITH_DEFAULTS: Final = {"options"}


def read(shape: type[Document], sample: object) -> Document:
    return shape.model_validate_json(json.dumps(sample))


@pytest.mark.requirement("FH-11", "FH-15", "FH-22", "FH-24", "FH-26", "FH-45")
@pytest.mark.parametrize("shape", CLASSES, ids=lambda shape: shape.__name__)
def test_a_document_is_written_as_it_was_read(shape: type[Document]) -> None:
    """FH-11: The 202 body has `job_id` (ULID), `status` `QUEUED`, `created_at`, `estimated_cost`, `cost_breakdown`,
    `cache_info`, `links`.
    FH-15: `GET /v1/jobs/{id}` gives at least `job_id`, `status`, `created_at`, `updated_at`; an unknown id is 404.
    FH-22: `GET /v1/user/credit` has the seed's eight fields.
    FH-24: `POST /admin/v1/llm/configure` takes `stage`, `provider`, `model`, `max_tokens`, `temperature` and answers
    `message`, `stage`, `previous`, `current`, `cost_impact`.
    FH-26: `GET /admin/v1/llm/config` has `providers`, `primary`, `fallback`, `stages` with provider, model and cost.
    FH-45: A free account without credit gets 402 with the seed's flat fields (D.9).

    FH-11: The 202 body names job, status, time, cost, cache and links.
    FH-15: A job's state can be read; an unknown job is 404.
    FH-22: The credit of an account can be read.
    FH-24: An admin configures a model stage and reads what it costs.
    FH-26: An admin reads providers and stages.
    """
    sample = SAMPLES[shape.__name__]
    assert json.loads(read(shape, sample).model_dump_json()) == sample


def _places(part: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every object of a sample."""
    if isinstance(part, dict):
        yield path
        for name, each in part.items():
            yield from _places(each, (*path, name))
    elif isinstance(part, list):
        for number, each in enumerate(part):
            yield from _places(each, (*path, number))


def _at(sample: Any, path: tuple[str | int, ...]) -> Any:  # JSON of any depth
    for step in path:
        sample = sample[step]
    return sample


@pytest.mark.requirement("FH-11", "FH-45")
@pytest.mark.parametrize("shape", CLASSES, ids=lambda shape: shape.__name__)
def test_no_key_may_be_missing_and_none_added(shape: type[Document]) -> None:
    """FH-11: The 202 body has `job_id` (ULID), `status` `QUEUED`, `created_at`, `estimated_cost`, `cost_breakdown`,
    `cache_info`, `links`.
    FH-45: A free account without credit gets 402 with the seed's flat fields (D.9).

    FH-11: The 202 body names job, status, time, cost, cache and links.
    """
    sample = SAMPLES[shape.__name__]
    for path in _places(sample):
        if "verdict_distribution" in path:
            continue
        wider = deepcopy(sample)
        _at(wider, path)["another"] = 1
        with pytest.raises(ValidationError):
            read(shape, wider)
        for name in () if WITH_DEFAULTS & set(path) else _at(sample, path):
            narrower = deepcopy(sample)
            del _at(narrower, path)[name]
            if name in OPTIONAL and path:
                continue
            with pytest.raises(ValidationError):
                read(shape, narrower)
                pytest.fail(f"{path} does not need {name}")


@pytest.mark.requirement("FH-12")
@given(st.lists(st.integers(0, 10**9), min_size=4, max_size=4), st.integers(-1, 1))
def test_the_parts_of_a_cost_sum_to_it(parts: list[int], more: int) -> None:
    """FH-12: `cost_breakdown` has its four parts and they sum to `estimated_cost`.

    FH-12: The parts of a cost add up to the estimate.
    """
    sample = SAMPLES["JobAccepted"] | {
        "cost_breakdown": {
            name: part / 1_000_000 for name, part in zip(SAMPLES["JobAccepted"]["cost_breakdown"], parts, strict=True)
        },
        "estimated_cost": max(0, sum(parts) + more) / 1_000_000,
    }
    if max(0, sum(parts) + more) == sum(parts):
        accepted = JobAccepted.model_validate_json(json.dumps(sample))
        assert accepted.estimated_cost == accepted.cost_breakdown.total == sum(parts)
    else:
        with pytest.raises(ValidationError):
            read(JobAccepted, sample)


@pytest.mark.requirement("FH-13")
@pytest.mark.parametrize("basis", ["memo", "rolling_hit_rate"])
def test_hits_and_new_claims_make_up_all(basis: str) -> None:
    """FH-13: `cache_info.claims_to_extract` = `estimated_cache_hits` + `estimated_new_claims`. A stage-1 memo gives
    real numbers, otherwise `max_claims` × rolling hit rate, with `basis` saying which.

    FH-13: Claims to extract are estimated hits and new claims, and the basis says how.
    """
    sample = {"claims_to_extract": 5, "estimated_cache_hits": 3, "estimated_new_claims": 2, "basis": basis}
    read(CacheInfo, sample)
    for wrong in ({"estimated_cache_hits": 4}, {"claims_to_extract": 4}, {"basis": "guess"}):
        with pytest.raises(ValidationError):
            read(CacheInfo, sample | wrong)


@pytest.mark.requirement("FH-14", "FH-152")
def test_links_are_paths_under_the_job() -> None:
    """FH-14: `links` has `self`, `result`, `report`, `events` under `/v1/jobs/{job_id}`.
    FH-152: 202 has `Location: /v1/jobs/{id}`.

    FH-14: Links lead to job, result, report and events.
    FH-152: 202 names the job's address.
    """
    job = UUID("019b1800-1234-7abc-8def-0123456789ab")
    path = f"/v1/jobs/{format_job_id(job)}"
    assert json.loads(links_of(job).model_dump_json()) == {
        "self": path,
        "result": f"{path}/result",
        "report": f"{path}/report",
        "events": f"{path}/events",
    }


@pytest.mark.requirement("FH-16")
@pytest.mark.parametrize("status", ["QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELED", "DONE"])
def test_a_job_has_one_of_five_statuses_and_an_end_only_in_three(status: str) -> None:
    """FH-16: Status is QUEUED, RUNNING, SUCCEEDED, FAILED or CANCELED; nothing leaves a terminal state.

    FH-16: A job has one of five statuses and never leaves a terminal one.
    """
    running = SAMPLES["JobView"] | {"status": status}
    ended = SAMPLES["FailedJobView"] | {"status": status}
    if status != "FAILED":
        ended["error"] = None

    def accepts(sample: object) -> bool:
        try:
            read(JobView, sample)
        except ValidationError:
            return False
        return True

    assert (accepts(running), accepts(ended)) == (status in ("QUEUED", "RUNNING"), status in ENDED)


def test_a_job_that_ended_in_time_has_a_result_or_an_error() -> None:
    finished = SAMPLES["JobFinished"]
    without = {name: value for name, value in finished.items() if name != "result"}
    error = {"error": {"code": "FETCH_FAILED", "message": "It could not be fetched."}}
    read(JobFinished, without | {"status": "FAILED"} | error)
    read(JobFinished, without | {"status": "CANCELED"})
    wrongs = (
        *(without, finished | {"status": "CANCELED"}, finished | {"status": "QUEUED"}),
        *(finished | error, without | {"status": "FAILED"}, without | {"status": "CANCELED"} | error),
    )
    for wrong in wrongs:
        with pytest.raises(ValidationError):
            read(JobFinished, wrong)


def test_a_result_is_one_of_two_by_its_status() -> None:
    either: TypeAdapter[FullResult | CacheOnlyResult] = TypeAdapter(Result)
    for shape in (FullResult, CacheOnlyResult):
        assert isinstance(either.validate_json(json.dumps(SAMPLES[shape.__name__])), shape)


def _recommend_another(result: Any) -> None:
    result["claims"][0]["recommended_scenario"] = "s2"


def _quote_more(result: Any) -> None:
    result["claims"][0]["scenarios"][0]["evidence"]["supporting"][0]["quotes"] = ["word " * 26]


def _quote_often(result: Any) -> None:
    result["claims"][0]["scenarios"][0]["evidence"]["supporting"][0]["quotes"] = ["a", "b", "c", "d"]


def _count_wrongly(result: Any) -> None:
    result["article_holistic_assessment"]["claim_aggregation"]["total_claims"] = 2


def _leave_unreviewed(result: Any) -> None:
    result["article_holistic_assessment"]["overall_assessment"]["risk_tier"] = "A"


@pytest.mark.parametrize("spoil", [_recommend_another, _quote_more, _quote_often, _count_wrongly, _leave_unreviewed])
def test_a_result_does_not_contradict_itself(spoil: Callable[[Any], None]) -> None:
    result = deepcopy(SAMPLES["FullResult"])
    spoil(result)
    with pytest.raises(ValidationError):
        read(FullResult, result)


@pytest.mark.requirement("FH-23")
@pytest.mark.parametrize(("cached", "new", "rate"), [(189, 113, 0.626), (0, 0, 0), (0, 3, 0), (3, 0, 1), (1, 2, 0.333)])
def test_the_hit_rate_follows_from_the_claims(cached: int, new: int, rate: float) -> None:
    """FH-23: `usage_stats` of the current month; `cache_hit_rate` = cached / (cached + new), three decimals; 0/0 is 0.

    The document refuses another rate.

    FH-23: The cache hit rate is cached over all claims, to three places.
    """
    assert cache_hit_rate(cached, new) == rate
    stats = {
        "articles_analyzed": 1,
        "claims_from_cache": cached,
        "claims_newly_analyzed": new,
        "cache_hit_rate": rate,
    }
    read(UsageStats, stats)
    with pytest.raises(ValidationError):
        read(UsageStats, stats | {"cache_hit_rate": 0.5})


@given(st.integers(0, 10**15))
def test_money_is_exact_on_the_wire(micro_usd: int) -> None:
    written = MONEY.dump_json(micro_usd)
    assert MONEY.validate_json(written) == micro_usd
    assert abs(float(written) - micro_usd / 10**6) == 0


@pytest.mark.parametrize(
    ("wire", "micro_usd"), [("0.033", 33_000), ("10", 10_000_000), ("10.00", 10_000_000), ("0.000001", 1), ("0", 0)]
)
def test_money_is_read_as_decimals(wire: str, micro_usd: int) -> None:
    assert MONEY.validate_json(wire) == micro_usd


@pytest.mark.parametrize("wire", ["0.0000001", "-1", '"1"', "null", "true", "NaN", "1e300"])
def test_what_is_no_money_is_refused(wire: str) -> None:
    with pytest.raises(ValidationError):
        MONEY.validate_json(wire)


@pytest.mark.requirement("FH-45")
def test_a_402_is_flat_and_has_the_seeds_fields() -> None:
    """FH-45: A free account without credit gets 402 with the seed's flat fields (D.9)."""
    sample = SAMPLES["CreditLimitReached"]
    written = describe_credit_limit(
        0,
        datetime(2027, 1, 1, tzinfo=UTC),
        page_origin="https://errata.example",
        correlation=UUID("00000000-0000-4000-8000-0000000000aa"),
    )
    assert json.loads(written.model_dump_json()) == sample


def test_times_end_in_z() -> None:
    with pytest.raises(ValidationError):
        read(JobRepeated, SAMPLES["JobRepeated"] | {"original_request_at": "2026-12-24T10:31:00+00:00"})


@given(st.uuids())
def test_an_id_is_the_same_after_the_wire(job: UUID) -> None:
    text = format_job_id(job)
    assert len(text) == 26
    assert parse_job_id(text) == parse_job_id(text.lower()) == job


@given(st.uuids(), st.uuids())
def test_ids_sort_as_their_times_do(first: UUID, second: UUID) -> None:
    assert (format_job_id(first) < format_job_id(second)) == (first.int < second.int)


@pytest.mark.parametrize("text", ["", "0" * 25, "0" * 27, "8" + "0" * 25, "U" + "0" * 25, "0" * 25 + "L", "٠" * 26])
def test_what_is_no_ulid_is_refused(text: str) -> None:
    assert parse_job_id(text) is None


def test_a_cost_is_the_sum_of_its_parts() -> None:
    parts = CostBreakdown(
        stage1_extraction=3_000, stage2_new_claims=81_000, stage2_cached_claims=0, stage3_holistic=30_000
    )
    assert parts.total == 114_000
