"""Jobs as their accounts read them: from the log, at once, and nobody else's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, get_args
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.jobs.answers import JobAccepted, JobFailureCode, JobFinished, JobView, job_path
from contracts.jobs.ids import format_job_id
from contracts.v1 import JobEnded, JobRequested, JobResolved, RunFailed, RunStarted
from contracts.v1.ids import step_run_id
from contracts.v1.job import ResolvedClaim
from kit.cancelling import cancel_and_wait
from kit.history import StoredFact
from lifecycle.audits.runs import EXTRACT
from lifecycle.audits.words import article_folder, run_folder
from services.gateway.jobs.logged import describe_failure
from services.gateway.jobs.reading import Jobs
from services.gateway.jobs.signals import Signals
from tests.support.audits import words
from tests.support.job_api import (
    ARTICLE,
    analysed,
    analyze,
    assertion,
    close,
    extracted,
    fetched,
    opened,
    planned,
    problem,
    run,
    send,
    start,
)
from tests.unit.gateway.fakes import NOW, Bench

CASES: Final = Path(__file__).parents[2] / "cases" / "claims"
RESULT: Final[Any] = json.loads((CASES / "job_documents.json").read_text())["FullResult"]
HOURS_24: Final = timedelta(hours=24).total_seconds()


async def view(bench: Bench, job: UUID) -> JobView:
    response = await send(bench, "GET", job_path(job))
    assert response.status_code == 200, response.text
    return JobView.model_validate_json(response.content)


def begin(bench: Bench, job: UUID) -> None:
    """Let the worker of a job take it to the plan of its claims."""
    bench.jobs.add(fetched(job), extracted(job), planned(job))


def resolve(bench: Bench, job: UUID) -> None:
    claims = tuple(ResolvedClaim(number=number, analysis_id=run(number)) for number in (1, 2, 3))
    bench.jobs.add(JobResolved(job_id=job, claims=claims, complete=True))


async def until(holds: Callable[[], bool]) -> None:
    """Let others go on until this holds."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0)


@asynccontextmanager
async def following(bench: Bench) -> AsyncIterator[None]:
    """The gateway follows the log, as its process has it do."""
    jobs = bench.app.jobs
    assert jobs is not None
    task = asyncio.create_task(jobs.signals.run())
    try:
        yield
    finally:
        await cancel_and_wait([task])


@pytest.mark.requirement("FH-10", "FH-15", "FH-16")
async def test_a_job_is_read_as_far_as_it_is() -> None:
    """FH-10: `request_id` and `source_label` are echoed while the job's words are kept.
    FH-15: A job's state can be read; an unknown job is 404.
    FH-16: A job has one of five statuses and never leaves a terminal one.
    """
    bench = opened()
    client = {"request_id": "mine", "source_label": "a reader", "webhook_url": "https://example.org/"}
    options = {"max_claims": 3, "browsing": "off", "depth": "deep", "cache_preference": "allow_partial"}
    job = await start(bench, ARTICLE | {"client": client, "options": options})
    found = await view(bench, job)
    assert (found.status, found.progress.stage, found.progress.claims_total) == ("QUEUED", "queued", None)
    assert (found.created_at, found.updated_at, found.ended_at, found.charged) == (NOW, NOW, None, None)
    assert (found.client.request_id, found.client.source_label) == ("mine", "a reader")
    assert found.webhook is not None
    assert found.webhook.state == "pending"
    assert found.options.model_dump(include=set(options)) == options
    seen = []
    bench.clock.pass_by(1)
    for fact in (fetched(job), extracted(job), planned(job)):
        bench.jobs.add(fact)
        found = await view(bench, job)
        seen.append((found.status, found.progress.stage, found.progress.claims_total, found.progress.claims_done))
    assert seen == [
        ("RUNNING", "stage1", None, None),
        ("RUNNING", "stage2", 3, 0),
        ("RUNNING", "stage2", 3, 1),
    ]
    assert found.updated_at == NOW + timedelta(seconds=1)
    bench.jobs.add(analysed(assertion(2), run(2)))
    assert (await view(bench, job)).progress.claims_done == 2
    resolve(bench, job)
    assert (await view(bench, job)).progress.model_dump() == {"stage": "stage3", "claims_total": 3, "claims_done": 3}
    close(bench, job, charged=114_000, result="{}")
    found = await view(bench, job)
    assert (found.status, found.charged, found.error) == ("SUCCEEDED", 114_000, None)
    assert found.expires_at == NOW + timedelta(hours=24)
    bench.clock.pass_by(HOURS_24)
    assert (await view(bench, job)).client.request_id is None


