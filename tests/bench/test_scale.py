"""What is calculated about growth, and that the document says the same."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.bench.bench_day import split
from tests.bench.scale import Costs, Day, Use, costs_table, draw_day, predict, table
from tests.support.system import ROOT

DAYS = st.builds(
    draw_day, pages=st.integers(1, 300), posts=st.integers(1, 60), investigations=st.just(1), seed=st.integers()
)


def test_the_document_has_the_tables_that_are_calculated_from_the_costs() -> None:
    document = (ROOT / "docs" / "scale.md").read_text()
    assert costs_table() in document
    assert table() in document


def test_a_prediction_is_what_the_work_takes_and_what_the_time_takes() -> None:
    page = Use({"gateway": 2.0, "nats": 1.0}, {"facts": 1.0, "log": 10.0})
    post = Use({"gateway": 3.0}, {"facts": 3.0, "tables": 5.0})
    costs = Costs({"known page": page, "new post": post, "investigation": Use()}, Use({"nats": 4.0}))
    used = predict({"known page": 10, "new post": 2}, 5.0, costs)
    assert {part: ms for part, ms in used.cpu_ms.items() if ms} == {"gateway": 26.0, "nats": 30.0}
    assert dict(used.stored) == {"facts": 16.0, "log": 100.0, "tables": 10.0}


@given(DAYS)
def test_a_day_has_each_page_once_and_the_first_of_a_post_is_new(day: Day) -> None:
    count = day.count()
    assert count["known page"] + count["new post"] == len(day.posts)
    assert count["new post"] == len(set(day.posts))
    assert set(day.investigated) <= set(day.posts)


@given(DAYS, st.integers(1, 24))
def test_a_post_is_investigated_once_and_after_it_was_opened(day: Day, parts: int) -> None:
    opened: set[int] = set()
    investigated: Counter[int] = Counter()
    pages: list[int] = []
    for hour in split(day, parts):
        assert set(hour.investigated) <= opened
        investigated.update(hour.investigated)
        opened |= set(hour.posts)
        pages += hour.posts
    assert tuple(pages) == day.posts
    assert investigated == Counter(day.investigated)
