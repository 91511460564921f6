"""What strangers write costs what its length costs, wherever text is read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from platforms.text import html_to_text, js_trim, normalize
from tests.support.growth import assert_linear
from tests.support.text_index import normalize_with_index

MARKS = "\u0301\u0327"
WORK: dict[str, tuple[Callable[[str], object], Callable[[int], str], int]] = {
    "marks in text": (normalize, lambda n: "a" + MARKS * n, 20_000),
    "marks in HTML": (html_to_text, lambda n: "<p>a" + MARKS * n, 20_000),
    "marks as entities": (html_to_text, lambda n: "<p>a" + "&#769;&#807;" * n, 10_000),
    "marks with an index": (normalize_with_index, lambda n: "a" + MARKS * n, 500),
    "syllables with an index": (normalize_with_index, lambda n: "\u1112\u1161\u11ab" * n, 500),
    "signs that stay apart, with an index": (normalize_with_index, lambda n: "\u0f73" * n, 500),
    "spaces inside what is trimmed": (js_trim, lambda n: "a" + " \u3000" * n + "a", 20_000),
    "spaces and nothing else": (js_trim, lambda n: " \u3000" * n, 20_000),
    "broken characters": (normalize, lambda n: "\ud800a" * n, 20_000),
}


@pytest.mark.parametrize("name", WORK)
def test_the_cost_grows_with_the_length_alone(name: str) -> None:
    work, make, size = WORK[name]
    assert_linear(work, make, size)
