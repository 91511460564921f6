"""Check that pages are recent enough for what they are cited for."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from analyses.claims.volatility import Volatility
from analyses.gates.case import Case, CitedPage, Ruling

_FAST_SHARE: Final = 24
"""For facts that may change daily, the age limit of pages is divided by this: an hour instead of a day."""
_FAST_PAGE_AGE: Final = timedelta(days=31)
"""How much older than the post a page may be, for facts that may change daily."""


def check_freshness(case: Case) -> Ruling:
    """Leave out pages that were fetched too long ago or, for facts that may change daily, are older than the post."""
    is_fast = case.volatility is Volatility.FAST
    limit = timedelta(seconds=case.policy.page_age_s / (_FAST_SHARE if is_fast else 1))
    return case.leave_out(
        [page for page in case.pages if not _is_fresh(page, case, limit, is_fast=is_fast)], "SOURCE_IS_OLD"
    )


def _is_fresh(page: CitedPage, case: Case, limit: timedelta, *, is_fast: bool) -> bool:
    if page.fetched_at is not None and case.judged_at is not None and case.judged_at - page.fetched_at > limit:
        return False
    published, needed = _read_day(page.published), case.published_at or case.judged_at
    if not is_fast or published is None or needed is None:
        return True
    return published >= needed.date() - _FAST_PAGE_AGE


def _read_day(stated: str | None) -> date | None:
    try:
        return date.fromisoformat((stated or "")[:10])
    except ValueError:
        return None
