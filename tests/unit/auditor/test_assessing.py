"""The end of a job: what its result holds, what it costs, and what its receipt proves."""

from __future__ import annotations

import base64
import json
import re
from contextlib import nullcontext
from hashlib import sha256
from typing import Any
from uuid import UUID

import jwt
import pytest
import rfc8785
from joserfc import jws
from joserfc.errors import BadSignatureError
from joserfc.jwk import KeySet, KeySetSerialization

from analyses.claims.answers import ExtractAnswer
from analyses.claims.extraction import extract_claims
from analyses.claims.report import write_report
from contracts.jobs.ids import format_job_id
from contracts.jobs.receipts import PublicKeys
from contracts.jobs.words import ArticleWords
from contracts.v1 import AssertionAnalysisRequested, JobEnded, JobResolved, RunFailed
from contracts.v1.job import AuditOptions, PlannedClaim
from contracts.v1.parts import EphemeralRef
from kit.errors import Outage
from services.auditor.domain import Article
from tests.support.assessing import BODY, ISSUER, KEY, EndWorld
from tests.support.auditing import CLAIMS, JOB, TEXT
from tests.support.factories import NOW

MARKER = re.compile(" [0-9a-f]{20}(?=>>>)")
TWO = {"language": "en", "thesis": "Things rise.", "claims": CLAIMS[:2]}


@pytest.mark.requirement("FH-67", "FH-72", "FH-84", "FH-85", "FH-99", "FH-156")
async def test_the_result_of_a_job() -> None:
    """FH-67: An empty canonical form is never a key.
    FH-72: An analysis has scenarios, a recommended one and its time.
    FH-84: An assessment has its fields.
    FH-85: The distribution of verdicts uses truth labels and sums to the analysed claims.
    FH-99: The result holds everything but words in its list of calls.
    FH-156: A claim that fails says why and costs nothing.
    """
    world = EndWorld()
    end, result = await world.result(await world.resolved())
    assert result["status"] == "partial"
    first, _, third = result["claims"]
    assert (first["claim_text"], first["cache_hit"], first["stale"]) == ("The sky is blue.", False, False)
    assert (first["rollup_verdict"], first["recommended_scenario"], first["families"]) == ("Supported", "s1", 2)
    assert first["metadata"] == {"analysis_timestamp": "2026-03-04T05:06:07.089Z", "model_used": "gpt-5.4-2026"}
    assert [each["scenario_id"] for each in first["scenarios"]] == ["s1"]
    assert first["links"]["self"] == f"/v1/jobs/{format_job_id(JOB)}/result#/claims/0"
    assert third["failure"] == {
        "code": "NOT_A_CLAIM",
        "detail": "Nothing is left to look up after normalisation.",
        "hint": None,
        "retryable": False,
    }
    whole = result["article_holistic_assessment"]
    assert whole["overall_verdict"] == "WELL-SUPPORTED"
    assert whole["claim_aggregation"] == {
        "total_claims": 2,
        "verdict_distribution": {"TRUE": 2},
        "avg_confidence": 0.95,
    }
    assert whole["recommendations"]["requires_review"], "a claim has no analysis"
    assert whole["overall_assessment"]["model_credibility_score"] == 0.9
    assert result["cost"] == 0.195
    assert result["cost_breakdown"]["stage2_new_claims"] == 0.162
    assert [each["stage"] for each in result["llm_calls"]] == ["stage1", "stage2", "stage2", "stage3"]
    assert {each["provider"] for each in result["llm_calls"]} == {"openai"}
    assert result["llm_calls"][3] == {
        "stage": "stage3",
        "provider": "openai",
        "model": "gpt-5.4",
        "input_tokens": 4_000,
        "output_tokens": 400,
        "cost": 0.009,
        "seconds": 7.0,
    }
    assert not any(word in json.dumps(result["llm_calls"]) for word in ("sky", "rose", "accurate"))
    assert (end.charged_micro_usd, end.from_cache, end.newly_analysed, end.stages_cached) == (195_000, 0, 2, ())
    assert (end.overall_verdict, end.requires_review) == ("WELL_SUPPORTED", True)
    assert end.end is not None
    assert write_report(result).startswith("#")


