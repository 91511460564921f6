"""Both clients against a server on a real socket that misbehaves."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Sequence
from decimal import Decimal

import httpx
import pytest

from openerrata_client import (
    ApiConnectionError,
    ApiError,
    AsyncClient,
    AsyncJob,
    AuthenticationError,
    CacheOnlyResult,
    Client,
    ClientLabels,
    CreditExhaustedError,
    IdempotencyError,
    InvalidRequestError,
    Job,
    JobFailedError,
    JobTimeoutError,
    NotFoundError,
    OpenErrataError,
    Options,
    RateLimitError,
    RetryPolicy,
    ServerError,
    UnreadableAnswerError,
    verify_receipt,
)
from openerrata_client.calls import QUIET_S
from openerrata_client.types import API_VERSION, JobAccepted, JobRepeated
from tests.client.driven import Pauses, driven
from tests.support.job_server import Fault, JobServer

ANALYZE = "POST /v1/analyze"
TEXT = "The sky is blue."


def test_from_an_article_to_its_result_and_report(client: Client, server: JobServer) -> None:
    job = client.analyze(text=TEXT, options=Options(max_claims=3), labels=ClientLabels(source_label="test"))
    assert isinstance(job.accepted, JobAccepted)
    assert (job.accepted.estimated_cost, job.accepted.maximum_cost) == (Decimal("0.114"), Decimal("0.438"))
    (asked,) = server.jobs.values()
    assert (asked.request.options.max_claims, asked.request.options.depth) == (3, "standard")
    result = job.result()
    assert not isinstance(result, CacheOnlyResult)
    assert result.article_holistic_assessment is not None
    assert result.article_holistic_assessment.overall_verdict == "WELL-SUPPORTED"
    assert result.cost == Decimal("0.195")
    assert verify_receipt(result, client.receipt_keys()).job_id == job.id
    assert job.report().startswith("# ")
    (headers,) = server.headers(ANALYZE)
    assert headers["openerrata-version"] == API_VERSION
    assert headers["user-agent"].startswith("openerrata-client/")


def test_what_can_be_asked_beside_jobs(client: Client) -> None:
    assert client.health().status == "ok"
    assert client.estimate(url="https://news.example/a").would_be_accepted
    credit = client.credit()
    assert (credit.credit_remaining, credit.usage_stats.cache_hit_rate) == (Decimal(9), 0.626)
    assert client.rate_limits["jobs"].remaining == 59
    assert client.rate_limits["jobs"].quota == 60


@pytest.mark.parametrize(
    "faults",
    [
        [Fault(503, headers={"Retry-After": "2"})],
        [Fault()],
        [Fault(carried_out=True)],
        [Fault(), Fault(502, body=b"<html>"), Fault(500, "INTERNAL"), Fault(carried_out=True)],
    ],
    ids=["503", "cut", "answer-lost", "all"],
)
def test_however_often_it_is_tried_it_is_one_job(
    client: Client, server: JobServer, pauses: Pauses, faults: Sequence[Fault]
) -> None:
    server.fail(ANALYZE, *faults)
    job = client.analyze(text=TEXT)
    assert len(server.jobs) == 1
    assert job.id in server.jobs
    keys = {headers["idempotency-key"] for headers in server.headers(ANALYZE)}
    assert len(keys) == 1
    assert len(server.headers(ANALYZE)) == len(faults) + 1 == len(pauses) + 1
    assert isinstance(job.accepted, JobRepeated if faults[-1].carried_out else JobAccepted)


def test_two_calls_are_two_jobs_unless_they_name_themselves(client: Client, server: JobServer) -> None:
    assert client.analyze(text=TEXT).id != client.analyze(text=TEXT).id
    first = client.analyze(text=TEXT, idempotency_key="mine")
    assert client.analyze(text=TEXT, idempotency_key="mine").id == first.id
    labels = ClientLabels(request_id="batch-7")
    assert client.analyze(text=TEXT, labels=labels).id == client.analyze(text=TEXT, labels=labels).id
    with pytest.raises(IdempotencyError, match="another idempotency key"):
        client.analyze(text="Another text.", idempotency_key="mine")


def test_the_servers_word_on_when_to_try_again_counts(client: Client, server: JobServer, pauses: Pauses) -> None:
    spent = {"RateLimit-Policy": '"jobs";q=60;w=3600', "RateLimit": '"jobs";r=0;t=7'}
    server.fail("GET /v1/health", Fault(429, "RATE_LIMITED", {"Retry-After": "3"}), Fault(429, "RATE_LIMITED", spent))
    server.fail("GET /v1/health", Fault(503), Fault(503))
    client.health()
    assert pauses == [3.0, 7.0, 2.0, 4.0]


def test_the_limit_of_jobs_is_still_known_after_another_request(client: Client, server: JobServer) -> None:
    client.estimate(text=TEXT)
    reads = {"RateLimit-Policy": '"reads";q=600;w=60', "RateLimit": '"reads";r=599;t=1'}
    server.fail("GET /v1/health", Fault(404, "NOT_FOUND", reads))
    with pytest.raises(NotFoundError):
        client.health()
    assert {name: limit.remaining for name, limit in client.rate_limits.items()} == {"jobs": 59, "reads": 599}


def test_a_wait_that_is_too_long_is_left_to_the_caller(client: Client, server: JobServer, pauses: Pauses) -> None:
    server.fail(ANALYZE, Fault(429, "EXTRACTION_QUOTA", {"Retry-After": "40000"}))
    with pytest.raises(RateLimitError, match="starts anew at midnight") as refused:
        client.analyze(text=TEXT)
    assert refused.value.retry_after_s == 40_000
    assert pauses == []


def test_no_redirect_takes_the_key_elsewhere_and_a_callers_connections_stay_open(kind: str, pauses: Pauses) -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        return httpx.Response(307, headers={"Location": "https://elsewhere.example/"})

    transport = httpx.MockTransport(answer)
    made = httpx.Client if kind == "sync" else httpx.AsyncClient
    http = made(transport=transport, follow_redirects=True)
    with driven(kind, "https://errata.example", pauses, http=http) as client:
        for ask in (client.health, lambda: client.analyze(text=TEXT), lambda: list(client.job("j").events())):
            with pytest.raises(ApiError, match="307"):
                ask()
    assert set(asked) == {"errata.example"}
    assert not http.is_closed


def test_a_stream_of_events_may_be_silent_for_longer_than_an_answer(kind: str, pauses: Pauses) -> None:
    waits = []

    def answer(request: httpx.Request) -> httpx.Response:
        waits.append(request.extensions["timeout"]["read"])
        return httpx.Response(204)

    transport = httpx.MockTransport(answer)
    http = httpx.Client(transport=transport) if kind == "sync" else httpx.AsyncClient(transport=transport)
    with driven(kind, "https://errata.example", pauses, http=http, timeout_s=5) as client:
        assert list(client.job("j").events()) == []
    assert waits == [QUIET_S]


def test_it_gives_up_in_the_end(client: Client, server: JobServer, pauses: Pauses) -> None:
    server.fail("GET /v1/health", *[Fault(503)] * 9)
    with pytest.raises(ServerError) as refused:
        client.health()
    assert (refused.value.code, refused.value.status) == ("SERVICE_UNAVAILABLE", 503)
    assert len(pauses) == 4


def test_no_server_is_said_with_what_to_do(kind: str, server: JobServer, pauses: Pauses) -> None:
    with (
        driven(kind, "http://127.0.0.1:1", pauses) as lost,
        pytest.raises(ApiConnectionError, match=r"from http://127\.0\.0\.1:1 .*run"),
    ):
        lost.health()


def test_an_answer_that_stops_in_the_middle_is_given_up(kind: str, server: JobServer, pauses: Pauses) -> None:
    server.fail("GET /v1/health", Fault(is_slow=True))
    with driven(kind, server.address, pauses, timeout_s=0.2) as client:
        assert client.health().status == "ok"
    assert pauses, "the answer was given up"


def test_refusals_are_typed_and_not_repeated(client: Client, server: JobServer, pauses: Pauses) -> None:
    with pytest.raises(NotFoundError, match="belongs to another account"):
        client.job("01ARZ3NDEKTSV4RRFFQ69G5FAV").read()
    server.fail(ANALYZE, Fault(402, "CREDIT_LIMIT_REACHED"))
    with pytest.raises(CreditExhaustedError, match="cache_only") as spent:
        client.analyze(text=TEXT)
    assert (spent.value.credit_remaining, spent.value.reset_date.tzinfo is not None) == (Decimal("0.02"), True)
    with pytest.raises(InvalidRequestError, match="when it is corrected"):
        client.analyze(text=TEXT, options=Options(max_claims=11))
    server.fail("GET /v1/health", Fault(418, body=b"<html>a proxy"))
    with pytest.raises(ApiError, match="418 UNKNOWN"):
        client.health()
    server.fail("GET /v1/health", Fault(200, body=b"<html>a login page"))
    with pytest.raises(UnreadableAnswerError, match="not a Health"):
        client.health()
    assert pauses == []


def test_without_a_key_it_says_what_to_do(kind: str, server: JobServer, pauses: Pauses) -> None:
    with (
        driven(kind, server.address, pauses, api_key="") as client,
        pytest.raises(AuthenticationError, match="operator makes accounts"),
    ):
        client.credit()


def test_exactly_one_input(client: Client) -> None:
    for url, text in ((None, None), ("https://news.example/a", TEXT)):
        with pytest.raises(TypeError, match="exactly one"):
            client.analyze(url=url, text=text)


def test_half_a_character_cannot_be_sent(client: Client, server: JobServer) -> None:
    with pytest.raises(OpenErrataError, match="half a character"):
        client.analyze(text="The sky is blue \ud83d")
    assert server.asked == []


@pytest.mark.parametrize("key", ["schlüssel", "", " ", "key ", " key"])
def test_an_idempotency_key_that_no_header_holds_is_refused(client: Client, server: JobServer, key: str) -> None:
    with pytest.raises(OpenErrataError, match="idempotency key"):
        client.analyze(text=TEXT, idempotency_key=key)
    assert server.asked == []


def test_events_go_on_where_they_were_cut(client: Client, server: JobServer, pauses: Pauses) -> None:
    server.cuts.extend([2, 0, 3])
    job = client.analyze(text=TEXT)
    events = list(job.events())
    assert [event.name for event in events] == [
        *("queued", "fetched", "extracted", "planned", "claim", "assessing", "ended")
    ]
    assert [event.id for event in events] == [str(number) for number in range(11, 18)]
    assert events[-1].data["status"] == "SUCCEEDED"
    resumed = [headers.get("last-event-id") for headers in server.headers("GET /v1/jobs/{id}/events")]
    assert resumed == [None, "12", "12", "15"]
    assert len(pauses) == 3


def test_events_from_any_point(client: Client, server: JobServer) -> None:
    job = client.analyze(text=TEXT)
    for last in range(10, 17):
        assert next(event.id for event in job.events(last_event_id=str(last))) == str(last + 1)


def test_nothing_comes_behind_the_last_event(client: Client, server: JobServer, pauses: Pauses) -> None:
    server.fail("GET /v1/jobs/{id}/events", Fault(204, body=b""))
    assert list(client.analyze(text=TEXT).events(last_event_id="17")) == []
    assert pauses == []


def test_a_stream_that_never_comes_back_is_given_up(client: Client, server: JobServer, pauses: Pauses) -> None:
    job = client.analyze(text=TEXT)
    server.cuts.extend([1] + [0] * 9)
    with pytest.raises(ApiConnectionError, match="before the job did"):
        list(job.events())
    assert len(pauses) == 4
    server.fail("GET /v1/jobs/{id}/events", Fault(404, "NOT_FOUND"))
    with pytest.raises(NotFoundError):
        list(job.events())


def test_waiting_lets_the_server_wait(client: Client, server: JobServer, pauses: Pauses) -> None:
    job = client.analyze(text=TEXT)
    assert job.wait().status == "SUCCEEDED"
    assert [headers["prefer"] for headers in server.headers("GET /v1/jobs/{id}")] == ["wait=60"]
    assert pauses == []


def test_waiting_asks_again_where_the_server_does_not_wait(client: Client, server: JobServer, pauses: Pauses) -> None:
    server.waits = False
    assert client.analyze(text=TEXT).wait().status == "SUCCEEDED"
    assert pauses == [1.0]


def test_waiting_ends_with_its_time(client: Client, server: JobServer) -> None:
    server.waits = server.do_jobs_end = False
    job = client.analyze(text=TEXT)
    with pytest.raises(JobTimeoutError, match="it goes on"):
        job.wait(timeout_s=0)
    assert job.read().status == "QUEUED"


@pytest.mark.parametrize(("status", "reason"), [("FAILED", "NOT_PUBLIC"), ("CANCELED", "cancelled")])
def test_a_job_without_a_result_says_why(client: Client, server: JobServer, status: str, reason: str) -> None:
    server.ends_as = "FAILED" if status == "FAILED" else "CANCELED"
    job = client.analyze(text=TEXT)
    with pytest.raises(JobFailedError, match=reason) as failed:
        job.result()
    assert failed.value.job.status == status


def test_a_job_can_be_cancelled_twice(client: Client, server: JobServer) -> None:
    job = client.analyze(text=TEXT)
    job.cancel()
    job.cancel()
    assert server.jobs[job.id].status == "CANCELED"


def test_a_job_is_found_again_by_its_id(client: Client) -> None:
    begun = client.analyze(text=TEXT)
    found = client.job(begun.id)
    assert found.accepted is None
    assert found.result().job_id == begun.id


@pytest.mark.parametrize(("one", "other"), [(Client, AsyncClient), (Job, AsyncJob)])
def test_both_clients_offer_the_same(one: type, other: type) -> None:
    def offered(kind: type) -> dict[str, list[str]]:
        methods = inspect.getmembers(kind, inspect.isfunction)
        return {name: list(inspect.signature(each).parameters) for name, each in methods if name[0] != "_"}

    assert offered(one) == offered(other)


def test_a_policy_may_forbid_retries(kind: str, server: JobServer, pauses: Pauses) -> None:
    server.fail("GET /v1/health", Fault(503))
    with (
        driven(kind, server.address, pauses, retry=RetryPolicy(retries=0)) as client,
        pytest.raises(ServerError),
    ):
        client.health()


@pytest.mark.parametrize("body", [b"<html>a login page", b"[]", b"null", b"\xff\xfe\x00", b"[" * 100_000])
def test_what_no_instance_answers_is_named_so_everywhere(client: Client, server: JobServer, body: bytes) -> None:
    server.fail(ANALYZE, Fault(200, body=body))
    with pytest.raises(UnreadableAnswerError):
        client.analyze(text=TEXT)
    job = client.analyze(text=TEXT)
    server.fail("GET /v1/jobs/{id}/result", Fault(200, body=body))
    with pytest.raises(UnreadableAnswerError):
        job.result()
    server.fail("GET /v1/jobs/{id}/events", Fault(200, body=body))
    with pytest.raises(UnreadableAnswerError):
        next(job.events())


@pytest.mark.parametrize("place", ["http://xn--a/", "javascript:alert(1)"])
def test_a_redirect_that_leads_nowhere_is_named(client: Client, server: JobServer, place: str) -> None:
    moved = Fault(307, headers={"Location": place}, body=b"")
    server.fail("GET /v1/health", moved)
    with pytest.raises(UnreadableAnswerError, match="redirects to an invalid address"):
        client.health()
    server.fail("GET /v1/jobs/{id}/events", moved)
    with pytest.raises(UnreadableAnswerError, match="redirects to an invalid address"):
        next(client.job("A").events())


def test_a_refusal_that_cannot_be_read_is_one_of_its_status(client: Client, server: JobServer) -> None:
    server.fail("GET /v1/health", Fault(404, body=b"[" * 100_000))
    with pytest.raises(NotFoundError):
        client.health()


def test_an_answer_that_cannot_be_unpacked_is_asked_for_again(
    client: Client, server: JobServer, pauses: Pauses
) -> None:
    packed = Fault(200, headers={"Content-Encoding": "gzip"}, body=b"no gzip")
    server.fail("GET /v1/health", packed)
    assert client.health().status == "ok"
    server.fail("GET /v1/health", *[packed] * 9)
    with pytest.raises(ApiConnectionError, match="DecodingError"):
        client.health()
    assert len(pauses) == 5


@pytest.mark.parametrize("address", ["http://a:port", "http://[::1", "https://a\x01b", "http://xn--a", "https://:443"])
def test_an_address_that_is_none_is_refused_at_once(kind: str, pauses: Pauses, address: str) -> None:
    with pytest.raises(OpenErrataError, match="not the address of a server"), driven(kind, address, pauses):
        pass


@pytest.mark.parametrize(
    ("variable", "value"),
    [("ALL_PROXY", "ftp://127.0.0.1:1"), ("ALL_PROXY", "http://a:port"), ("SSL_CERT_FILE", "/no")],
)
def test_an_environment_that_cannot_be_used_is_named(
    kind: str, pauses: Pauses, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(OpenErrataError, match="of the environment"), driven(kind, "http://127.0.0.1:1", pauses):
        pass


def test_errors_can_be_sent_to_another_process(client: Client, server: JobServer) -> None:
    server.fail(ANALYZE, Fault(402, "CREDIT_LIMIT_REACHED"), Fault(401, "UNAUTHENTICATED"))
    server.ends_as = "FAILED"
    for act in (client.analyze, client.analyze, lambda text: client.analyze(text=text).result()):
        with pytest.raises(OpenErrataError) as raised:
            act(text=TEXT)
        sent = pickle.loads(pickle.dumps(raised.value))
        assert (type(sent), str(sent), vars(sent)) == (raised.type, str(raised.value), vars(raised.value))
