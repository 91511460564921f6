"""Roles, tiers and months: every combination of role and verb, what a tier gives, and when a month begins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.accounts import (
    ROLES,
    TIERS,
    VERBS,
    Role,
    Tier,
    Verb,
    credit_month,
    is_username,
    monthly_credit,
    next_reset,
)

MATRIX: dict[Verb, tuple[Role, ...]] = {
    "read": ("reader", "contributor", "moderator", "admin"),
    "flag": ("reader", "contributor", "moderator", "admin"),
    "submit": ("contributor", "moderator", "admin"),
    "edit": ("contributor", "moderator", "admin"),
    "decide": ("moderator", "admin"),
    "hide": ("moderator", "admin"),
    "publish": ("moderator", "admin"),
    "score": ("moderator", "admin"),
    "configure": ("admin",),
    "hear": ("admin",),
}


@pytest.mark.requirement("FH-115")
def test_every_role_has_its_verbs_and_no_other() -> None:
    """FH-115: Roles reader (default), contributor, moderator; admin for operators. Roles are given by people, never by
    a score. A key carries rights of its own.
    """
    assert set(MATRIX) == set(get_args(Verb))
    for verb, roles in MATRIX.items():
        assert {role for role in ROLES if verb in VERBS[role]} == set(roles), verb


@pytest.mark.requirement("FH-38", "FH-172")
@pytest.mark.parametrize(
    ("tier", "credit", "is_hard", "open_jobs"),
    [("free", 10_000_000, True, 5), ("pro", 50_000_000, False, 20), ("enterprise", None, False, 20)],
)
def test_a_tier_gives_what_it_promises(tier: Tier, credit: int | None, is_hard: bool, open_jobs: int) -> None:
    """FH-38: Tiers as in C.2; pro and enterprise exist and are not sold yet.
    FH-172: At most 20 open jobs an account, 5 on the free tier: 429 `TOO_MANY_OPEN_JOBS`.

    FH-38: Tiers limit the monthly credit, the free one hard.
    FH-172: The number of open jobs is limited.
    """
    assert TIERS[tier] == (credit, is_hard, open_jobs)
    assert len(TIERS) == 3


@pytest.mark.parametrize(
    ("tier", "agreed", "credit"),
    [("free", None, 10_000_000), ("free", 0, 0), ("enterprise", None, None), ("enterprise", 5, 5)],
)
def test_an_agreed_credit_goes_before_the_tiers(tier: Tier, agreed: int | None, credit: int | None) -> None:
    assert monthly_credit(tier, agreed) == credit


@pytest.mark.requirement("FH-39")
@pytest.mark.parametrize(
    ("now", "month", "reset"),
    [
        (datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC), "2026-11", datetime(2026, 12, 1, tzinfo=UTC)),
        (datetime(2026, 12, 1, tzinfo=UTC), "2026-12", datetime(2027, 1, 1, tzinfo=UTC)),
        (datetime(2027, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))), "2026-12", datetime(2027, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_month_ends_at_midnight_utc(now: datetime, month: str, reset: datetime) -> None:
    """FH-39: `reset_date` is 00:00 UTC on the first of next month; `credit_used` is 0 then.

    FH-39: Credit starts anew on the first of a month.
    """
    assert (credit_month(now), next_reset(now)) == (month, reset)


@given(st.datetimes(timezones=st.just(UTC), max_value=datetime(9000, 1, 1)))
def test_the_reset_begins_another_month_and_nothing_before_it_does(now: datetime) -> None:
    reset = next_reset(now)
    assert now < reset
    assert credit_month(reset - timedelta(microseconds=1)) == credit_month(now) != credit_month(reset)


@pytest.mark.parametrize(
    ("text", "accepted"),
    [("alice", True), ("a.b-c_9", True), ("a" * 64, True)]
    + [(wrong, False) for wrong in ("", "Alice", ".a", "a" * 65, "älice", "a b", "a\n")],
)
def test_names_are_plain(text: str, accepted: bool) -> None:
    assert is_username(text) is accepted