@pytest.mark.requirement("FH-83")
async def test_the_last_step_is_shown_the_article_and_all_analyses_once() -> None:
    """FH-83: Stage 3 is one call with text, analyses and metadata."""
    world = EndWorld()
    await world.result(await world.resolved())
    (shown,) = world.shown
    assert TEXT in shown
    assert "Air scatters blue light more." in shown
    assert "Things rise." in shown


@pytest.mark.requirement("FH-8")
async def test_the_claims_context_is_one_block() -> None:
    """FH-8: `context_aware_analysis` gives stage 3 the surroundings of the claims."""
    shown: list[str] = []
    for aware in (True, False):
        world = EndWorld()
        options = AuditOptions(context_aware_analysis=aware)
        world.request = world.request.model_copy(update={"options": options})
        await world.result(await world.resolved())
        shown.extend(MARKER.sub("", each) for each in world.shown)
    with_context, without = shown
    head, _, rest = with_context.partition("\n\n<<<BEGIN CONTEXT")
    assert without == head
    assert "last month. The sky" in rest


async def test_a_redelivery_does_nothing_more() -> None:
    world = EndWorld()
    event = await world.resolved()
    assert len(await world.assess(event)) == 1
    assert await world.assess(event) == []
    assert len(world.shown) == 1


async def test_a_log_that_lags_is_read_again_later() -> None:
    world = EndWorld()
    await world.planned()
    with pytest.raises(Outage):
        await world.assess(JobResolved(job_id=JOB, complete=True))


async def test_a_failed_last_step_ends_no_job_here() -> None:
    """The fold does, from the failure."""
    world = EndWorld()
    world.assessed = {}
    event = await world.resolved()
    (failed,) = await world.assess(event)
    assert isinstance(failed, RunFailed)
    assert await world.assess(event) == []


async def test_a_failed_claim_is_not_charged() -> None:
    world = EndWorld()
    end, result = await world.result(await world.resolved(None, "model_refused"))
    assert result["claims"][1]["failure"]["code"] == "MODEL_REFUSED"
    assert end.charged_micro_usd == 114_000
    assert end.newly_analysed == 1


@pytest.mark.requirement("FH-105")
async def test_an_older_analysis_serves_where_a_run_failed() -> None:
    """FH-105: After both providers a cached analysis serves, marked stale."""
    world = EndWorld(TWO)
    planned = await world.planned()
    older, failed = UUID(int=0x01D), planned.claims[1].run_id
    assert failed is not None
    world.log.publish(await world.analysed(world.extracted.claims[1].assertion_id, older))
    assert planned.claims[0].run_id is not None
    await world.end(planned.claims[0].run_id)
    await world.end(failed, fails="model_unavailable")
    with_fallback = planned.claims[1].model_copy(update={"analysis_id": older})
    end, result = await world.result(await world.replanned(planned.claims[0], with_fallback))
    assert [(each["cache_hit"], each["stale"]) for each in result["claims"]] == [(False, False), (True, True)]
    assert (end.from_cache, end.newly_analysed, end.charged_micro_usd) == (1, 1, 114_000)
    assert result["status"] == "complete"


async def test_an_analysis_that_was_there_before_serves_and_is_not_stale() -> None:
    world = EndWorld(TWO)
    planned = await world.planned()
    known = UUID(int=0x01D)
    world.log.publish(await world.analysed(world.extracted.claims[1].assertion_id, known))
    assert planned.claims[0].run_id is not None
    await world.end(planned.claims[0].run_id)
    hit = planned.claims[1].model_copy(update={"outcome": "HIT", "analysis_id": known, "run_id": None})
    end, result = await world.result(await world.replanned(planned.claims[0], hit))
    assert [(each["cache_hit"], each["stale"]) for each in result["claims"]] == [(False, False), (True, False)]
    assert (end.from_cache, end.newly_analysed) == (1, 1)


