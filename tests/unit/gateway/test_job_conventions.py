"""The job API's conventions, one by one: idempotency keys, preferences, versions, rate limits, bearers, problems."""

from __future__ import annotations

import json
from typing import Final, get_args
from uuid import UUID

import http_sf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.accounts import Verb
from contracts.jobs.problems import BY_SLUG, PROBLEMS, ProblemCode, ProblemDocument, slug_of
from services.gateway.domain import Account
from services.gateway.jobs.access import authenticate, read_bearer
from services.gateway.jobs.problems import Problem, reply_to
from services.gateway.jobs.rate_policies import RateLimit, RatePolicy
from services.gateway.jobs.request_headers import VERSIONS, choose_version, read_key, read_wait_s
from services.gateway.keys import InstanceKeys
from tests.support.fakes import StillClock
from tests.unit.gateway.fakes import KeyTable

ORIGIN: Final = "https://errata.example"
ALICE: Final = Account(UUID(int=7), "reader", "free", None, has_webhook_secret=False)
CORRELATION: Final = UUID(int=9)
VISIBLE: Final = "".join(map(chr, range(0x21, 0x7F)))


@pytest.mark.requirement("FH-150")
@given(st.text(VISIBLE, min_size=1, max_size=255))
def test_a_quoted_key_and_a_bare_one_are_one_key(key: str) -> None:
    """FH-150: `Idempotency-Key` as in the IETF draft: a structured-field string or the bare token, 1…255 visible ASCII,
    else 400; absent is allowed. A replay has `Idempotent-Replayed: true`.

    FH-150: The header `Idempotency-Key` is read as its draft says.
    """
    quoted = http_sf.ser((key, {}))
    assert read_key([quoted]) == key
    if not key.startswith('"'):
        assert read_key([f" {key} "]) == key


@pytest.mark.requirement("FH-150")
def test_a_key_may_be_absent() -> None:
    """FH-150: `Idempotency-Key` as in the IETF draft: a structured-field string or the bare token, 1…255 visible ASCII,
    else 400; absent is allowed. A replay has `Idempotent-Replayed: true`.

    FH-150: The header `Idempotency-Key` is read as its draft says.
    """
    assert read_key([]) is None


@pytest.mark.requirement("FH-150")
@pytest.mark.parametrize(
    "values",
    [
        [""],
        ['""'],
        ["a b"],
        ['"a b"'],
        ["ä"],
        ['"unfinished'],
        ['"a" b'],
        ["a" * 256],
        ["a", "a"],
        ['"a"', "a"],
        ["a\x7f"],
    ],
)
def test_what_is_no_key_is_refused(values: list[str]) -> None:
    """FH-150: `Idempotency-Key` as in the IETF draft: a structured-field string or the bare token, 1…255 visible ASCII,
    else 400; absent is allowed. A replay has `Idempotent-Replayed: true`.

    FH-150: The header `Idempotency-Key` is read as its draft says.
    """
    with pytest.raises(Problem) as refused:
        read_key(values)
    assert refused.value.code == "INVALID_IDEMPOTENCY_KEY"


@pytest.mark.requirement("FH-153")
@pytest.mark.parametrize(
    ("prefer", "wait_s"),
    [
        ("wait=10", 10),
        ("wait=60", 60),
        ("wait=61", 60),
        ("wait=86400", 60),
        ("respond-async, wait=5", 5),
        ("Wait=5", 5),
        ("wait=5;foo=bar, handling=lenient", 5),
        ("", None),
        ("wait", None),
        ("wait=0", None),
        ("wait=-1", None),
        ("wait=1.5", None),
        ("wait=soon", None),
        ('wait="5"', None),
        ("wait=5,,", None),
        ("return=minimal", None),
    ],
)
def test_a_client_waits_as_long_as_it_prefers_and_a_minute_at_most(prefer: str, wait_s: int | None) -> None:
    """FH-153: `Prefer: wait=N` (N ≤ 60, larger counts as 60) on analyze, job, result, report: the answer waits for the
    end; `Preference-Applied: wait=N`. A new job that ended in time is 200 with the 202 fields and `result`.

    FH-153: `Prefer: wait` waits for the end.
    """
    assert read_wait_s(prefer) == wait_s