async def test_a_job_that_no_replica_has_yet_is_read_from_the_leader() -> None:
    bench = opened()
    job = await start(bench)
    bench.jobs.lag = len(bench.jobs.facts)
    assert (await view(bench, job)).status == "QUEUED"


async def test_what_others_have_analysed_changes_nothing_of_a_job() -> None:
    bench = opened()
    job = await start(bench)
    begin(bench, job)
    bench.clock.pass_by(1)
    bench.jobs.add(analysed(assertion(2), run(9)))
    assert (await view(bench, job)).updated_at == NOW
    bench.jobs.add(analysed(assertion(2), run(2)))
    assert (await view(bench, job)).updated_at == NOW + timedelta(seconds=1)
    await send(bench, "DELETE", job_path(job))
    bench.clock.pass_by(1)
    bench.jobs.add(analysed(assertion(3), run(3)))
    found = await view(bench, job)
    assert found.updated_at == found.ended_at == NOW + timedelta(seconds=1)


@pytest.mark.requirement("FH-16")
async def test_a_run_that_started_says_that_the_job_runs() -> None:
    """FH-16: A job has one of five statuses and never leaves a terminal one."""
    bench = opened()
    job = await start(bench)
    bench.jobs.add(
        RunStarted(
            run_id=step_run_id(job, EXTRACT),
            step=EXTRACT,
            subject_id=job,
            attempt=1,
            worker="w",
            delivery_count=1,
            prompt_version="p",
            prompt_sha256="0" * 64,
            provider="openai",
            model="m",
            rules="r",
        )
    )
    assert (await view(bench, job)).status == "RUNNING"


@pytest.mark.parametrize(("code", "shown"), [("FETCH_FAILED", "FETCH_FAILED"), ("SOMETHING_NEW", "INTERNAL")])
async def test_a_failure_says_why(code: str, shown: str) -> None:
    bench = opened()
    job = await start(bench)
    close(bench, job, code=code)
    found = await view(bench, job)
    assert found.error is not None
    assert (found.status, found.error.code, found.charged, found.expires_at) == ("FAILED", shown, 0, None)
    details = problem(await send(bench, "GET", job_path(job) + "/result"), "NO_RESULT")
    assert details == {"code": code}


@pytest.mark.parametrize("code", get_args(JobFailureCode))
def test_a_failure_says_what_to_do(code: JobFailureCode) -> None:
    failure = describe_failure(JobEnded(job_id=uuid4(), outcome="FAILED", code=code, charged_micro_usd=0))
    assert failure is not None
    why, advice = failure.message.split(". ")
    assert advice.split()[0] in ("Send", "Try"), why


@pytest.mark.requirement("FH-30", "FH-165")
@pytest.mark.parametrize(
    ("method", "part"),
    [("GET", ""), ("DELETE", ""), ("GET", "/result"), ("GET", "/report"), ("GET", "/events")],
)
async def test_another_accounts_job_is_404(method: str, part: str) -> None:
    """FH-30: Jobs, credit and admin routes need a key, and a job belongs to its account.
    FH-165: Results are private to their account.
    """
    bench = opened()
    job = await start(bench)
    close(bench, job, result=json.dumps(RESULT))
    path = job_path(job) + part
    problem(await send(bench, method, path, key="oe_of-bob"), "NOT_FOUND")
    problem(await send(bench, method, path, key=""), "UNAUTHENTICATED")
    for unknown in (format_job_id(UUID(int=99)), "nothing", str(job)):
        problem(await send(bench, method, f"/v1/jobs/{unknown}{part}"), "NOT_FOUND")
    assert (await send(bench, method, path)).status_code in (200, 204)


