"""Parameters of an address, as a browser reads them."""

from __future__ import annotations

from ada_url import URLSearchParams
from hypothesis import given
from hypothesis import strategies as st

from platforms.urls import parse_url

PIECES = ("title", "%74itle", "tit%6Ce", "=", "&", "?", "+", "%", "%20", "%26", "%C3%A9", "é", "x")


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_a_parameter_is_the_one_that_a_browser_finds(query: str) -> None:
    url = parse_url(f"https://example.org/?{query}")
    assert url is not None
    expected = URLSearchParams(url.search)
    assert url.parameter("title") == (expected.get("title") if expected.has("title") else None)
