"""`post.investigateNow`: who may, whose key is used, and that one version is one run."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from contracts.accounts import Right
from contracts.v1 import InvestigationRequested
from contracts.v1.ids import investigation_id
from contracts.v1.investigation import KeySource
from services.gateway.domain import Failure
from services.gateway.extension.own_key_runs import OwnKeyRuns
from services.gateway.ports import Complete, Eligibility, FailedRun, InvestigationState, KeyVerdict, Refused, Running
from tests.support.fakes import StillClock
from tests.unit.gateway.fakes import NOW, POST, USER_KEY, VERSION, Bench, claim, data, error

INVESTIGATE = "post.investigateNow"
RUN = investigation_id(VERSION, "FACT_CHECK")
OTHER_KEY = "sk-zyxwvutsrqponmlkjihgfedcba"
NEW = Eligibility(POST, 2, "CLIENT_FALLBACK", None)


def bench_with(version: Eligibility | None = NEW, *, known: InvestigationState | None = None, **settings: Any) -> Bench:
    bench = Bench(**settings)
    bench.key_table.add("instance-key")
    if version is not None:
        bench.reads.eligibilities[VERSION] = replace(version, investigation=known)
    return bench


async def ask(bench: Bench, **headers: str) -> dict[str, object]:
    answer: dict[str, object] = data(
        INVESTIGATE, await bench.mutate(INVESTIGATE, {"postVersionId": str(VERSION)}, **headers)
    )
    return answer


def requested(bench: Bench) -> InvestigationRequested:
    (event,) = bench.log.told
    assert isinstance(event, InvestigationRequested)
    return event


def asked(paid_by: KeySource, attachment: UUID | None) -> InvestigationRequested:
    """A request of somebody who was faster."""
    return InvestigationRequested(
        investigation_id=RUN,
        version_id=VERSION,
        post_id=POST,
        analysis="FACT_CHECK",
        origin="ORIGINAL",
        requested_by="READER",
        key_source=paid_by,
        attachment=attachment,
    )


@pytest.mark.requirement("2.1-07", "2.6-12", "2.8-01")
async def test_a_holder_of_an_instance_key_starts_a_run() -> None:
    """2.1-07: Instance-managed credential path.
    2.6-12: Requests at once make one investigation.
    2.8-01: One investigation for a post's version.
    """
    bench = bench_with()
    answer = await ask(bench, x_api_key="instance-key")
    assert answer == {"investigationId": str(RUN), "status": "PENDING", "provenance": "CLIENT_FALLBACK"}
    event = requested(bench)
    assert (event.investigation_id, event.version_id, event.post_id) == (RUN, VERSION, POST)
    assert (event.requested_by, event.key_source, event.round, event.follows) == ("READER", "INSTANCE", 1, 0)
    assert bench.log.waited_for == [1]
    assert bench.user_keys.kept == {}


@pytest.mark.requirement("2.6-16")
async def test_a_readers_own_key_is_kept_for_the_run_it_starts() -> None:
    """2.6-16: A pending run takes the first key that comes."""
    bench = bench_with()
    await ask(bench, x_openai_api_key=f" {USER_KEY} ")
    assert requested(bench).key_source == "USER"
    assert requested(bench).attachment is not None
    assert bench.user_keys.kept == {(RUN, requested(bench).attachment): USER_KEY}
    assert USER_KEY not in requested(bench).model_dump_json()


@pytest.mark.requirement("2.6-16", "3.2-14")
@pytest.mark.parametrize("second", [{"x_openai_api_key": OTHER_KEY}, {"x_api_key": "instance-key"}], ids=str)
async def test_a_key_whose_request_was_never_told_pays_for_nobodys_run(second: dict[str, str]) -> None:
    """2.6-16: A pending run takes the first key that comes.
    3.2-14: Claims have ≥1 source.
    """
    bench = bench_with()
    bench.log.outage = True
    failed = await bench.mutate(INVESTIGATE, {"postVersionId": str(VERSION)}, x_openai_api_key=USER_KEY)
    assert failed.status_code == 503
    assert list(bench.user_keys.kept.values()) == [USER_KEY], "its reader may have been told of, nobody knows"
    bench.log.outage = False
    await ask(bench, **second)
    paying = bench.user_keys.kept.get((RUN, requested(bench).attachment))
    assert paying == second.get("x_openai_api_key")


@pytest.mark.requirement("3.3-05")
@pytest.mark.parametrize("headers", [{}, {"x_api_key": "wrong"}, {"x_openai_api_key": "anything"}])
async def test_without_credentials_nothing_starts(headers: dict[str, str]) -> None:
    """3.3-05: A request needs an instance key or a provider key."""
    bench = bench_with()
    response = await bench.mutate(INVESTIGATE, {"postVersionId": str(VERSION)}, **headers)
    assert error(response)["code"] == "UNAUTHORIZED"
    assert response.json()["error"]["code"] == -32001
    assert bench.log.told == []


async def test_input_is_judged_before_credentials() -> None:
    assert (await Bench().mutate(INVESTIGATE, {"postVersionId": ""})).status_code == 400


@pytest.mark.requirement("2.6-11")
@pytest.mark.parametrize("version", [str(VERSION), "not-an-id"])
async def test_an_unknown_version_is_a_bad_request(version: str) -> None:
    """2.6-11: A request for an unknown version is refused."""
    bench = bench_with(None)
    response = await bench.mutate(INVESTIGATE, {"postVersionId": version}, x_api_key="instance-key")
    assert error(response)["code"] == "BAD_REQUEST"


@pytest.mark.requirement("2.4.4-06", "3.3-06")
@pytest.mark.parametrize(("words", "status"), [(10_000, 200), (10_001, 400)])
async def test_the_word_limit(words: int, status: int) -> None:
    """2.4.4-06: 10,000 words are investigated on request, one more is refused.

    2.4.4-06: At most 10,000 words.
    3.3-06: A request for a text that is too long is refused.
    """
    bench = bench_with(replace(NEW, word_count=words))
    response = await bench.mutate(INVESTIGATE, {"postVersionId": str(VERSION)}, x_openai_api_key=USER_KEY)
    assert response.status_code == status
    assert len(bench.log.told) == len(bench.user_keys.kept) == (1 if status == 200 else 0)


@pytest.mark.requirement("2.6-13")
async def test_a_finished_investigation_is_answered_at_once() -> None:
    """2.6-13: A finished result is returned at once."""
    bench = bench_with(known=Complete(RUN, "SERVER_VERIFIED", (claim(),), NOW))
    answer = await ask(bench, x_api_key="instance-key")
    assert (answer["status"], answer["provenance"]) == ("COMPLETE", "SERVER_VERIFIED")
    assert bench.log.told == []


@pytest.mark.requirement("2.6-15", "2.6-17")
@pytest.mark.parametrize("status", ["PENDING", "PROCESSING"])
async def test_nobody_can_slip_a_key_under_a_run_of_somebody_else(status: str) -> None:
    """2.6-15: A request during a run starts no second one.
    2.6-17: The key of a run under way does not change.
    """
    bench = bench_with(known=Running(RUN, status, "CLIENT_FALLBACK"))  # type: ignore[arg-type]  # a parameter is any text
    answer = await ask(bench, x_openai_api_key=USER_KEY)
    assert (answer["investigationId"], answer["status"]) == (str(RUN), status)
    assert bench.user_keys.kept == {}
    assert bench.log.told == []


@pytest.mark.parametrize("right", ["corroborate", "audit"])
async def test_a_key_for_something_else_starts_no_run_at_the_instances_cost(right: Right) -> None:
    bench = bench_with()
    bench.key_table.add("another-key", right)
    answer = await bench.mutate(INVESTIGATE, {"postVersionId": str(VERSION)}, x_api_key="another-key")
    assert error(answer)["code"] == "UNAUTHORIZED"
    assert bench.log.told == []


@pytest.mark.requirement("2.6-16")
@pytest.mark.parametrize("attachment", [None, UUID(int=99)], ids=["asked for before attachments", "named"])
@pytest.mark.parametrize("first", [None, OTHER_KEY])
async def test_a_waiting_run_of_a_reader_takes_a_key_only_if_it_has_none(
    first: str | None, attachment: UUID | None
) -> None:
    """2.6-16: A pending run takes the first key that comes."""
    waiting = Running(RUN, "PENDING", "CLIENT_FALLBACK", accepts_key=True)
    bench = bench_with(known=waiting)
    bench.reads.investigations[RUN] = waiting
    bench.log.standing = asked("USER", attachment)
    if first is not None:
        bench.user_keys.kept[RUN, attachment] = first
    answer = await ask(bench, x_openai_api_key=USER_KEY)
    assert answer["status"] == "PENDING"
    assert bench.user_keys.kept == {(RUN, attachment): first or USER_KEY}
    assert bench.probe.probed == [USER_KEY], "it is tried before it is to pay"
    assert bench.log.told == []


async def test_a_key_does_not_outlive_a_run_that_ended_while_it_was_attached() -> None:
    bench = bench_with(known=Running(RUN, "PENDING", "CLIENT_FALLBACK", accepts_key=True))
    bench.log.standing = asked("USER", UUID(int=99))
    bench.reads.investigations[RUN] = Complete(RUN, "CLIENT_FALLBACK", (), NOW)
    await ask(bench, x_openai_api_key=USER_KEY)
    assert bench.user_keys.kept == {}


@pytest.mark.requirement("2.6-15", "2.6-16")
@pytest.mark.parametrize(("paid_by", "theirs"), [("INSTANCE", {}), ("USER", {(RUN, UUID(int=99)): OTHER_KEY})])
async def test_of_keys_that_come_at_once_only_that_of_the_request_stays(
    paid_by: KeySource, theirs: dict[tuple[UUID, UUID | None], str]
) -> None:
    """2.6-15: A request during a run starts no second one.
    2.6-16: A pending run takes the first key that comes.
    """
    bench = bench_with()
    bench.user_keys.kept |= theirs
    bench.log.standing = asked(paid_by, UUID(int=99) if theirs else None)
    answer = await ask(bench, x_openai_api_key=USER_KEY)
    assert (answer["status"], bench.log.told) == ("PENDING", [])
    assert bench.user_keys.kept == theirs


async def test_a_run_that_the_instance_took_over_meanwhile_takes_no_key() -> None:
    """The read model is behind: it knows of a run that a reader pays for, the log of one that the instance does."""
    waiting = Running(RUN, "PENDING", "CLIENT_FALLBACK", accepts_key=True)
    bench = bench_with(known=waiting)
    bench.reads.investigations[RUN] = waiting
    bench.log.standing = asked("INSTANCE", None)
    await ask(bench, x_openai_api_key=USER_KEY)
    assert bench.user_keys.kept == {}


LONG_AGO = NOW.replace(hour=4)


@pytest.mark.requirement("2.6-14", "3.7-09")
@pytest.mark.parametrize(
    ("failure", "again"),
    [
        (Failure(NOW, 1, 7), False),
        (Failure(NOW - timedelta(seconds=599), 1, 7), False),
        (Failure(NOW - timedelta(seconds=600), 1, 7), True),
        (Failure(LONG_AGO, 9, 8, retries=9, own_retries=2), True),
        (Failure(LONG_AGO, 4, 9, retries=3, own_retries=3), False),
        (Failure(LONG_AGO, 1, None), False),
        (Failure(None, 1, 7), False),
        (Failure(NOW, 1, 7, of_a_reader=True), True),
        (Failure(NOW, 5, 7, retries=3, own_retries=3, of_a_reader=True), False),
    ],
)
async def test_a_failed_run_may_be_asked_for_again_but_not_endlessly(failure: Failure, again: bool) -> None:
    """2.6-14: FAILED is returned unless somebody retries explicitly.
    3.7-09: FAILED is final.
    """
    bench = bench_with(known=FailedRun(RUN, "SERVER_VERIFIED", failure))
    answer = await ask(bench, x_api_key="instance-key")
    assert answer["status"] == ("PENDING" if again else "FAILED")
    assert answer["provenance"] == "SERVER_VERIFIED"
    if again:
        assert (requested(bench).round, requested(bench).follows) == (failure.round + 1, failure.requested_sequence)
    else:
        assert bench.log.told == []


@pytest.mark.requirement("3.7-07")
@pytest.mark.parametrize(
    ("failed_at", "retries", "status"), [(NOW, 0, "FAILED"), (LONG_AGO, 2, "PENDING"), (LONG_AGO, 3, "FAILED")]
)
async def test_after_a_failure_on_a_readers_account_the_next_key_of_a_reader_waits(
    failed_at: datetime, retries: int, status: str
) -> None:
    """3.7-07: A reader's key that is gone fails the run."""
    failure = Failure(failed_at, 1, 7, retries=retries, of_a_reader=True)
    bench = bench_with(known=FailedRun(RUN, "SERVER_VERIFIED", failure))
    answer = await ask(bench, x_openai_api_key=USER_KEY)
    assert answer["status"] == status
    assert list(bench.user_keys.kept.values()) == ([USER_KEY] if status == "PENDING" else [])


