"""Credit is counted once: what is used and reserved is what was settled and is open, over any history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random
from uuid import UUID

import pytest

from contracts.v1 import CreditPosted
from contracts.v1.credit import CreditEntry
from lifecycle.audits.credits import (
    AlreadyOpen,
    Period,
    Refused,
    Terms,
    adjust,
    extract,
    release,
    reserve,
    settle,
)
from tests.support.audits import ACCOUNT, MONTH

FREE = Terms(10_000_000, hard=True, max_open_jobs=5)
PRO = Terms(50_000_000, hard=False, max_open_jobs=20)
UNLIMITED = Terms(None, hard=False, max_open_jobs=20)
DAY = date(2026, 12, 1)
JOB = UUID(int=1)


@dataclass
class Ledger:
    """The entries of a month as a stream stores them: only behind the newest, and each once."""

    period: Period = field(default_factory=lambda: Period(ACCOUNT, MONTH))
    entries: list[CreditPosted] = field(default_factory=list)
    before: Period = field(default_factory=lambda: Period(ACCOUNT, MONTH))

    def store(self, entry: object) -> bool:
        if not isinstance(entry, CreditPosted) or entry.follows != self.period.follows:
            return False
        if entry.event_id() in {each.event_id() for each in self.entries}:
            return False
        self.entries.append(entry)
        self.before = self.period
        self.period = Period(ACCOUNT, self.period.month, entry, self.period.follows + 1)
        return True


def rebuild(entries: Sequence[CreditPosted]) -> tuple[int, dict[UUID, int]]:
    """What was used and what is open, from amounts alone."""
    used, open_ = 0, dict[UUID, int]()
    for each in entries:
        if each.entry == "RESERVED" and each.job_id is not None:
            open_[each.job_id] = each.micro_usd
        if each.entry in ("SETTLED", "RELEASED") and each.job_id is not None:
            open_.pop(each.job_id)
        if each.entry in ("SETTLED", "ADJUSTED"):
            used += each.micro_usd
    return used, open_


def require_invariants(ledger: Ledger, terms: Terms) -> None:
    used, open_ = rebuild(ledger.entries)
    period = ledger.period
    assert (period.used, {each.job_id: each.micro_usd for each in period.open}) == (used, open_)
    assert used >= 0
    assert all(amount >= 0 for amount in open_.values())
    assert len(period.open) <= terms.max_open_jobs
    adjusted = sum(each.micro_usd for each in ledger.entries if each.entry == "ADJUSTED")
    if terms.hard and terms.limit_micro_usd is not None:
        assert used - max(0, adjusted) + sum(open_.values()) <= terms.limit_micro_usd
    assert len(ledger.entries) == len({each.event_id() for each in ledger.entries})
    ends = [each.job_id for each in ledger.entries if each.entry in ("SETTLED", "RELEASED")]
    assert len(ends) == len(set(ends)), "a job is charged or released once"


@pytest.mark.requirement("FH-40")
def test_balances_add_up_over_any_history() -> None:
    """FH-40: Credit is reserved at intake and settled when the job ends. A reservation is the most the job can cost,
    but never more than what is left on a hard tier; as many new claims are analysed as it covers, the rest are misses;
    below the price of stages 1 and 3 it is 402. SUCCEEDED pays for what was done; FAILED pays nothing; CANCELED see
    FH-155. `credit_remaining` = limit − used − reserved, never below 0

    10,000 random histories over two months; a job that was reserved in one ends in it.

    FH-40: Credit is reserved at intake and settled at the end.
    """
    for seed in range(10_000):
        random = Random(seed)
        terms = random.choice((FREE, FREE, PRO, UNLIMITED, Terms(200_000, hard=True, max_open_jobs=3)))
        months = {month: Ledger(Period(ACCOUNT, month)) for month in ("2026-12", "2027-01")}
        for number in range(1, random.randint(2, 16)):
            ledger = months["2026-12" if number < 8 or random.random() < 0.3 else "2027-01"]
            job = UUID(int=random.randint(1, number))
            seen = ledger.before if random.random() < 0.2 and ledger.entries else ledger.period  # somebody was faster
            entry: CreditPosted | Refused | AlreadyOpen | None
            match random.choice("rrrsslea"):
                case "r":
                    entry = reserve(seen, terms, job, most=random.randint(33_000, 843_000), least=33_000)
                case "s":
                    entry = settle(seen, job, random.randint(0, 900_000))
                case "l":
                    entry = release(seen, job)
                case "e":
                    entry = extract(seen, terms, job, DAY + timedelta(days=random.randint(0, 2)))
                case _:
                    entry = adjust(seen, terms, UUID(int=number), random.randint(-300_000, 100_000))
            ledger.store(entry)
            if isinstance(entry, CreditPosted):
                assert not ledger.store(entry), "a repetition is stored once"
        for ledger in months.values():
            require_invariants(ledger, terms)


def test_a_hard_limit_reserves_what_is_left_and_refuses_what_is_too_little() -> None:
    ledger = Ledger()
    assert ledger.store(reserve(ledger.period, FREE, JOB, most=9_950_000, least=33_000))
    entry = reserve(ledger.period, FREE, UUID(int=2), most=438_000, least=33_000)
    assert isinstance(entry, CreditPosted)
    assert entry.micro_usd == 50_000
    assert ledger.store(entry)
    assert ledger.period.left(FREE.limit_micro_usd) == 0
    assert reserve(ledger.period, FREE, UUID(int=3), most=438_000, least=33_000) == Refused("CREDIT")


@pytest.mark.parametrize("terms", [PRO, UNLIMITED], ids=["soft", "without limit"])
def test_without_a_hard_limit_the_most_is_reserved(terms: Terms) -> None:
    ledger = Ledger()
    for number in range(1, 21):
        assert ledger.store(reserve(ledger.period, terms, UUID(int=number), most=9_000_000, least=33_000))
    assert ledger.period.reserved == 180_000_000


@pytest.mark.requirement("FH-172")
@pytest.mark.parametrize("terms", [FREE, PRO])
def test_an_account_has_so_many_open_jobs(terms: Terms) -> None:
    """FH-172: At most 20 open jobs an account, 5 on the free tier: 429 `TOO_MANY_OPEN_JOBS`

    FH-172: The number of open jobs is limited.
    """
    ledger = Ledger()
    for number in range(terms.max_open_jobs):
        assert ledger.store(reserve(ledger.period, terms, UUID(int=number), most=100_000, least=33_000))
    one_more = UUID(int=99)
    assert reserve(ledger.period, terms, one_more, most=100_000, least=33_000) == Refused("OPEN_JOBS")
    assert ledger.store(release(ledger.period, UUID(int=0)))
    assert reserve(ledger.period, terms, one_more, most=1, least=1, open_elsewhere=1) == Refused("OPEN_JOBS")
    assert ledger.store(reserve(ledger.period, terms, one_more, most=100_000, least=33_000))


def test_a_job_is_reserved_once_and_ends_once() -> None:
    ledger = Ledger()
    first = reserve(ledger.period, FREE, JOB, most=100_000, least=33_000)
    assert ledger.store(first)
    assert reserve(ledger.period, FREE, JOB, most=100_000, least=33_000) == AlreadyOpen()
    settled, released = settle(ledger.period, JOB, 84_000), release(ledger.period, JOB)
    assert ledger.store(settled)
    assert not ledger.store(released)
    assert (ledger.period.used, ledger.period.open) == (84_000, ())
    assert settle(ledger.period, JOB, 84_000) is None
    assert release(ledger.period, JOB) is None


def test_no_more_is_charged_than_was_reserved() -> None:
    ledger = Ledger()
    assert ledger.store(reserve(ledger.period, FREE, JOB, most=100_000, least=33_000))
    assert ledger.store(settle(ledger.period, JOB, 10_000_000))
    assert ledger.period.used == 100_000


@pytest.mark.requirement("FH-42", "FH-41", "FH-49")
def test_fifty_extractions_a_day_cost_nothing() -> None:
    """FH-42: Cache-only extraction: 50 a UTC day and account; the 51st is 429 with `Retry-After`
    FH-41: In cache-only mode stage 1 runs and is not charged
    FH-49: `cache_only` never spends credit, at any balance

    FH-42: 50 cache-only extractions a day and account.
    FH-41: In cache-only mode stage 1 is not charged.
    """
    ledger = Ledger()
    assert ledger.store(reserve(ledger.period, FREE, UUID(int=900), most=438_000, least=33_000))
    before = ledger.period
    for number in range(50):
        assert ledger.store(extract(ledger.period, FREE, UUID(int=number), DAY))
    assert extract(ledger.period, FREE, UUID(int=50), DAY) == Refused("EXTRACTION_QUOTA")
    assert (ledger.period.used, ledger.period.open) == (before.used, before.open)
    assert ledger.store(extract(ledger.period, FREE, UUID(int=50), DAY + timedelta(days=1)))
    assert ledger.period.extractions_on(DAY + timedelta(days=1)) == 1
    late = extract(ledger.period, FREE, UUID(int=51), DAY)
    assert isinstance(late, CreditPosted)
    assert (late.extraction_day, late.extractions) == (DAY + timedelta(days=1), 2), "a slow clock wins no second day"


def test_an_adjustment_takes_no_more_than_was_used_and_is_each_time_another() -> None:
    ledger = Ledger()
    assert ledger.store(reserve(ledger.period, FREE, JOB, most=100_000, least=33_000))
    assert ledger.store(settle(ledger.period, JOB, 100_000))
    for number in range(2):
        assert ledger.store(adjust(ledger.period, PRO, UUID(int=number), -60_000))
    assert not ledger.store(adjust(ledger.period, PRO, UUID(int=1), -60_000)), "the same order twice"
    assert [each.micro_usd for each in ledger.entries[2:]] == [-60_000, -40_000]
    last = ledger.period.last
    assert last is not None
    assert (last.used_micro_usd, last.limit_micro_usd, last.hard) == (0, PRO.limit_micro_usd, False)


@pytest.mark.requirement("FH-39")
def test_another_month_begins_at_zero() -> None:
    """FH-39: `reset_date` is 00:00 UTC on the first of next month; `credit_used` is 0 then

    FH-39: Credit starts anew on the first of a month.
    """
    december, january = Ledger(), Ledger(Period(ACCOUNT, "2027-01"))
    assert december.store(reserve(december.period, FREE, JOB, most=100_000, least=33_000))
    first = reserve(january.period, FREE, UUID(int=2), most=100_000, least=33_000)
    assert january.store(first)
    assert january.period.used == 0
    assert december.store(settle(december.period, JOB, 90_000)), "a job settles in the period it was reserved in"
    entries: list[CreditEntry] = [each.entry for each in (*december.entries, *january.entries)]
    assert entries == ["RESERVED", "SETTLED", "RESERVED"]
    assert december.entries[0].key() != january.entries[0].key()