@pytest.mark.requirement("FH-17", "FH-18", "FH-140")
async def test_result_and_report_are_there_for_a_day() -> None:
    """FH-17: The result is final JSON, 409 until there is one.
    FH-18: The report is Markdown, a pure function of the result.
    FH-140: A job's outputs live 24 hours.
    """
    bench = opened()
    job = await start(bench)
    links = [f"{job_path(job)}/{name}" for name in ("result", "report")]
    for link in links:
        early = await send(bench, "GET", link)
        problem(early, "NOT_READY")
        assert early.headers["retry-after"] == "5"
    sample = json.loads((CASES / "report.json").read_text())[0]
    text = json.dumps(sample["result"])
    close(bench, job, result=text)
    result, report = [await send(bench, "GET", link) for link in links]
    assert result.text == text
    assert result.headers["content-type"] == "application/json"
    assert result.headers["cache-control"] == report.headers["cache-control"] == "no-store"
    assert report.headers["content-type"] == "text/markdown; charset=utf-8"
    assert report.text == "\n".join(sample["markdown"]) + "\n"
    bench.clock.pass_by(HOURS_24 - 60)
    assert [(await send(bench, "GET", link)).status_code for link in links] == [200, 200]
    bench.clock.pass_by(120)
    for link in links:
        problem(await send(bench, "GET", link), "EXPIRED")


@pytest.mark.requirement("FH-20")
async def test_deleting_a_job_cancels_it_and_removes_its_words() -> None:
    """FH-20: Deleting a job cancels it and removes its words."""
    bench = opened()
    job, other = await start(bench), await start(bench)
    begin(bench, job)
    text = bench.jobs.of(JobRequested)[0].input
    await bench.words.put("the article", text.until, article_folder(job))
    await bench.words.put("an answer", text.until, run_folder(job, EXTRACT))
    assert (await send(bench, "DELETE", job_path(job))).status_code == 204
    (ended,) = bench.jobs.of(JobEnded)
    assert (ended.outcome, ended.charged_micro_usd) == ("CANCELED", 84_000), "its extraction and its own claim"
    assert text.place not in bench.words.texts
    assert len(bench.words.texts) == 1, "the same words of another job are left alone"
    found = await view(bench, job)
    assert (found.status, found.charged, found.client.request_id) == ("CANCELED", 84_000, None)
    assert (await send(bench, "DELETE", job_path(job))).status_code == 204
    assert len(bench.jobs.of(JobEnded)) == 1
    assert problem(await send(bench, "GET", job_path(job) + "/result"), "NO_RESULT") == {"code": "CANCELED"}
    close(bench, other, result="{}")
    assert (await send(bench, "DELETE", job_path(other))).status_code == 204
    problem(await send(bench, "GET", job_path(other) + "/result"), "EXPIRED")


async def test_a_job_that_ends_while_it_is_cancelled_has_ended() -> None:
    bench = opened()
    job = await start(bench)
    bench.jobs.meanwhile = lambda: close(bench, job, result="{}")
    assert (await send(bench, "DELETE", job_path(job))).status_code == 204
    assert [each.outcome for each in bench.jobs.of(JobEnded)] == ["SUCCEEDED"]
    assert bench.words.texts == {}


async def test_the_address_of_a_webhook_stays_for_who_sends_it() -> None:
    bench = opened()
    client = {"request_id": "mine", "webhook_url": "https://example.org/"}
    job = await start(bench, ARTICLE | {"client": client})
    for _ in range(2):
        assert (await send(bench, "DELETE", job_path(job))).status_code == 204
        assert len(bench.words.texts) == 1
    assert (await view(bench, job)).client.request_id is None


@pytest.mark.requirement("FH-20")
async def test_a_job_that_has_ended_is_deleted_with_the_address_of_its_webhook() -> None:
    """FH-20: Deleting a job cancels it and removes its words."""
    bench = opened()
    job = await start(bench, ARTICLE | {"client": {"webhook_url": "https://example.org/"}})
    close(bench, job, result="{}")
    assert len(bench.words.texts) == 2
    assert (await send(bench, "DELETE", job_path(job))).status_code == 204
    assert bench.words.texts == {}


