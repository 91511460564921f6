"""Check that pages are independent sources: no user-generated content, not the post's site, not ours, no copies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from analyses.claims.families import find_domain
from analyses.gates.case import PASS, Case, CitedPage, Ruling
from analyses.gates.lists import MODEL_WRITTEN, USER_GENERATED, WIKIS, find_host, is_on

_DEPENDENT_HOSTS: Final = USER_GENERATED | WIKIS | MODEL_WRITTEN


def check_independence(case: Case) -> Ruling:
    """Leave out user-generated and model-written pages, those of the post's own site, ours, and those that name us."""
    counted = tuple(page for page in case.pages if _is_independent(page, case))
    if len(counted) == len(case.pages):
        return PASS
    return Ruling(None if counted else "NO_INDEPENDENT_SOURCE", counted)


def check_families(case: Case) -> Ruling:
    """Require the policy's number of sources that share no owner, address or text."""
    return PASS if count(case.families) >= case.policy.families else Ruling("TOO_FEW_SOURCES")


def count(families: Iterable[int]) -> int:
    """The number of different families."""
    return len(set(families))


def _is_independent(page: CitedPage, case: Case) -> bool:
    host = find_host(page.url)
    if is_on(host, _DEPENDENT_HOSTS) or is_on(host, case.policy.ugc_hosts):
        return False
    if page.names_us or is_on(host, case.policy.own_hosts):
        return False
    return case.post_domain is None or find_domain(page.url) != case.post_domain