async def test_how_soon_and_how_often_are_settings() -> None:
    failed = FailedRun(RUN, "SERVER_VERIFIED", Failure(NOW, 2, 7, retries=1, own_retries=1))
    for bench, status in (
        (bench_with(known=failed, retry_cooldown_s=0), "PENDING"),
        (bench_with(known=failed, retry_cooldown_s=0, retries_per_day=1), "FAILED"),
    ):
        assert (await ask(bench, x_api_key="instance-key"))["status"] == status


async def test_an_answer_is_given_only_once_the_next_poll_finds_the_run() -> None:
    bench = bench_with()
    bench.log.behind = True
    response = await bench.mutate(INVESTIGATE, {"postVersionId": str(VERSION)}, x_api_key="instance-key")
    assert response.status_code == 503


@pytest.mark.parametrize("status", ["invalid", "authenticated_restricted", "format_invalid"])
async def test_a_key_that_the_provider_refuses_starts_nothing(status: str) -> None:
    bench = bench_with()
    bench.probe.verdict = KeyVerdict(status)  # type: ignore[arg-type]  # a parameter is any text
    response = await bench.mutate(INVESTIGATE, {"postVersionId": str(VERSION)}, x_openai_api_key=USER_KEY)
    assert error(response)["code"] == "UNAUTHORIZED"
    assert (bench.log.told, bench.user_keys.kept) == ([], {})
    await ask(bench, x_api_key="instance-key")
    assert requested(bench).key_source == "INSTANCE", "the version is free for everybody else"


