"""HTML that would cost far more than its size is refused, and quickly; what is merely large is read."""

from __future__ import annotations

import time

import pytest

from platforms.markup_cost import MAX_CHARACTERS, TooLarge, UnparseableHtml, refuse_costly
from platforms.text import html_to_text

DEEP = {
    "plain": "<div>" * 50_000,
    "inline": "<span>" * 50_000,
    "stray end tags": "<div></b>" * 50_000,
    "ends in comments": "<div><!--</div>-->" * 50_000,
    "ends in comments that end with a bang": "<div><!--</div>--!>" * 50_000,
    "ends in attributes": "<div title='</div>'>" * 50_000,
    "ends in bogus comments": "<div><?</div?>" * 50_000,
    "ends in raw text": "<div><noembed></div></noembed>" * 50_000,
    "ends that cannot reach": "<span><div></span></div>" * 50_000,
    "cells in SVG": "<svg>" + "<td>" * 50_000,
    "void names in MathML": "<math>" + "<input>" * 50_000,
    "annotations without base": "<rt>" * 50_000,
    "forms": "<form><span></form>" * 50_000,
    "tables": "<table><tr><td>" * 50_000,
    "mixed case": "<DiV>" * 50_000,
    "many under some": "<div>" * 900 + "<p>x</p>" * 300_000,
}
REOPENED = {
    "plain to see": "".join(f"<b id={n}>" for n in range(900)) + "<p>x" * 30_000,
    "quoted": "".join(f'<b id=">{n}">' for n in range(900)) + "<p>x" * 30_000,
    "quotes inside names": "".join(f'<b a"b="c>{n}">' for n in range(900)) + "<p>x" * 30_000,
}
LARGE = {
    "unclosed paragraphs": "<p>one" * 50_000,
    "unclosed items": "<ul>" + "<li>one" * 50_000,
    "line breaks": "one<br>" * 50_000,
    "formulas": "<math><mrow><mi>x</mi><mspace width='1'/><mo>+</mo></mrow></math>" * 10_000,
    "rows": "<table>" + "<tr><td><b class='n'>one</b></td></tr>" * 20_000 + "</table>",
    "lists with styles": "<style>.x{}</style>" + "<ul><li><i lang='la'>one</i></li></ul>" * 20_000,
}
SLOW_TO_SCAN = ["<b ", "<!--", "<!", "<x y=", "</", "<b =", '<b x="', "<", "<script "]


def refusal_time(html: str) -> float:
    started = time.perf_counter()
    with pytest.raises(UnparseableHtml):
        html_to_text(html)
    return time.perf_counter() - started


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting_is_refused(name: str) -> None:
    # Parsing these takes from ten seconds to hours; the bound is loose because other tests run beside this one.
    assert refusal_time(DEEP[name]) < 10


@pytest.mark.parametrize("name", REOPENED)
def test_formatting_that_multiplies_is_refused(name: str) -> None:
    assert refusal_time(REOPENED[name]) < 10


@pytest.mark.parametrize("name", LARGE)
def test_large_pages_are_read(name: str) -> None:
    assert html_to_text(LARGE[name])


@pytest.mark.parametrize("piece", SLOW_TO_SCAN)
def test_the_look_itself_is_linear(piece: str) -> None:
    html = piece * 200_000 + "<i>" * 2_000
    started = time.perf_counter()
    try:
        refuse_costly(html)
    except UnparseableHtml as refusal:
        assert refusal.reason  # noqa: PT017
    assert time.perf_counter() - started < 10


def test_the_limit_of_size() -> None:
    refuse_costly("x" * MAX_CHARACTERS)
    with pytest.raises(TooLarge):
        html_to_text("x" * (MAX_CHARACTERS + 1))
