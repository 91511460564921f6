"""A webhook is tried when it is due by the job's age, with the same message, and given up after eighteen hours."""

from __future__ import annotations

import json
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contracts.jobs.ids import format_job_id
from contracts.v1 import JobEnded
from contracts.v1.job import JobOutcome
from kit.errors import Outage, Retry
from services.curator.domain import WAITS_S, wait_at
from tests.support.audits import asked, words
from tests.support.curating import HOOK, SECRET, Receiver
from tests.support.factories import NOW

JOB = UUID("019ad5c1-7c00-7000-8000-000000000001")
LAST_S = sum(WAITS_S)


def end(outcome: JobOutcome = "SUCCEEDED") -> JobEnded:
    return JobEnded(
        job_id=JOB,
        outcome=outcome,
        code="INTERNAL" if outcome == "FAILED" else None,
        result=words("result") if outcome == "SUCCEEDED" else None,
        charged_micro_usd=0,
    )


@pytest.mark.parametrize("outcome", ["SUCCEEDED", "FAILED", "CANCELED"])
async def test_a_message_names_the_job_and_how_it_ended(outcome: JobOutcome) -> None:
    receiver = Receiver(asked(JOB), end(outcome))
    await receiver.deliver()
    ((url, message_id, body, secrets),) = receiver.sent
    assert (url, message_id, secrets) == (HOOK, str(end(outcome).event_id()), (SECRET,))
    assert json.loads(body) == {
        "type": f"job.{outcome.lower()}",
        "timestamp": f"{NOW:%Y-%m-%dT%H:%M:%S}.{NOW.microsecond // 1_000:03}Z",
        "data": {"job_id": format_job_id(JOB)},
    }


@pytest.mark.requirement("FH-159")
async def test_seven_tries_at_most_and_each_has_the_same_id_and_body() -> None:
    """FH-159: A webhook is sent once, signed, and repeated until it is received."""
    receiver = Receiver(asked(JOB), end())
    receiver.outcome = "failed"
    waits = []
    for delivery in range(1, 100):
        try:
            await receiver.deliver(delivery)
        except Retry as retry:
            waits.append(retry.after_s)
            receiver.clock.time += timedelta(seconds=retry.after_s)
        else:
            break
    assert waits == list(WAITS_S[1:])
    assert len(receiver.sent) == 7
    assert len(set(receiver.sent)) == 1


async def test_outages_of_ours_use_up_no_try() -> None:
    receiver = Receiver(asked(JOB), end())
    receiver.outcome = "failed"
    with pytest.raises(Retry) as caught:
        await receiver.deliver(delivery_count=50)
    assert not isinstance(caught.value, Outage)
    assert caught.value.after_s == 5


async def test_a_receiver_that_is_back_gets_it_and_is_left_alone() -> None:
    receiver = Receiver(asked(JOB), end())
    receiver.outcome = "failed"
    with pytest.raises(Retry):
        await receiver.deliver()
    receiver.outcome = "delivered"
    receiver.clock.time += timedelta(seconds=5)
    await receiver.deliver(2)
    assert receiver.metrics.webhooks == ["failed", "delivered"]


async def test_gone_is_the_end() -> None:
    receiver = Receiver(asked(JOB), end())
    receiver.outcome = "gone"
    await receiver.deliver()
    assert receiver.metrics.webhooks == ["gone"]


@pytest.mark.parametrize("missing", ["webhook", "words", "secrets"])
async def test_without_address_words_or_secret_nothing_is_sent(missing: str) -> None:
    receiver = Receiver(asked(JOB), end(), url=None if missing == "webhook" else HOOK)
    if missing == "words":
        receiver.words = None
    if missing == "secrets":
        receiver.secrets = []
    await receiver.deliver()
    assert receiver.sent == []
    assert receiver.metrics.webhooks == {"webhook": [], "words": ["expired"], "secrets": ["unsigned"]}[missing]


async def test_a_log_that_lags_is_waited_for() -> None:
    receiver = Receiver(asked(UUID(int=9)), end())
    with pytest.raises(Outage):
        await receiver.deliver()


async def test_words_of_a_cancelled_job_go_once_its_message_is_settled() -> None:
    receiver = Receiver(asked(JOB), end("CANCELED"))
    receiver.outcome = "failed"
    with pytest.raises(Retry):
        await receiver.deliver()
    assert receiver.removed == []
    receiver.clock.time += timedelta(seconds=LAST_S)
    await receiver.deliver(7)
    assert receiver.removed == [receiver.request.input]


def test_a_clock_that_was_set_back_puts_no_try_off() -> None:
    assert wait_at(-365 * 86_400.0) == WAITS_S[1]


@given(st.floats(0, 2 * LAST_S))
@example(WAITS_S[1] - 0.5)  # the clocks of two machines differ by so much
def test_whatever_the_age_the_next_try_is_one_of_the_schedule(age: float) -> None:
    wait = wait_at(age)
    due = [sum(WAITS_S[:count]) for count in range(1, 8)]
    if wait is None:
        assert age > LAST_S - 2
    else:
        assert wait > 1 - 1e-6
        assert min(abs(age + wait - each) for each in due) < 1e-6