async def test_a_provider_that_cannot_be_asked_refuses_no_key() -> None:
    bench = bench_with()
    bench.probe.verdict = KeyVerdict("error")
    assert (await ask(bench, x_openai_api_key=USER_KEY))["status"] == "PENDING"


async def test_a_network_tries_so_many_keys_and_no_more() -> None:
    bench = bench_with(key_checks_burst=5, trusted_proxies=1)
    bench.probe.verdict = KeyVerdict("invalid")
    codes = [
        error(
            await bench.mutate(
                INVESTIGATE,
                {"postVersionId": str(VERSION)},
                x_openai_api_key=f"sk-{number:030}",
                x_forwarded_for=f"192.0.2.{number}",
            )
        )["code"]
        for number in range(60)
    ]
    assert codes == ["UNAUTHORIZED"] * 5 + ["TOO_MANY_REQUESTS"] * 55
    assert len(bench.probe.probed) == 5
    assert (bench.log.told, bench.user_keys.kept) == ([], {})


async def test_a_key_that_worked_is_not_tried_before_each_run() -> None:
    bench = bench_with(key_checks_burst=1, own_key_runs=9)
    for _ in range(3):
        await ask(bench, x_openai_api_key=USER_KEY)
    assert bench.probe.probed == [USER_KEY]
    bench.clock.pass_by(601)
    await ask(bench, x_openai_api_key=USER_KEY)
    assert bench.probe.probed == [USER_KEY] * 2


