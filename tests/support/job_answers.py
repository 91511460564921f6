"""What the job server of the tests answers: documents of contracts/jobs, and a signed result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from uuid import UUID

import jwt

from contracts.jobs.answers import (
    CacheInfo,
    EchoedLabels,
    Estimate,
    JobAccepted,
    JobFailure,
    JobRepeated,
    JobStatus,
    JobView,
    Progress,
    links_of,
)
from contracts.jobs.costs import CostBreakdown
from contracts.jobs.credit import Credit, UsageStats
from contracts.jobs.ids import parse_job_id
from contracts.jobs.requests import AnalyzeRequest
from services.auditor.receipts import hash_result
from tests.support.assessing import KEY, EndWorld
from tests.support.factories import NOW

COSTS: Final = CostBreakdown(
    stage1_extraction=3_000, stage2_new_claims=81_000, stage2_cached_claims=0, stage3_holistic=30_000
)
CACHE: Final = CacheInfo(claims_to_extract=1, estimated_cache_hits=0, estimated_new_claims=1, basis="rolling_hit_rate")

EVENTS: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    ("queued", {"mode": "credit"}),
    ("fetched", {"characters": 76, "language": "en"}),
    ("extracted", {"claims_total": 2, "cached_extraction": False}),
    ("planned", {"claims": [{"claim_id": "C1", "outcome": "new"}, {"claim_id": "C2", "outcome": "hit"}]}),
    ("claim", {"claim_id": "C1", "state": "done", "rollup_verdict": "Supported"}),
    ("assessing", {}),
    ("ended", {"status": "SUCCEEDED", "charged": 0.114}),
)
CORRECTIONS: Final[Mapping[str, Any]] = {
    "public.getPostInvestigations": {
        "post": {"platform": "WIKIPEDIA", "externalId": "en:1", "url": "https://en.wikipedia.org/wiki/Sky"},
        "investigations": [{"id": "3c5e7f2a-0000-4000-8000-000000000001", "claimCount": 1}],
    },
    "public.getInvestigation": {"claims": [{"quote": "The sky is green.", "summary": "It is blue."}]},
}


@dataclass
class FakeJob:
    """A job, and whether it ended."""

    id: str
    request: AnalyzeRequest
    status: JobStatus = "QUEUED"


@cache
def _signed() -> Mapping[str, Any]:
    async def assess() -> Mapping[str, Any]:
        world = EndWorld()
        _, result = await world.result(await world.resolved())
        return dict(result)

    with asyncio.Runner() as runner:
        return runner.run(assess())


def result_of(job_id: str, verdict: str = "") -> dict[str, Any]:
    """A signed result of this job. `verdict`: another than the real one."""
    base = _signed()
    result: dict[str, Any] = json.loads(json.dumps(base).replace(base["job_id"], job_id))
    if verdict:
        result["article_holistic_assessment"]["overall_verdict"] = verdict
    payload = jwt.decode(base["receipt"], options={"verify_signature": False})
    receipt = KEY.sign({**payload, "jti": job_id, "result_sha256": hash_result(result)})
    return {**result, "receipt": receipt}


def uuid_of(job: FakeJob) -> UUID:
    found = parse_job_id(job.id)
    assert found is not None
    return found


def view_of(job: FakeJob) -> JobView:
    has_ended = job.status not in ("QUEUED", "RUNNING")
    return JobView(
        job_id=uuid_of(job),
        status=job.status,
        created_at=NOW,
        updated_at=NOW,
        mode="credit",
        options=job.request.options,
        client=EchoedLabels(request_id=job.request.client.request_id, source_label=job.request.client.source_label),
        links=links_of(uuid_of(job)),
        deadline_at=NOW,
        progress=Progress(stage="ended" if has_ended else "stage2", claims_total=2, claims_done=1),
        ended_at=NOW if has_ended else None,
        expires_at=NOW if has_ended else None,
        charged=114_000 if has_ended else None,
        error=JobFailure(code="NOT_PUBLIC", message="The page asks for a login.") if job.status == "FAILED" else None,
        webhook=None,
    )


def credit() -> Credit:
    return Credit(
        user_id=UUID(int=0xACC0),
        tier="free",
        credit_limit=10_000_000,
        credit_used=886_000,
        credit_remaining=9_000_000,
        reset_date=NOW,
        cache_only_mode=False,
        usage_stats=UsageStats(
            articles_analyzed=3, claims_from_cache=189, claims_newly_analyzed=113, cache_hit_rate=0.626
        ),
        credit_reserved=114_000,
        open_jobs=1,
        extractions_left_today=50,
    )


def accepted(job: FakeJob) -> JobAccepted:
    """202."""
    job_id = uuid_of(job)
    costs = {"estimated_cost": COSTS.total, "maximum_cost": 438_000, "cost_breakdown": COSTS, "cache_info": CACHE}
    times = {"created_at": NOW, "deadline_at": NOW}
    return JobAccepted.model_validate(
        {"job_id": job_id, "status": "QUEUED", "mode": "credit", "links": links_of(job_id), **times, **costs}
    )


def repeated(job: FakeJob) -> JobRepeated:
    """200, for a request that was made before."""
    return JobRepeated(
        job_id=uuid_of(job),
        status=job.status,
        idempotent=True,
        original_request_at=NOW,
        message="This request was made before.",
    )


def estimate() -> Estimate:
    """200, of an estimate."""
    given = {"estimated_cost": COSTS.total, "maximum_cost": 438_000, "cost_breakdown": COSTS, "cache_info": CACHE}
    return Estimate.model_validate(
        {**given, "mode": "credit", "credit_remaining": 9_000_000, "would_be_accepted": True}
    )
