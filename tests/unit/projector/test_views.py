"""Credits follow the order of the views, and the same views count the same in any batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.projector.views import Corroborated, Credit, View, ViewRules, count
from tests.unit.projector.histories import START, uid


def view(viewer: str, network: str = "n", hours: int = 0, post: str = "p") -> View:
    return View(uid(post), uid("v"), viewer, network, None, START + timedelta(hours=hours))


def credited(views: Sequence[View], cap: int, cuts: Sequence[int] = ()) -> list[Credit]:
    earned: list[Credit] = []
    edges = [0, *sorted(cuts), len(views)]
    for start, end in pairwise(edges):
        counted = count(
            views[start:end],
            credited={(row.post_id, row.viewer_key, row.bucket_day) for row in earned},
            spent=Counter((row.post_id, row.ip_range_key, row.bucket_day) for row in earned),
            known_ranges=set(),
            rules=ViewRules(cap),
        )
        earned += counted.credits
    return earned


@pytest.mark.requirement("2.10-04")
def test_one_credit_for_a_viewer_and_day() -> None:
    """2.10-04: One credit per viewer per post per day."""
    assert len(credited([view("a"), view("a"), view("a", "other")], 10)) == 1
    assert len(credited([view("a"), view("a", hours=14), view("a", hours=15)], 10)) == 2


@pytest.mark.requirement("2.10-05", "2.10-06")
def test_an_address_range_earns_no_more_than_the_cap() -> None:
    """2.10-05: IP range cap.
    2.10-06: Cap configurable.
    """
    crowd = [view(f"v{number}") for number in range(11)]
    assert len(credited(crowd, 10)) == 10
    assert len(credited(crowd, 2)) == 2
    assert len(credited(crowd, 0)) == 0


def test_who_was_refused_may_earn_it_elsewhere() -> None:
    assert [row.ip_range_key for row in credited([view("a"), view("b"), view("b", "other")], 1)] == ["n", "other"]


views = st.builds(view, st.sampled_from("abcd"), st.sampled_from("mn"), st.integers(0, 30), st.sampled_from("pq"))


@given(st.lists(views, max_size=30), st.integers(0, 4), st.lists(st.integers(0, 30), max_size=4))
def test_batches_do_not_matter(given_views: list[View], cap: int, cuts: list[int]) -> None:
    inside = [cut for cut in cuts if cut <= len(given_views)]
    earned = credited(given_views, cap)
    assert credited(given_views, cap, inside) == earned
    assert len({(row.post_id, row.viewer_key, row.bucket_day) for row in earned}) == len(earned)
    spent = Counter((row.post_id, row.ip_range_key, row.bucket_day) for row in earned)
    assert all(number <= cap for number in spent.values())


def vouched(views: Sequence[View], needed: int = 3, cuts: Sequence[int] = ()) -> list[Corroborated]:
    ranges: set[tuple[UUID, str]] = set()
    corroborated: dict[UUID, Corroborated] = {}
    edges = [0, *sorted(cuts), len(views)]
    for start, end in pairwise(edges):
        counted = count(
            views[start:end],
            credited=set(),
            spent={},
            known_ranges=ranges,
            rules=ViewRules(0, corroborating_ranges=needed),
        )
        ranges |= {(row.post_version_id, row.ip_range_key) for row in counted.ranges}
        for row in counted.corroborated:
            corroborated.setdefault(row.id, row)
    assert len(ranges) <= needed * len({view.version_id for view in views})
    return list(corroborated.values())


def test_a_version_is_corroborated_by_viewers_of_enough_ranges_or_by_one_with_a_key() -> None:
    crowd = [view(f"v{number}", "m") for number in range(9)]
    assert vouched(crowd) == []
    assert vouched([*crowd, view("a", "n")]) == []
    assert vouched([*crowd, view("a", "n", 1), view("b", "o", 2), view("c", "p", 3)]) == [
        Corroborated(uid("v"), START + timedelta(hours=2))
    ]
    (with_key,) = vouched([*crowd, replace(view("a", "m", 1), reporter_key="key")])
    assert with_key.corroborated_at == START + timedelta(hours=1)


@given(st.lists(views, max_size=30), st.integers(1, 3), st.lists(st.integers(0, 30), max_size=4))
def test_corroboration_does_not_depend_on_batches(given_views: list[View], needed: int, cuts: list[int]) -> None:
    assert vouched(given_views, needed, [cut for cut in cuts if cut <= len(given_views)]) == vouched(
        given_views, needed
    )


@pytest.mark.requirement("2.10-03")
@given(st.lists(views, max_size=30))
def test_every_view_is_counted(given_views: list[View]) -> None:
    """2.10-03: viewCount on every view."""
    counted = count(given_views, credited=set(), spent={}, known_ranges=set(), rules=ViewRules(1))
    assert sum(post.view_count for post in counted.posts) == len(given_views)