@pytest.mark.requirement("FH-155")
async def test_a_job_that_has_not_begun_is_cancelled_for_nothing() -> None:
    """FH-155: A cancelled job pays for its own started steps."""
    bench = opened()
    job = await start(bench)
    await send(bench, "DELETE", job_path(job))
    assert [each.charged_micro_usd for each in bench.jobs.of(JobEnded)] == [0]
    job = await start(bench)
    begin(bench, job)
    bench.jobs.add(RunFailed(run_id=run(2), attempt=1, failure="NON_RETRYABLE", reason="timeout"))
    await send(bench, "DELETE", job_path(job))
    assert bench.jobs.of(JobEnded)[-1].charged_micro_usd == 3_000, "a run that failed is not charged"


@pytest.mark.requirement("FH-153")
async def test_a_request_waits_for_the_end() -> None:
    """FH-153: `Prefer: wait` waits for the end."""
    bench = opened()

    async def work() -> None:
        await until(lambda: bench.jobs.following > 0)
        job = bench.jobs.of(JobRequested)[-1].job_id
        begin(bench, job)
        await asyncio.sleep(0)
        close(bench, job, charged=114_000, result=json.dumps(RESULT))

    async with following(bench):
        response, _ = await asyncio.gather(analyze(bench, prefer="wait=60"), work())
        assert response.status_code == 200
        finished = JobFinished.model_validate_json(response.content)
        assert (finished.status, finished.charged, finished.maximum_cost) == ("SUCCEEDED", 114_000, 438_000)
        assert response.json()["result"] == RESULT
        assert response.headers["preference-applied"] == "wait=60"
        job = await start(bench)
        waiting = [
            asyncio.create_task(send(bench, "GET", job_path(job) + part, prefer="wait=300"))
            for part in ("", "/result", "/report")
        ]
        jobs = bench.app.jobs
        assert jobs is not None
        await until(lambda: len(jobs.signals.listeners) == 3)
        close(bench, job, result=json.dumps(RESULT))
        answers = await asyncio.gather(*waiting)
        assert [each.status_code for each in answers] == [200, 200, 200]
        assert {each.headers["preference-applied"] for each in answers} == {"wait=60"}
        assert answers[0].json()["status"] == "SUCCEEDED"


async def test_a_request_that_waits_learns_why_its_job_failed() -> None:
    bench = opened()

    async def fail() -> None:
        await until(lambda: bench.jobs.following > 0)
        close(bench, bench.jobs.of(JobRequested)[-1].job_id, code="NOT_PUBLIC")

    async with following(bench):
        response, _ = await asyncio.gather(analyze(bench, prefer="wait=60"), fail())
    finished = JobFinished.model_validate_json(response.content)
    assert finished.error is not None
    assert (finished.status, finished.error.code, finished.charged) == ("FAILED", "NOT_PUBLIC", 0)