@given(st.text())
def test_a_preference_is_never_an_error(prefer: str) -> None:
    wait_s = read_wait_s(prefer)
    assert wait_s is None or 1 <= wait_s <= 60


@pytest.mark.requirement("FH-161")
def test_a_version_is_chosen_by_its_date_and_the_oldest_without_one() -> None:
    """FH-161: Header `OpenErrata-Version: <date>` selects the dated API version, absent means the oldest supported;
    every answer names the one used; an unknown date is 400.

    FH-161: A header selects the version of the interface.
    """
    assert VERSIONS[0] == "2026-12-01"
    assert list(VERSIONS) == sorted(VERSIONS)
    assert choose_version("") == VERSIONS[0]
    for version in VERSIONS:
        assert choose_version(version) == version
    for wrong in ("2026-12-02", "1", "latest", "2026-12-01T00:00:00Z"):
        with pytest.raises(Problem) as refused:
            choose_version(wrong)
        assert refused.value.code == "UNKNOWN_VERSION"


@pytest.mark.requirement("FH-151")
def test_rate_limits_are_structured_fields_and_counts_fall() -> None:
    """FH-151: `RateLimit-Policy` and `RateLimit` (structured fields) on every `/v1` answer with a limit; `Retry-After`
    on 429, 503 and on 202.

    FH-151: Rate limits are stated in headers.
    """
    clock = StillClock()
    limit = RateLimit(RatePolicy.parse("jobs", "60/3600"), clock)
    for taken in range(1, 61):
        headers = dict(limit.take("alice"))
        assert headers[b"ratelimit-policy"] == b'"jobs";q=60;w=3600'
        assert http_sf.parse(headers[b"ratelimit"], tltype="list") == [("jobs", {"r": 60 - taken, "t": 60 * taken})]
    with pytest.raises(Problem) as refused:
        limit.take("alice")
    assert (refused.value.code, refused.value.retry_after_s) == ("RATE_LIMITED", 60)
    assert dict(refused.value.headers)[b"ratelimit"] == b'"jobs";r=0;t=3600'
    assert dict(limit.take("bob"))[b"ratelimit"] == b'"jobs";r=59;t=60', "another account has a count of its own"


@pytest.mark.requirement("FH-151")
def test_after_retry_after_there_is_one_more() -> None:
    """FH-151: `RateLimit-Policy` and `RateLimit` (structured fields) on every `/v1` answer with a limit; `Retry-After`
    on 429, 503 and on 202.

    FH-151: Rate limits are stated in headers.
    """
    clock = StillClock()
    limit = RateLimit(RatePolicy.parse("rights", "10/86400"), clock)
    for _ in range(10):
        limit.take("network")
    with pytest.raises(Problem) as refused:
        limit.take("network")
    assert refused.value.retry_after_s is not None
    clock.pass_by(refused.value.retry_after_s)
    assert dict(limit.take("network"))[b"ratelimit"].startswith(b'"rights";r=0;')


@pytest.mark.requirement("FH-30")
@pytest.mark.parametrize(
    ("authorization", "key"),
    [
        ("Bearer oe_key", "oe_key"),
        ("bearer  oe_key", "oe_key"),
        ("", None),
        ("Bearer", None),
        ("Bearer ", None),
        ("Basic b2U6a2V5", None),
        ("oe_key", None),
        ("Bearer two keys", None),
        ("Bearer kéy", None),
        ("Bearer " + "a" * 513, None),
    ],
)
def test_a_bearer_is_read(authorization: str, key: str | None) -> None:
    """FH-30: Job, credit and admin routes need `Authorization: Bearer`; another account's job is 404.

    FH-30: Jobs, credit and admin routes need a key, and a job belongs to its account.
    """
    assert read_bearer(authorization) == key


