"""Articles built to be slow: whatever reads or writes them takes a time that grows with their length alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from platforms import get_platform
from platforms.markdown import render
from platforms.markup_cost import UnparseableHtml
from platforms.wikipedia_text import MAX_HEADINGS, MAX_NESTED, article_text
from tests.support.growth import assert_linear, cpu_s

WIKIPEDIA = get_platform("WIKIPEDIA")
BASE = "https://en.wikipedia.org/wiki/A"


def markdown(html: str) -> str:
    return render(html, base_url=BASE, occurrences=(), site=WIKIPEDIA).text


HOSTILE: dict[str, Callable[[int], str]] = {
    "one wrapper of many sections": lambda n: (
        "<div class=mw-heading>" + "<i></i>" * n + "<h3>a</h3>" + "<h2>Notes</h2>" * n
    ),
    "a wrapper whose heading is long": lambda n: (
        f"<div class=mw-heading><h3>{'x' * 100 * n}</h3>" + "<h2>Notes</h2>" * n
    ),
    "wrappers of nothing": lambda n: "<h2>Notes</h2>" + "<div class=mw-heading></div>" * n,
    "long wrappers of nothing": lambda n: (
        "<h2>Notes</h2>" * (n // 100) + ("<div class=mw-heading>" + "<i></i>" * 100 + "</div>") * (n // 100)
    ),
    "sections, each to be removed": lambda n: "<h2>Notes</h2><p>x" * n,
    "headings in headings": lambda n: "<h2><div>" * min(n, 450) + "x " * 10 * n,
    "headings in headings, as many as are read": lambda n: "<h2><div>" * MAX_NESTED + "\u00e9 " * 10 * n,
    "headlines in headings": lambda n: "<h2><div>" * MAX_NESTED + "<span class=mw-headline>x</span>" * n,
    "a title of spaces": lambda n: "<h2>" + "\u200b \u00a0" * 10 * n + "Notes</h2>x",
    "classes of every kind": lambda n: "".join(f"<b class='a{each} b{each}'></b>" for each in range(n)),
    "marks": lambda n: "<h2>a" + "\u0301\u0327" * n + "</h2>",
    "rows without a table": lambda n: (
        "<svg>" + "<g>" * min(n, 700) + "<g><tr><td>a</td><td>b</td></tr></g>" * min(n, 8_000)
    ),
    "pictures of one figure": lambda n: "<figure>" + "<i>" * 200 + "<img src=data:,x>" * n,
    "links that nest": lambda n: "<a href=/x>x<table><td>" * min(n, 300) + "<a href=/y>y</a>" * n,
    "spaces in an address": lambda n: f"<a href='a{' ' * 100 * n}b'>x</a>",
    "backquotes": lambda n: "<pre>" + "`" * 100 * n,
    "a picture's marker": lambda n: "[IMAGE-2: " * n + "[IMAGE:",
}
READERS: dict[str, Callable[[str], object]] = {
    "article": article_text,
    "Markdown": markdown,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", HOSTILE)
def test_the_cost_grows_with_the_length_alone(name: str, reader: str) -> None:
    def read(html: str) -> None:
        with suppress(UnparseableHtml):
            READERS[reader](html)

    assert_linear(read, HOSTILE[name], 500)


@pytest.mark.parametrize("name", HOSTILE)
def test_half_a_megabyte_takes_no_second(name: str) -> None:
    html = HOSTILE[name](12_000)[:500_000]

    def read() -> None:
        for reader in READERS.values():
            with suppress(UnparseableHtml):
                reader(html)

    # Both together take less than a second; the rest is for a machine that does other things beside.
    assert cpu_s(read, below_s=3) < 3


def test_what_no_article_has_is_refused() -> None:
    with pytest.raises(UnparseableHtml, match="inside one another"):
        article_text("<h2><div>" * (MAX_NESTED + 1))
    with pytest.raises(UnparseableHtml, match="headings"):
        article_text("<h2>x</h2>" * (MAX_HEADINGS + 1))
    assert article_text("<h2><div>" * MAX_NESTED + "x") == "x"
    assert article_text("<h2>x</h2>" * MAX_HEADINGS)