async def test_a_job_that_was_accepted_is_no_error_though_nobody_can_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who is refused sends it again."""
    monkeypatch.setattr("services.gateway.jobs.signals.LISTENERS", 0)
    bench = opened()
    response = await analyze(bench, prefer="wait=60")
    assert response.status_code == 202, response.text
    assert len(bench.jobs.of(JobRequested)) == 1


async def test_who_waits_in_vain_reads_how_far_it_is() -> None:
    bench = opened()
    async with following(bench):
        response = await analyze(bench, prefer="wait=1")
    assert (response.status_code, response.headers["preference-applied"]) == (202, "wait=1")
    JobAccepted.model_validate_json(response.content)


async def test_who_waits_is_answered_when_the_process_stops() -> None:
    bench = opened()
    jobs = bench.app.jobs
    assert jobs is not None
    async with following(bench):
        waiting = [asyncio.create_task(analyze(bench, prefer="wait=60"))]
        await until(lambda: len(jobs.signals.listeners) == 1)
        job = bench.jobs.of(JobRequested)[-1].job_id
        waiting.append(asyncio.create_task(send(bench, "GET", job_path(job), prefer="wait=60")))
        await until(lambda: len(jobs.signals.listeners) == 2)
        await jobs.stop()
        waiting.append(asyncio.create_task(send(bench, "GET", job_path(job), prefer="wait=60")))
        async with asyncio.timeout(10):
            answers = await asyncio.gather(*waiting)
    assert [(each.status_code, each.json()["status"]) for each in answers] == [
        (202, "QUEUED"),
        (200, "QUEUED"),
        (200, "QUEUED"),
    ]


async def test_a_failed_job_is_finished_without_a_result() -> None:
    bench = opened()

    async def work() -> None:
        await until(lambda: bool(bench.jobs.of(JobRequested)))
        close(bench, bench.jobs.of(JobRequested)[0].job_id)

    async with following(bench):
        response, _ = await asyncio.gather(analyze(bench, prefer="wait=60"), work())
    assert (response.status_code, response.json()["status"], response.json()["charged"]) == (200, "FAILED", 0)
    assert "result" not in response.json()


def parse(body: str) -> list[tuple[str | None, str, Any]]:
    """Events as (id, name, data)."""
    found = []
    for frame in body.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in frame.split("\n") if line[:1] not in ("", ":"))
        if "event" in fields:
            found.append((fields.get("id"), fields["event"], json.loads(fields["data"])))
    return found


async def whole(bench: Bench) -> UUID:
    """A job from its request to its end; a run that it joined ended before its plan."""
    job = await start(bench)
    bench.jobs.add(fetched(job), extracted(job), analysed(assertion(3), run(3)), planned(job))
    bench.jobs.add(RunFailed(run_id=run(2), attempt=1, failure="NON_RETRYABLE", reason="timeout"))
    bench.jobs.add(analysed(assertion(3), run(9)))
    resolve(bench, job)
    close(bench, job, charged=33_000, result="{}")
    return job


@pytest.mark.requirement("FH-19")
async def test_events_tell_how_far_a_job_is_and_end() -> None:
    """FH-19: Events of a job are a stream that resumes and ends."""
    bench = opened()
    job = await whole(bench)
    response = await send(bench, "GET", job_path(job) + "/events")
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    ulid = format_job_id(job)
    assert parse(response.text) == [
        ("2", "queued", {"job_id": ulid, "created_at": "2026-03-04T05:06:07.089Z", "mode": "credit"}),
        ("3", "fetched", {"characters": 48, "language": "en"}),
        ("4", "extracted", {"claims_total": 3, "cached_extraction": False}),
        (
            None,
            "planned",
            {
                "claims": [
                    {"claim_id": "C1", "outcome": "hit"},
                    {"claim_id": "C2", "outcome": "new"},
                    {"claim_id": "C3", "outcome": "joined"},
                ]
            },
        ),
        ("6", "claim", {"claim_id": "C3", "state": "done", "rollup_verdict": "Supported"}),
        ("7", "claim", {"claim_id": "C2", "state": "failed"}),
        ("9", "assessing", {}),
        (
            "10",
            "ended",
            {
                "status": "SUCCEEDED",
                "charged": 0.033,
                "links": {
                    "self": f"/v1/jobs/{ulid}",
                    "result": f"/v1/jobs/{ulid}/result",
                    "report": f"/v1/jobs/{ulid}/report",
                    "events": f"/v1/jobs/{ulid}/events",
                },
            },
        ),
    ]


@pytest.mark.requirement("FH-19", "FH-48")
@pytest.mark.parametrize(
    ("preference", "claims", "assessing"),
    [
        ("prefer_cache", [{}, {}], False),
        ("prefer_cache", [{"failure": "NOT_A_CLAIM"}], False),
        ("prefer_cache", [{"analysis_id": run(1)}, {}], True),
        ("cache_only", [{"analysis_id": run(1)}, {}], False),
        ("cache_only", [{"analysis_id": run(1)}, {"failure": "NOT_A_CLAIM"}], True),
        ("cache_only", [], True),
    ],
)
async def test_assessing_is_announced_where_it_happens(
    preference: str, claims: list[dict[str, Any]], assessing: bool
) -> None:
    """FH-19: Events of a job are a stream that resumes and ends.
    FH-48: In cache-only mode stage 3 runs with full coverage only.
    """
    bench = opened()
    response = await analyze(bench, ARTICLE | {"options": {"cache_preference": preference}})
    job = JobAccepted.model_validate_json(response.content).job_id
    resolved = tuple(ResolvedClaim(number=number, **each) for number, each in enumerate(claims, 1))
    bench.jobs.add(JobResolved(job_id=job, claims=resolved, complete=all("analysis_id" in each for each in claims)))
    close(bench, job, result="{}")
    events = [name for _, name, _ in parse((await send(bench, "GET", job_path(job) + "/events")).text)]
    assert events == ["queued", *["assessing"] * assessing, "ended"]


@pytest.mark.requirement("FH-19")
async def test_events_resume_from_any_point() -> None:
    """FH-19: Events of a job are a stream that resumes and ends."""
    bench = opened()
    job = await whole(bench)
    path = job_path(job) + "/events"
    everything = parse((await send(bench, "GET", path)).text)
    for last in range(10):
        rest = parse((await send(bench, "GET", path, last_event_id=str(last))).text)
        ids = [int(each) for each, _, _ in everything if each is not None]
        cut = max((place + 1 for place, each in enumerate(everything) if each[0] and int(each[0]) <= last), default=0)
        assert rest == everything[cut:], last
        assert len(rest) == len(everything) - cut
        assert ids == sorted(ids)
    over = await send(bench, "GET", path, last_event_id="10")
    assert (over.status_code, over.content) == (204, b"")
    for wrong in ("abc", "-1", "9" * 20):
        problem(await send(bench, "GET", path, last_event_id=wrong), "VALIDATION_ERROR")


async def test_nothing_comes_behind_the_end_of_a_cancelled_job() -> None:
    bench = opened()
    job = await start(bench)
    begin(bench, job)
    await send(bench, "DELETE", job_path(job))
    bench.jobs.add(analysed(assertion(2), run(2)))
    path = job_path(job) + "/events"
    last, name, _ = parse((await send(bench, "GET", path)).text)[-1]
    assert name == "ended"
    assert (await send(bench, "GET", path, last_event_id=str(last))).status_code == 204


class Client:
    """A client of a stream that has not ended."""

    def __init__(self, bench: Bench, path: str) -> None:
        self.chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self.gone = asyncio.Event()
        self.headers = [(b"authorization", b"Bearer oe_of-alice"), (b"host", b"gateway")]
        self.task = asyncio.create_task(bench.app(self._scope(path), self._receive, self._send))

    def _scope(self, path: str) -> dict[str, Any]:
        return {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": self.headers,
            "client": ("203.0.113.7", 1),
            "scheme": "http",
            "http_version": "1.1",
        }

    async def _receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.body" and message.get("body"):
            self.chunks.put_nowait(message["body"])

    async def read(self) -> bytes:
        return await asyncio.wait_for(self.chunks.get(), 10)


@pytest.mark.requirement("FH-19")
async def test_events_come_as_they_happen() -> None:
    """FH-19: Events of a job are a stream that resumes and ends."""
    bench = opened(heartbeat_s=0.05)
    job = await start(bench)
    async with following(bench):
        client = Client(bench, job_path(job) + "/events")
        assert await client.read() == b"retry: 1000\n\n"
        assert b"event: queued" in await client.read()
        assert await client.read() == b": all is well\n\n", "a heartbeat"
        for act, name in (
            (lambda: bench.jobs.add(fetched(job)), b"fetched"),
            (lambda: bench.jobs.add(extracted(job), planned(job)), b"planned"),
            (lambda: bench.jobs.add(analysed(assertion(2), run(2))), b"claim"),
            (lambda: close(bench, job), b"ended"),
        ):
            act()
            while (chunk := await client.read()) == b": all is well\n\n":
                pass
            assert b"event: " + name in chunk
        await asyncio.wait_for(client.task, 10)
        assert bench.jobs.following == 1
        bench.jobs.add(JobEnded(job_id=UUID(int=77), outcome="FAILED", code="INTERNAL", charged_micro_usd=0))
        await until(lambda: not bench.jobs.following)


async def test_an_end_is_sent_though_a_later_end_of_a_run_was_seen_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job's own facts are read first and its runs' ends after them; both ends are stored between."""
    bench = opened()
    job = await start(bench)
    begin(bench, job)
    read, reads = bench.jobs.read, 0

    async def read_behind_both(*patterns: str, after: int = 0) -> Sequence[StoredFact]:
        nonlocal reads
        reads += any(str(run(2)) in each for each in patterns)
        if reads == 2 and not bench.jobs.of(JobEnded):  # the first finds the job, the second is of its stream
            close(bench, job)
            bench.jobs.add(analysed(assertion(2), run(2)))
        return await read(*patterns, after=after)

    monkeypatch.setattr(bench.jobs, "read", read_behind_both)
    path = job_path(job) + "/events"
    async with following(bench):
        sent = parse((await send(bench, "GET", path)).text)
    assert [name for _, name, _ in sent] == ["queued", "fetched", "extracted", "planned", "claim", "ended"]
    (claim, *_), (end, *_) = sent[-2:]
    assert int(claim or 0) > int(end or 0)
    for last in (claim, "9" * 19):  # cut off behind the claim, or an id from nowhere
        assert parse((await send(bench, "GET", path, last_event_id=str(last))).text) == sent[-1:]
    assert (await send(bench, "GET", path, last_event_id=str(end))).status_code == 204