async def test_a_network_has_so_many_runs_on_readers_keys_under_way() -> None:
    bench = bench_with(own_key_runs=2, trusted_proxies=1)

    async def code(number: int, address: str = "192.0.2.1", **headers: str) -> int:
        version, run = UUID(int=number), investigation_id(UUID(int=number), "FACT_CHECK")
        bench.reads.eligibilities[version] = NEW
        given = headers or {"x_openai_api_key": USER_KEY}
        response = await bench.mutate(INVESTIGATE, {"postVersionId": str(version)}, x_forwarded_for=address, **given)
        if response.status_code == 200:
            bench.reads.investigations[run] = Running(run, "PROCESSING", "CLIENT_FALLBACK")
        return response.status_code

    assert [await code(number, f"192.0.2.{number}") for number in range(1, 5)] == [200, 200, 429, 429]
    assert await code(5, "198.51.100.1") == 200, "the limit is one network's"
    assert await code(6, x_api_key="instance-key") == 200, "and that of readers' keys"
    ended = investigation_id(UUID(int=1), "FACT_CHECK")
    bench.reads.investigations[ended] = Complete(ended, "CLIENT_FALLBACK", (), NOW)
    assert [await code(number) for number in (7, 8)] == [200, 429]


async def test_a_run_that_is_being_requested_holds_its_place() -> None:
    """The read model does not know it yet."""
    runs = OwnKeyRuns(Bench().reads, StillClock(), limit=1)
    async with runs.reserve("a", UUID(int=1)):
        with pytest.raises(Refused):
            async with runs.reserve("a", UUID(int=2)):
                pass
    async with runs.reserve("a", UUID(int=2)):
        pass


@pytest.mark.parametrize("headers", [{"x_openai_api_key": OTHER_KEY}, {"x_api_key": "instance-key"}])
async def test_a_key_that_failed_a_run_holds_up_nobody(headers: dict[str, str]) -> None:
    failure = Failure(NOW, 1, 7, of_a_reader=True, of_the_key=True)
    bench = bench_with(known=FailedRun(RUN, "SERVER_VERIFIED", failure))
    assert (await ask(bench, **headers))["status"] == "PENDING"
