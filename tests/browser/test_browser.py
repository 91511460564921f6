"""For any HTML at all, our text, pictures and article text are those of a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import unicodedata2
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from platforms.markup_cost import UnparseableHtml
from platforms.text import html_to_text, normalize
from platforms.wikipedia_text import article_text
from tests.browser import pages
from tests.browser.chromium import Browser, Rule, browser
from tests.support.page_images import extract_images

pytestmark = pytest.mark.xdist_group("browser")

TOGETHER = 20
"""A round trip costs more than a page; what fails still shrinks to the one page that matters."""

large = settings(suppress_health_check=[*HealthCheck])
most = settings(large, max_examples=150)
some = settings(large, max_examples=50)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as running:
        yield running


def together(one: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(one, min_size=TOGETHER, max_size=TOGETHER)


def agree(chromium: Browser, rule: Rule, ours: Callable[[Any], Any], inputs: Sequence[Any]) -> None:
    for seen, theirs in zip(inputs, chromium.apply(rule, inputs), strict=True):
        try:
            mine = ours(seen)
        except UnparseableHtml as refusal:
            assert "<sup> among" in refusal.reason, seen  # noqa: PT017 (the one thing that is refused and not read)
            continue
        assert mine == theirs, f"{rule} of {seen!r}"


def images(page: dict[str, str]) -> dict[str, Any]:
    found = extract_images(page["html"], page["base"])
    places = [[seen.source_url, seen.normalized_text_offset, seen.caption_text] for seen in found.occurrences]
    return {"text": found.text, "occurrences": places}


@pytest.mark.requirement("3.8-02", "3.8-03")
@most
@example(htmls=["<\0", "a<\0b>c", "<svg><\0p>x", "<title><\0", "<p\0>x<!--<\0-->"])
@given(htmls=together(pages.documents()))
def test_the_text_of_any_html(chromium: Browser, htmls: list[str]) -> None:
    """3.8-02: A space where a block begins.
    3.8-03: Scripts and styles are no text.
    """
    agree(chromium, "htmlText", html_to_text, htmls)


@pytest.mark.requirement("3.8-01")
@some
@given(texts=together(st.lists(pages.text | st.characters(categories=["Cs", "Mn", "Zs", "Cf"])).map("".join)))
def test_the_normal_form_of_any_text(chromium: Browser, texts: list[str]) -> None:
    """3.8-01: Text is normalised as the table says."""
    agree(chromium, "normalized", normalize, texts)


@pytest.mark.requirement("3.8-01")
def test_the_normal_form_of_every_character(chromium: Browser) -> None:
    """Each between letters, and alone after one that a mark may join.

    3.8-01: Text is normalised as the table says.
    """
    assigned = [chr(code) for code in range(0x110000) if unicodedata2.category(chr(code)) not in ("Cn", "Co")]
    rows = [assigned[first : first + 500] for first in range(0, len(assigned), 500)]
    agree(chromium, "normalized", normalize, ["|".join(f"a{one}b {one}" for one in row) for row in rows])


@pytest.mark.requirement("3.8-01")
def test_the_order_of_every_mark(chromium: Browser) -> None:
    """Among marks above, below and through a letter; as far as both sides know them.

    3.8-01: Text is normalised as the table says.
    """
    marks = [chr(code) for code in range(0x110000) if unicodedata2.combining(chr(code))]
    known = [mark for mark, assigned in zip(marks, chromium.apply("assigned", marks), strict=True) if assigned]
    assert len(known) > 900
    agree(chromium, "normalized", normalize, [f"a\u0301{one}\u0338{one}\u0327\u0345{one}" for one in known])
    # And in runs so long that we order them ourselves.
    rows = ["".join(known[first::7]) for first in range(7)]
    agree(chromium, "normalized", normalize, [f"a{row * times}\u0f73{row[::-1]}b" for row in rows for times in (1, 9)])


@some
@given(seen=together(pages.illustrated()))
def test_the_pictures_of_any_page(chromium: Browser, seen: list[dict[str, str]]) -> None:
    agree(chromium, "pageImages", images, seen)


@pytest.mark.requirement("3.9-10")
@some
@given(htmls=together(pages.article() | pages.documents()))
def test_the_text_of_any_article(chromium: Browser, htmls: list[str]) -> None:
    """3.9-10: Wikipedia excluded sections."""
    agree(chromium, "articleText", article_text, htmls)