async def test_a_claim_that_the_job_begins_to_wait_for_is_listened_to() -> None:
    bench = opened()
    job = await start(bench)
    signals = Signals(bench.jobs)
    jobs = Jobs(bench.jobs, bench.words, signals, bench.clock)
    found = await jobs.read(job)
    assert found is not None
    following = asyncio.create_task(signals.run())
    states = jobs.follow(found, 60, look_s=60)
    await anext(states)
    begin(bench, job)
    while (await asyncio.wait_for(anext(states), 10)).job.planned is None:
        pass
    bench.jobs.add(analysed(assertion(2), run(2)))
    assert run(2) in (await asyncio.wait_for(anext(states), 10)).job.ended
    await states.aclose()
    await cancel_and_wait([following])


async def test_a_stream_ends_when_its_client_leaves_or_the_process_stops() -> None:
    bench = opened()
    job = await start(bench)
    async with following(bench):
        leaving, staying = (Client(bench, job_path(job) + "/events") for _ in range(2))
        assert await leaving.read()
        assert await staying.read()
        leaving.gone.set()
        await asyncio.wait_for(leaving.task, 10)
        assert bench.app.jobs is not None
        await bench.app.jobs.stop()
        await asyncio.wait_for(staying.task, 10)
        assert not bench.app.jobs.signals.listeners