@pytest.mark.requirement("FH-27", "FH-30", "FH-115")
@pytest.mark.parametrize(
    ("authorization", "verb", "code"),
    [
        ("", "read", "UNAUTHENTICATED"),
        ("Bearer oe_unknown", "read", "UNAUTHENTICATED"),
        ("Bearer of-no-account", "read", "UNAUTHENTICATED"),
        ("Bearer for-readers", "read", "FORBIDDEN"),
        ("Bearer of-alice", "configure", "FORBIDDEN"),
        ("Bearer of-alice", "read", None),
        ("Bearer of-alice", "flag", None),
    ],
)
async def test_who_may_what(authorization: str, verb: Verb, code: ProblemCode | None) -> None:
    """FH-27: Admin routes need role admin: 401 without credentials, 403 for another role. A change holds for jobs not
    yet started and is a fact.
    FH-30: Job, credit and admin routes need `Authorization: Bearer`; another account's job is 404.
    FH-115: Roles reader (default), contributor, moderator; admin for operators. Roles are given by people, never by
    a score. A key carries rights of its own.

    FH-27: Admin routes need the role, and a change holds for jobs not yet started.
    FH-30: Jobs, credit and admin routes need a key, and a job belongs to its account.
    """
    table = KeyTable()
    table.add("of-no-account")
    table.add("for-readers", "investigate", account=ALICE)
    table.add("of-alice", "audit", account=ALICE)
    keys = InstanceKeys(table, StillClock(), fresh_s=3, denied_s=1)
    if code is None:
        assert (await authenticate(keys, authorization, "audit", verb)).account == ALICE
        return
    with pytest.raises(Problem) as refused:
        await authenticate(keys, authorization, "audit", verb)
    assert refused.value.code == code
    assert (b"www-authenticate" in dict(refused.value.headers)) == (code == "UNAUTHENTICATED")


ERRORS: Final[list[tuple[ProblemCode, int]]] = [
    (code, status) for code, kind in PROBLEMS.items() for status in kind.statuses if code != "CREDIT_LIMIT_REACHED"
]


@pytest.mark.requirement("FH-29", "FH-149")
@pytest.mark.parametrize(("code", "status"), ERRORS)
def test_every_error_has_both_shapes(code: ProblemCode, status: int) -> None:
    """FH-29: Errors but 402 have `{"error": {"code", "message", "details"}}`; `details` never holds an article's words.
    FH-149: Every error body also has the RFC 9457 members `type`, `title`, `status`, `detail`, `instance`; content
    type `application/problem+json`; the flat 402 keeps its fields.

    FH-29: Errors have one shape and never hold an article's words.
    FH-149: Errors are problem details.
    """
    usual = PROBLEMS[code].statuses[0]
    problem = Problem(code, details={"limit": 1}, status=None if status == usual else status)
    reply = reply_to(problem, page_origin=ORIGIN, correlation=CORRELATION)
    assert reply.status == status
    assert dict(reply.headers)[b"content-type"] == b"application/problem+json"
    assert json.loads(reply.body) == {
        "error": {"code": code, "message": PROBLEMS[code].title, "details": {"limit": 1}},
        "type": f"{ORIGIN}/problems/{slug_of(code)}",
        "title": PROBLEMS[code].title,
        "status": status,
        "detail": PROBLEMS[code].advice,
        "instance": f"urn:uuid:{CORRELATION}",
    }
    ProblemDocument.model_validate_json(reply.body)


@pytest.mark.requirement("FH-149")
def test_every_code_is_described_and_has_a_page_of_its_own() -> None:
    """FH-149: Every error body also has the RFC 9457 members `type`, `title`, `status`, `detail`, `instance`; content
    type `application/problem+json`; the flat 402 keeps its fields.

    FH-149: Errors are problem details.
    """
    assert set(PROBLEMS) == set(get_args(ProblemCode)) == set(BY_SLUG.values())
    assert all(kind.title and kind.advice for kind in PROBLEMS.values())


@pytest.mark.requirement("FH-151")
@pytest.mark.parametrize(("after_s", "header"), [(0.0, b"1"), (0.2, b"1"), (59.1, b"60"), (60.0, b"60")])
def test_retry_after_is_whole_seconds(after_s: float, header: bytes) -> None:
    """FH-151: `RateLimit-Policy` and `RateLimit` (structured fields) on every `/v1` answer with a limit; `Retry-After`
    on 429, 503 and on 202.

    FH-151: Rate limits are stated in headers.
    """
    reply = reply_to(Problem("RATE_LIMITED", retry_after_s=after_s), page_origin=ORIGIN, correlation=CORRELATION)
    assert dict(reply.headers)[b"retry-after"] == header