async def test_an_analysis_that_was_withdrawn_meanwhile_does_not_serve() -> None:
    world = EndWorld(TWO)
    event = await world.resolved()
    assert event.claims[0].analysis_id is not None
    world.withdrawn.add(event.claims[0].analysis_id)
    end, result = await world.result(event)
    assert result["claims"][0]["failure"]["code"] == "WITHDRAWN"
    assert end.charged_micro_usd == 114_000


async def cached(world: EndWorld, *outcomes: str) -> JobResolved:
    """A job whose claims were found in the cache, or were not."""
    await world.planned()
    claims = []
    for claim, outcome in zip(world.extracted.claims, outcomes, strict=True):
        if outcome == "HIT":
            analysis = UUID(int=0xCAC + claim.number)
            world.log.publish(await world.analysed(claim.assertion_id, analysis))
            claims.append(PlannedClaim(number=claim.number, outcome="HIT", analysis_id=analysis))
        else:
            claims.append(PlannedClaim(number=claim.number, outcome="MISS"))
    return await world.replanned(*claims)


@pytest.mark.requirement("FH-43", "FH-3")
async def test_a_cached_claim_costs_nothing_and_without_browsing_queries_are_planned() -> None:
    """FH-43: A cached claim returns its full verdict at no cost, within 100 ms.
    FH-3: Without browsing only cached analyses are used, and other claims carry planned queries.
    """
    claims = [CLAIMS[0], {**CLAIMS[1], "queries": ["unemployment november"]}]
    world = EndWorld({**TWO, "claims": claims})
    world.request = world.request.model_copy(update={"options": AuditOptions(browsing=False)})
    end, result = await world.result(await cached(world, "HIT", "MISS"))
    hit, miss = result["claims"]
    assert (hit["cache_hit"], len(hit["scenarios"])) == (True, 1)
    assert (miss["status"], miss["estimated_cost"]) == ("cache_miss", 0.081)
    assert miss["planned_queries"] == ["unemployment november"]
    assert (end.charged_micro_usd, end.stages_cached, result["stages_cached"]) == (33_000, ("ANALYSE",), ["stage2"])
    assert result["cache_used"]


@pytest.mark.requirement("FH-3")
async def test_without_browsing_a_job_requests_nothing() -> None:
    """FH-3: Without browsing only cached analyses are used, and other claims carry planned queries."""
    claims = [CLAIMS[0], {**CLAIMS[1], "queries": ["unemployment november"]}]
    world = EndWorld({**TWO, "claims": claims})
    world.request = world.request.model_copy(update={"options": AuditOptions(browsing=False)})
    await world.planned()
    _, result = await world.result(await world.concluded())
    assert [(each["status"], each["planned_queries"]) for each in result["claims"]] == [
        ("cache_miss", []),
        ("cache_miss", ["unemployment november"]),
    ]
    assert not [each for each in world.log.events if isinstance(each, AssertionAnalysisRequested)]
    assert world.fetched == []


async def test_an_article_whose_claims_all_miss_is_not_assessed() -> None:
    world = EndWorld(TWO)
    end, result = await world.result(await cached(world, "MISS", "MISS"))
    assert result["article_holistic_assessment"] is None
    assert (world.shown, end.charged_micro_usd, end.overall_verdict) == ([], 3_000, None)


async def test_an_article_without_claims_is_assessed_and_reviewed() -> None:
    world = EndWorld({"language": "en", "claims": []})
    end, result = await world.result(await world.resolved())
    assert result["article_holistic_assessment"]["overall_assessment"]["credibility_score"] is None
    assert (end.risk_tier, end.requires_review, end.charged_micro_usd) == ("A", True, 33_000)
    assert result["status"] == "complete"


