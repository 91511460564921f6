"""Pages together hold all there is, and none holds more than it may."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from services.gateway.public.site.pagination import cut, paginate, weight


@given(st.lists(st.integers(0, 30)), st.integers(1, 40), st.none() | st.integers(1, 4))
def test_items_are_put_together_until_a_page_is_full(items: list[int], limit: int, most: int | None) -> None:
    found = paginate(items, lambda item: item, limit, most)
    assert [item for page in found for item in page] == items
    for page in found:
        assert sum(page) <= limit or len(page) == 1
        assert most is None or len(page) <= most
    assert all(found) or found == [[]]


@given(st.text(alphabet='a &<"日😀', max_size=400), st.integers(12, 300))
def test_a_text_is_cut_so_that_each_piece_fits(text: str, limit: int) -> None:
    pieces = list(cut(text, limit))
    assert "".join(pieces) == text
    assert all(weight(piece) <= limit for piece in pieces)
