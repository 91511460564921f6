"""A gateway whose job API is on, in memory, and what tests ask of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid4

import httpx

from contracts.accounts import credit_month
from contracts.jobs.ids import parse_job_id
from contracts.jobs.problems import PROBLEMS, ProblemCode, ProblemDocument, slug_of
from contracts.v1 import (
    AssertionAnalysed,
    CreditPosted,
    Event,
    JobEnded,
    JobExtracted,
    JobFetched,
    JobPlanned,
)
from contracts.v1.assertion import AnalysedScenario, Shape
from contracts.v1.ids import period_id
from contracts.v1.job import ExtractedClaim, PlannedClaim
from contracts.v1.parts import EphemeralRef, Usage
from contracts.v1.run import RunEnd
from kit.ephemeral import round_up
from lifecycle.audits.credits import Period, Terms, adjust, close_reservation
from services.gateway.domain import Account
from tests.support.auditing import MODELS
from tests.support.audits import hash_of, words
from tests.unit.gateway.fakes import NOW, Bench

ALICE: Final = Account(UUID(int=7), "reader", "free", None, has_webhook_secret=True)
BOB: Final = Account(UUID(int=8), "reader", "pro", None, has_webhook_secret=False)
KEYS: Final[Mapping[str, Account]] = {"oe_of-alice": ALICE, "oe_of-bob": BOB}
KEY: Final = "oe_of-alice"
TEXT: Final = "The sky is blue. Unemployment rose to 4 percent."
ARTICLE: Final = {"input_text": TEXT}
COMPLETE: Final = 438_000
"""The reservation of the usual job. Units: micro-dollars, as below."""
TERMS: Final = Terms(10_000_000, hard=True, max_open_jobs=5)


def opened(**settings: Any) -> Bench:
    """A gateway with two accounts."""
    bench = Bench(jobs=True, **{"jobs_rate": "100000/60", **settings})
    for key, account in KEYS.items():
        bench.key_table.add(key, "audit", account=account)
    return bench


async def send(
    bench: Bench, method: str, path: str, body: object = None, key: str = KEY, **headers: str
) -> httpx.Response:
    """One request of an account; header names have underscores here."""
    sent = {"authorization": f"Bearer {key}"} if key else {}
    if body is not None:
        sent["content-type"] = "application/json"
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    return await bench.http.request(method, path, content=content, headers=sent)


async def analyze(bench: Bench, body: object = ARTICLE, **headers: str) -> httpx.Response:
    """Ask for an audit."""
    return await send(bench, "POST", "/v1/analyze", body, **headers)


async def start(bench: Bench, body: object = ARTICLE, **headers: str) -> UUID:
    """A new job."""
    response = await analyze(bench, body, **headers)
    assert response.status_code == 202, response.text
    job_id = parse_job_id(response.json()["job_id"])
    assert job_id is not None
    return job_id


def problem(response: httpx.Response, code: ProblemCode, status: int | None = None) -> Mapping[str, Any]:
    """The details of an error, whose body must have both shapes."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    document = ProblemDocument.model_validate_json(response.content)
    assert (document.error.code, document.status) == (code, response.status_code), response.text
    assert response.status_code == (status or PROBLEMS[code].statuses[0])
    assert document.type == f"http://gateway/problems/{slug_of(code)}"
    return document.error.details


def stored(bench: Bench) -> list[type[Event]]:
    """The classes of all facts, in order."""
    return [type(fact.event) for fact in bench.jobs.facts]


def spend(bench: Bench, micro_usd: int, account: Account = ALICE) -> None:
    """Let an account have used this much this month."""
    bench.jobs.add(adjust(period_of(bench, account), TERMS, uuid4(), micro_usd))


def period_of(bench: Bench, account: Account = ALICE) -> Period:
    """An account's month, as the log has it."""
    month = credit_month(bench.clock.now())
    sequence = bench.jobs.last(f"{CreditPosted.SUBJECT}.{period_id(account.account_id, month)}")
    last = bench.jobs.facts[sequence - 1].event if sequence else None
    assert last is None or isinstance(last, CreditPosted)
    return Period(account.account_id, month, last, sequence)


def close(
    bench: Bench, job: UUID, *, charged: int = 0, result: str | None = None, settled: bool = True, **given: Any
) -> JobEnded:
    """End a job, as auditor and fold do. `result`: it succeeded. `settled`: the fold has charged it, too."""
    ref = None
    if result is not None:
        until = round_up(bench.clock.now() + timedelta(hours=24))
        ref = EphemeralRef(sha256=hash_of(result), size_bytes=len(result.encode()), until=until)
        bench.words.texts[ref.place] = result
    ended = JobEnded(
        **{
            "job_id": job,
            "outcome": "FAILED" if result is None else "SUCCEEDED",
            "code": "FETCH_FAILED" if result is None else None,
            "result": ref,
            "charged_micro_usd": charged,
            **given,
        }
    )
    bench.jobs.add(ended)
    entry = close_reservation(period_of(bench), job, charged) if settled else None
    if entry is not None:
        bench.jobs.add(entry)
    return ended


def assertion(number: int) -> UUID:
    """The assertion of a claim."""
    return UUID(int=0xA55 << 8 | number)


def run(number: int) -> UUID:
    """The run that a claim waits for."""
    return UUID(int=0x12 << 8 | number)


def fetched(job: UUID) -> JobFetched:
    return JobFetched(
        job_id=job,
        content_sha256=hash_of(TEXT),
        characters=len(TEXT),
        language="en",
        reference_day=NOW.date(),
        article=words("article"),
        stages=tuple(MODELS.values()),
        score_epoch=0,
    )


def extracted(job: UUID, claims: int = 3) -> JobExtracted:
    return JobExtracted(
        job_id=job,
        extraction=words(f"extraction of {job}"),
        memo_id=UUID(int=3),
        claims=tuple(
            ExtractedClaim(
                number=number,
                assertion_id=assertion(number),
                claim_hash=hash_of(str(number)),
                central=True,
                claim_type="event",
                evaluability="EVALUABLE",
                risk_tier="B",
                domain="politics",
                volatility="SLOW",
            )
            for number in range(1, claims + 1)
        ),
    )


def planned(job: UUID) -> JobPlanned:
    """One claim is cached, one is analysed for this job, one for another."""
    return JobPlanned(
        job_id=job,
        claims=(
            PlannedClaim(number=1, outcome="HIT", analysis_id=run(1)),
            PlannedClaim(number=2, outcome="OWN", run_id=run(2)),
            PlannedClaim(number=3, outcome="JOINED", run_id=run(3)),
        ),
    )


def analysed(of: UUID, analysis: UUID) -> AssertionAnalysed:
    return AssertionAnalysed(
        assertion_id=of,
        analysis_id=analysis,
        shape=Shape(scenarios=2, evidence=6),
        volatility="SLOW",
        expires_at=NOW + timedelta(days=90),
        body=words("body"),
        scenarios=(AnalysedScenario(ordinal=1, confidence=0.9, label="LIKELY"),),
        recommended=1,
        rollup="SUPPORTED",
        score_epoch=0,
        end=RunEnd(run_id=analysis, attempt=1, model="gpt-5.4", usage=Usage()),
    )