@pytest.mark.requirement("FH-46", "FH-47", "FH-48", "FH-82", "FH-41", "FH-44")
async def test_a_job_that_can_buy_nothing() -> None:
    """FH-46: A cache-only result lists cached and missing claims.
    FH-47: Coverage and the price to complete are stated.
    FH-48: In cache-only mode stage 3 runs with full coverage only.
    FH-82: A cached claim shows its recommended scenario's label.
    FH-41: In cache-only mode stage 1 is not charged.
    FH-44: An uncached claim is a cache miss without a call.
    """
    five = [{"text": f"Statement number {number} is true."} for number in range(5)]
    missing = EndWorld({"language": "en", "claims": five})
    missing.request = missing.request.model_copy(
        update={"mode": "CACHE_ONLY", "period_id": None, "reserved_micro_usd": 0}
    )
    end, result = await missing.result(await cached(missing, "HIT", "MISS", "HIT", "HIT", "MISS"))
    assert result["status"] == "cache_only_mode"
    assert result["cache_coverage"] == {
        "claims_total": 5,
        "claims_cached": 3,
        "claims_missing": 2,
        "coverage_percent": 60,
    }
    assert "$0.162" in result["message"]
    assert result["cached_claims"][1] == {
        "claim_id": "C3",
        "verdict": "Highly Likely",
        "confidence": 0.95,
        "links": {"analysis": f"/v1/jobs/{format_job_id(JOB)}/result#/claims/2"},
    }
    assert [each["estimated_cost"] for each in result["missing_claims"]] == ["$0.081", "$0.081"]
    assert (result["article_holistic_assessment"], missing.shown) == (None, [])
    assert (end.charged_micro_usd, result["cost"], end.overall_verdict) == (0, 0.0, None)

    complete = EndWorld({"language": "en", "claims": five})
    complete.request = missing.request
    complete.texts = missing.texts
    end, result = await complete.result(await cached(complete, *["HIT"] * 5))
    assert result["article_holistic_assessment"] is not None
    assert (end.charged_micro_usd, end.outcome, len(complete.shown)) == (0, "SUCCEEDED", 1)


@pytest.mark.requirement("FH-82")
async def test_a_cached_claim_shows_the_scenario_that_is_recommended() -> None:
    """FH-82: A cached claim shows its recommended scenario's label."""
    world = EndWorld({"language": "en", "claims": CLAIMS[:1]})
    world.request = world.request.model_copy(update={"mode": "CACHE_ONLY", "period_id": None, "reserved_micro_usd": 0})
    (first,) = BODY.scenarios
    verdict = first.verdict.model_copy(update={"label": "Unlikely", "truth_label": "UNSUPPORTED", "confidence": 0.6})
    second = first.model_copy(update={"scenario_id": "s2", "verdict": verdict})
    world.body, world.recommended = BODY.model_copy(update={"scenarios": (first, second)}), 2
    _, result = await world.result(await cached(world, "HIT"))
    (shown,) = result["cached_claims"]
    assert (shown["verdict"], shown["confidence"]) == ("Unlikely", 0.6)
    assert result["claims"][0]["recommended_scenario"] == "s2"


@pytest.mark.requirement("FH-162")
async def test_a_receipt_is_verified_by_another_library() -> None:
    """FH-162: A result carries a signed receipt."""
    world = EndWorld(TWO)
    _, result = await world.result(await world.resolved())
    announced: KeySetSerialization = json.loads(PublicKeys(keys=(KEY.public,)).model_dump_json())
    keys = KeySet.import_key_set(announced)
    with pytest.warns(UserWarning, match="RFC 9864"):
        token = jws.deserialize_compact(result["receipt"], keys, algorithms=["EdDSA"])
    assert token.headers() == {"alg": "EdDSA", "kid": KEY.public.kid}
    stated = json.loads(token.payload)
    assert (stated["iss"], stated["jti"], stated["iat"]) == (ISSUER, format_job_id(JOB), int(NOW.timestamp()))
    unsigned = {name: value for name, value in result.items() if name != "receipt"}
    assert stated["result_sha256"] == sha256(rfc8785.dumps(unsigned)).hexdigest()
    assert stated["content_sha256"] == sha256(TEXT.encode()).hexdigest()
    assert [each["stage"] for each in stated["models"]] == ["stage1", "stage2", "stage2", "stage3"]
    assert [each["label"] for each in stated["claims"]] == ["Highly Likely", "Highly Likely"]
    assert "sky" not in str(stated)
    head, payload, signature = result["receipt"].split(".")
    changed = json.loads(base64.urlsafe_b64decode(payload + "=="))
    changed["claims"][0]["confidence"] = 0.94
    forged = base64.urlsafe_b64encode(json.dumps(changed).encode()).rstrip(b"=").decode()
    with pytest.raises(BadSignatureError), pytest.warns(UserWarning, match="RFC 9864"):
        jws.deserialize_compact(f"{head}.{forged}.{signature}", keys, algorithms=["EdDSA"])


