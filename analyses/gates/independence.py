"""Which pages are sources of their own: not anybody's post, not the author's site, not ours, and not copies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from analyses.claims.families import find_domain
from analyses.gates.case import PASS, Case, CitedPage, Ruling
from analyses.gates.lists import MODEL_WRITTEN, USER_GENERATED, WIKIS, find_host, is_on

_ANYBODYS: Final = USER_GENERATED | WIKIS | MODEL_WRITTEN


def check_independence(case: Case) -> Ruling:
    """Leave out pages that anybody or a model wrote, those of the post's own site, ours, and those that name us."""
    counted = tuple(page for page in case.pages if _is_independent(page, case))
    if len(counted) == len(case.pages):
        return PASS
    return Ruling(None if counted else "NO_INDEPENDENT_SOURCE", counted)


def check_families(case: Case) -> Ruling:
    """Ask for so many sources that have neither owner, nor address, nor text in common."""
    return PASS if count(case.families) >= case.policy.families else Ruling("TOO_FEW_SOURCES")


def count(families: Iterable[int]) -> int:
    """How many different ones there are."""
    return len(set(families))


def _is_independent(page: CitedPage, case: Case) -> bool:
    host = find_host(page.url)
    if is_on(host, _ANYBODYS) or is_on(host, case.policy.ugc_hosts):
        return False
    if page.names_us or is_on(host, case.policy.own_hosts):
        return False
    return case.post_domain is None or find_domain(page.url) != case.post_domain