async def test_an_account_has_a_limited_number_of_streams() -> None:
    bench = opened()
    job = await start(bench)
    async with following(bench):
        clients = [Client(bench, job_path(job) + "/events") for _ in range(50)]
        for client in clients:
            await client.read()
            await client.read()
        problem(await send(bench, "GET", job_path(job), prefer="wait=1"), "SERVICE_UNAVAILABLE")
        assert (await send(bench, "GET", job_path(job))).status_code == 200
        for client in clients:
            client.gone.set()
        await asyncio.gather(*(client.task for client in clients))
        later = Client(bench, job_path(job) + "/events")
        assert b"event: queued" in await later.read() + await later.read(), "a place that was left is free"
        later.gone.set()
        await later.task


@given(order=st.permutations(range(5)))
async def test_no_order_of_facts_leaves_a_terminal_state(order: list[int]) -> None:
    bench = opened()
    job = await start(bench)
    ends = (
        JobEnded(job_id=job, outcome="SUCCEEDED", result=words("x"), charged_micro_usd=1),
        JobEnded(job_id=job, outcome="CANCELED", charged_micro_usd=0),
        fetched(job),
        extracted(job),
        planned(job),
    )
    seen = []
    for place in order:
        bench.jobs.add(ends[place])
        sequence = bench.jobs.last(ends[place].subject())
        first = next(each.sequence for each in bench.jobs.facts if each.event.subject() == ends[place].subject())
        if sequence != first:  # the stream stores no second one behind 0
            bench.jobs.facts.pop()
        seen.append((await view(bench, job)).status)
    ended = [each for each in seen if each in ("SUCCEEDED", "CANCELED")]
    assert len(set(ended)) == 1
    assert seen[-len(ended) :] == ended
