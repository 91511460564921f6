"""Credits follow the order of the views, and the same views count the same in any batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import PostHinted, PostViewed
from services.projector.facts.fact import Fact
from services.projector.projections.views import HINT_WEIGHT, ViewRules, fold
from services.projector.rows.table import Tables
from services.projector.rows.views import (
    CREDITS,
    POST_COUNTERS,
    RANGES,
    VIEW_TABLES,
    VIEWED_VERSIONS,
    Credit,
    PostCounters,
    ViewedVersion,
)
from tests.unit.projector.histories import START, digest, uid

POSTS = "pq"


def view(viewer: str, network: str = "n", hours: int = 0, post: str = "p", reporter: str | None = None) -> Fact:
    event = PostViewed(
        view_id=uid("view"),
        post_id=uid(post),
        version_id=uid(f"version of {post}"),
        viewer_key=digest(viewer),
        ip_range_key=digest(network),
        reporter_key=digest(reporter) if reporter else None,
    )
    return Fact(1, uid("event"), START + timedelta(hours=hours), uid("correlation"), event)


def hint(network: str = "n", hours: int = 0, post: str = "p") -> Fact:
    event = PostHinted(hint_id=uid("hint"), post_id=uid(post), ip_range_key=digest(network))
    return Fact(1, uid("event"), START + timedelta(hours=hours), uid("correlation"), event)


def counted(views: Sequence[Fact], rules: ViewRules, cuts: Sequence[int] = ()) -> Tables:
    """The rows after these views, which came in batches cut there."""
    tables = Tables(
        {
            POST_COUNTERS: [PostCounters(uid(post), 0, 0, 0, None, START) for post in POSTS],
            VIEWED_VERSIONS: [ViewedVersion(uid(f"version of {post}"), uid(post), None) for post in POSTS],
        }
    )
    for start, end in pairwise([0, *sorted(cuts), len(views)]):
        tables = Tables({table: tables[table].current for table in VIEW_TABLES})
        assert fold(tables, views[start:end], rules) == 0
    return tables


def credited(views: Sequence[Fact], cap: int, cuts: Sequence[int] = ()) -> list[Credit]:
    return counted(views, ViewRules(cap), cuts)[CREDITS].current


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
    assert [row.ip_range_key for row in credited([view("a"), view("b"), view("b", "other")], 1)] == [
        digest("n"),
        digest("other"),
    ]


def scores(facts: Sequence[Fact], cap: int = 10) -> tuple[int, int, int]:
    """What a post's views and hints count, and how often it was viewed."""
    post = next(row for row in counted(facts, ViewRules(cap))[POST_COUNTERS].current if row.id == uid("p"))
    return post.unique_view_score, post.hint_score, post.view_count


def test_a_hint_stands_for_eight_views_within_the_limits_of_views() -> None:
    assert scores([hint()]) == (0, 8, 0), "a hint is no view"
    assert scores([hint(), hint(), hint(hours=1)]) == (0, 8, 0), "one a day for each address range"
    assert scores([hint(), hint(hours=15), hint("other")]) == (0, 24, 0)
    readers = [view(f"v{number}") for number in range(10)]
    assert scores([hint(), *readers]) == (2, 8, 10), "with views of its range it has no more than they alone"
    assert scores([*readers[:5], hint()]) == (5, 5, 5)
    assert scores([*readers, hint()]) == (10, 0, 10)
    assert scores([hint()], 3) == (0, 3, 0)
    assert scores([hint()], 0) == (0, 0, 0)


views = st.builds(view, st.sampled_from("abcd"), st.sampled_from("mn"), st.integers(0, 30), st.sampled_from("pq"))


hints = st.builds(hint, st.sampled_from("mn"), st.integers(0, 30), st.sampled_from("pq"))


@given(st.lists(views | hints, max_size=30), st.integers(0, 12), st.lists(st.integers(0, 30), max_size=4))
def test_batches_do_not_matter(given_views: list[Fact], cap: int, cuts: list[int]) -> None:
    inside = [cut for cut in cuts if cut <= len(given_views)]
    earned = credited(given_views, cap)
    assert credited(given_views, cap, inside) == earned
    assert len({(row.post_id, row.viewer_key, row.bucket_day) for row in earned}) == len(earned)
    spent = Counter[tuple[UUID, str, date]]()
    for row in earned:
        assert 1 <= row.weight <= (HINT_WEIGHT if row.viewer_key == row.ip_range_key else 1)
        spent[row.post_id, row.ip_range_key, row.bucket_day] += row.weight
    assert all(number <= cap for number in spent.values())
    posts = counted(given_views, ViewRules(cap), inside)[POST_COUNTERS].current
    assert sum(post.unique_view_score + post.hint_score for post in posts) == spent.total()


def vouched(views: Sequence[Fact], needed: int = 3, cuts: Sequence[int] = ()) -> list[datetime | None]:
    """Since when each version is corroborated."""
    tables = counted(views, ViewRules(0, corroborating_ranges=needed), cuts)
    assert all(number <= needed for number in Counter(row.post_version_id for row in tables[RANGES].current).values())
    return [row.corroborated_at for row in tables[VIEWED_VERSIONS].current]


def test_a_version_is_corroborated_by_viewers_of_enough_ranges_or_by_one_with_a_key() -> None:
    crowd = [view(f"v{number}", "m") for number in range(9)]
    assert vouched(crowd) == [None, None]
    assert vouched([*crowd, view("a", "n")]) == [None, None]
    enough = [*crowd, view("a", "n", 1), view("b", "o", 2), view("c", "p", 3)]
    assert vouched(enough) == [START + timedelta(hours=2), None]
    with_keys = [view("a", "m", 1, reporter="key"), view("b", "n", 2, reporter="another")]
    assert vouched([*crowd, *with_keys]) == [START + timedelta(hours=1), None], "the first one counts"


@given(st.lists(views, max_size=30), st.integers(1, 3), st.lists(st.integers(0, 30), max_size=4))
def test_corroboration_does_not_depend_on_batches(given_views: list[Fact], needed: int, cuts: list[int]) -> None:
    assert vouched(given_views, needed, [cut for cut in cuts if cut <= len(given_views)]) == vouched(
        given_views, needed
    )


@pytest.mark.requirement("2.10-03")
@given(st.lists(views, max_size=30))
def test_every_view_is_counted(given_views: list[Fact]) -> None:
    """2.10-03: viewCount on every view."""
    posts = counted(given_views, ViewRules(1))[POST_COUNTERS].current
    assert sum(post.view_count for post in posts) == len(given_views)


def test_a_view_of_an_unknown_version_counts_for_nothing() -> None:
    tables = Tables({POST_COUNTERS: [PostCounters(uid("p"), 0, 0, 0, None, START)]})
    assert fold(tables, [view("a"), hint(post="q")], ViewRules()) == 2
    assert not any(tables[table].written for table in VIEW_TABLES)


def test_a_view_of_another_posts_version_counts_for_neither() -> None:
    posts = [PostCounters(uid(post), 0, 0, 0, None, START) for post in POSTS]
    of_other = ViewedVersion(uid("version of p"), uid("q"), None)
    tables = Tables({POST_COUNTERS: posts, VIEWED_VERSIONS: [of_other]})
    assert fold(tables, [view("a", reporter="key")], ViewRules()) == 1
    assert not any(tables[table].written for table in VIEW_TABLES)
