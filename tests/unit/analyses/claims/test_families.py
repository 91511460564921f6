"""Copies, mirrors and an owner's sites are one source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.claims.families import SourcePage, find_domain, number_families
from tests.support.audit_cases import HOSTILE, Case, read_cases


class Related(Case):
    name: str
    pages: list[SourcePage]
    families: list[int]


URLS = st.sampled_from(["https://bbc.com/a", "https://bbc.co.uk/", "https://a.example/", "https://b.test/x"]) | HOSTILE
PAGES = st.builds(SourcePage, URLS, st.none() | URLS, HOSTILE | st.just(" ".join(map(str, range(20)))))


@pytest.mark.parametrize("case", read_cases("families", list[Related]), ids=lambda case: case.name)
@pytest.mark.requirement("FH-148")
def test_the_families_of_pages(case: Related) -> None:
    """FH-148: Sources with the same text are one family, and families limit the confidence."""
    assert list(number_families(case.pages)) == case.families


@given(st.lists(PAGES, max_size=6))
@pytest.mark.requirement("FH-148")
def test_families_do_not_depend_on_the_order(pages: list[SourcePage]) -> None:
    """FH-148: Sources with the same text are one family, and families limit the confidence."""
    numbers = number_families(pages)
    assert list(dict.fromkeys(numbers)) == list(range(1, len(set(numbers)) + 1))
    turned = number_families(pages[::-1])[::-1]
    assert {(a, b) for a in range(len(pages)) for b in range(len(pages)) if numbers[a] == numbers[b]} == {
        (a, b) for a in range(len(pages)) for b in range(len(pages)) if turned[a] == turned[b]
    }


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://www.bbc.co.uk/news", "bbc.co.uk"),
        ("https://WWW.Example.COM:8443/a", "example.com"),
        ("https://a.b.example.com./", "example.com"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("https://user.github.io/", "user.github.io"),
        ("https://co.uk/", "co.uk"),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://localhost/", "localhost"),
        ("mailto:a@example.com", None),
        ("\ud800", None),
        ("", None),
    ],
)
def test_the_registrable_domain(url: str, domain: str | None) -> None:
    assert find_domain(url) == domain