async def test_the_same_end_has_the_same_receipt() -> None:
    receipts: list[Any] = []
    for _ in range(2):
        world = EndWorld(TWO)
        _, result = await world.result(await world.resolved())
        receipts.append(result["receipt"])
    assert receipts[0] == receipts[1]
    assert jwt.get_unverified_header(receipts[0])["alg"] == "EdDSA"


async def test_a_job_that_ended_meanwhile_stays_as_it_is() -> None:
    world = EndWorld()
    event = await world.resolved()
    world.log.publish(JobEnded(job_id=JOB, outcome="CANCELED", charged_micro_usd=0))
    assert await world.assess(event) == []
    assert world.shown == []


@pytest.mark.requirement("FH-157")
async def test_claims_beyond_the_limit_are_listed_and_cost_nothing() -> None:
    """FH-157: Claims beyond the limit are listed and never analysed."""
    sentences = [f"River {number} is long." for number in range(1, 10)]
    said = {"language": "en", "claims": [{"text": each, "volatility": "TIMELESS"} for each in sentences]}
    world = EndWorld(said, text=" ".join(sentences))
    world.request = world.request.model_copy(update={"reserved_micro_usd": 438_000})
    answer = ExtractAnswer.model_validate(said)
    seventh = extract_claims(answer, None, NOW.date(), 9).claims[6]
    world.log.publish(await world.analysed(seventh.assertion_id("en"), UUID(int=7)))
    end, result = await world.result(await world.resolved())
    assert [each["claim_text"] for each in result["claims"]] == sentences[:5]
    more = result["claim_extraction"]["more_claims"]
    assert [each["claim_text"] for each in more] == sentences[5:]
    assert [each["cached"] for each in more] == [False, True, False, False]
    assert more[1]["claim_hash"] == seventh.claim_hash
    assert [each["spans"][0]["start"] for each in more] == [17 * place for place in range(5, 9)]
    assert sum(isinstance(each, AssertionAnalysisRequested) for each in world.log.events) == 5
    assert (end.charged_micro_usd, end.newly_analysed) == (438_000, 5)
    assert all(sentence in write_report(result) for sentence in sentences)


@pytest.mark.requirement("FH-158")
async def test_a_claims_places_are_counted_in_both_ways() -> None:
    """FH-158: A claim's places in the text are stated in code points and UTF-16 units."""
    said = {"language": "en", "claims": [{"text": "The sky is blue."}, {"text": "It is not there."}]}
    text = "\U0001f600 The sky is blue."
    places = [{"start": 2, "end": 18, "start_utf16": 3, "end_utf16": 19}]
    _, sent = await (world := EndWorld(said, text=text)).result(await world.resolved())
    assert [each["spans"] for each in sent["claim_extraction"]["claims"]] == [places, None]
    world = EndWorld(said, url="https://news.example/a")
    world.articles["https://news.example/a"] = Article(ArticleWords(text=text), NOW.date())
    _, fetched = await world.result(await world.resolved())
    assert [each["spans"] for each in fetched["claim_extraction"]["claims"]] == [None, None]


@pytest.mark.parametrize("cancelled", [True, False])
async def test_words_that_went_with_a_cancelled_job_are_no_failure(
    cancelled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = EndWorld()
    resolved = await world.resolved()

    async def get(_: EphemeralRef) -> str:
        if cancelled:
            world.log.publish(JobEnded(job_id=JOB, outcome="CANCELED", charged_micro_usd=0))
        raise LookupError("removed")

    monkeypatch.setattr(world, "get", get)
    with nullcontext() if cancelled else pytest.raises(LookupError):
        assert [fact async for fact in world.assessor.on_job_resolved(resolved, 1)] == []
