"""HTML that would cost far more than its size is refused, and quickly; what is merely large is read."""

from __future__ import annotations

import multiprocessing
import resource
import time
from multiprocessing.connection import Connection

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from platforms.markup_cost import MAX_ATTRIBUTES, MAX_NAMES, UnparseableHtml, plain_names, refuse_costly
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
    started = time.thread_time()
    with pytest.raises(UnparseableHtml):
        html_to_text(html)
    return time.thread_time() - started


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
    started = time.thread_time()
    try:
        refuse_costly(html)
    except UnparseableHtml as refusal:
        assert refusal.reason  # noqa: PT017 (a refusal is one of two good ends)
    assert time.thread_time() - started < 10


NAMES = 200_000
NEW_NAMES = {
    "attributes": "<p " + " ".join(f"{n:x}" for n in range(NAMES)) + ">",
    "attributes after slashes": "<p/" + "/".join(f"{n:x}" for n in range(NAMES)) + ">",
    "attributes after values": "<p " + "".join(f'{n:x}="1"' for n in range(NAMES)) + ">",
    "halves that make many names": "<p " + " ".join(f"{n // 500}\x0b{n % 500}" for n in range(NAMES)) + ">",
    "attributes with tags in their values": "<p " + "".join(f'{n:x}="<b>" ' for n in range(NAMES)) + ">",
    "elements": "".join(f"<x{n:x}></x{n:x}>" for n in range(MAX_NAMES + 1)),
}


@pytest.mark.parametrize("name", NEW_NAMES)
def test_names_without_end_are_refused(name: str) -> None:
    # The parser looks for each new name among all others: these took twenty seconds.
    assert refusal_time(NEW_NAMES[name]) < 10


def test_words_and_addresses_without_end_are_read() -> None:
    rows = "".join(f"<p>{n:x} <a href='/wiki/{n:x}' title='{n:x} again'>{n:x}</a>" for n in range(MAX_NAMES + 5_000))
    assert html_to_text(rows).startswith("0 0 1 1 ")


HUGE = {
    "refused: nested": "<div>" * 50_000,
    "refused: many tags": "<p>x" * 5_000_000,
    "refused: many attributes": "<p " + "b=c " * 5_000_000 + ">",
    "refused: long text": "&amp;" * 4_000_000,
    "refused: mixed marks": "a" + "\u0301\u0327" * 2_500_000,
    "refused: marks that are made of marks": "a" + "\u0301\u0327\u0338\u0345\u0f73" * 900_000,
    "as many tags as are read": "<p>x" * 213_000,
    "as many attributes as are read": "<p " + "b " * 2_500_000 + ">",
    "as many entities as are read": "&amp;" * 1_000_000,
    "entities that would be billions in XML": (
        "<!DOCTYPE x [<!ENTITY a0 'lol'>"
        + "".join(f"<!ENTITY a{n + 1} '{f'&a{n};' * 10}'>" for n in range(9))
        + "]>"
        + "&a9;" * 100_000
    ),
    "as many names as are read": "".join(f"<p n{n:x}>" for n in range(MAX_NAMES - 2)),
    "as many names on one element as are read": "<p " + " ".join(f"{n:x}" for n in range(MAX_ATTRIBUTES - 2)) + ">",
    "as much text as is read": "e\u0301 " * 1_280_000,
    "as many mixed marks as are read": "a" + "\u0301\u0327" * 1_285_000,
    "as many marks that are made of marks as are read": "a" + "\u0301\u0327\u0338\u0345\u0f73" * 467_000,
}
REASONS = {
    "refused: nested": "elements inside one another",
    "refused: many tags": "20000000 bytes with 5000000 tags",
    "refused: many attributes": "20000004 bytes with 1 tags",
    "refused: long text": "20000000 bytes with 0 tags",
    "refused: mixed marks": "10000001 bytes with 0 tags",
    "refused: marks that are made of marks": "9900001 bytes with 0 tags",
}
TRIES = 3


@pytest.mark.parametrize("name", HUGE)
def test_no_page_costs_more_than_a_second_and_200_megabytes(name: str) -> None:
    here, there = multiprocessing.get_context("forkserver").Pipe()
    child = multiprocessing.get_context("forkserver").Process(target=measure, args=(there, HUGE[name]))
    child.start()
    there.close()
    reason, cpu_s, grown_mb = here.recv()
    child.join()
    assert (REASONS[name] in reason) if name in REASONS else reason == ""
    assert grown_mb < 200
    # What is read takes up to 0.8 seconds on a machine at rest; other tests run beside this one and share its caches.
    assert cpu_s < (1 if name in REASONS else 2)


def measure(pipe: Connection, html: str) -> None:
    """Send why the page is refused, and what it costs: seconds of CPU at best, megabytes at the peak."""
    memory, cpu_s, reason = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, float("inf"), ""
    for _ in range(TRIES):
        began = time.process_time()
        try:
            html_to_text(html)
        except UnparseableHtml as refusal:
            reason = refusal.reason
        cpu_s = min(cpu_s, time.process_time() - began)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    pipe.send((reason, cpu_s, grown / 1024))


HARD_TO_SEE = st.lists(
    st.sampled_from(
        [
            *("<a", "<b", "</a", "<!--", "-->", "<!", "<?", "<svg>", "<title>", "</title>", "<script>", "</script>"),
            *(
                "<![CDATA[",
                "]]>",
                "<plaintext>",
                "<",
                ">",
                "/",
                "/>",
                " ",
                " ",
                "\n",
                "\x0b",
                "=",
                "==",
                '"',
                "'",
                '="',
            ),
            *(' n="', '" ', "n", "m", "o", "k=", " p ", 'x="1"', " y='", "'", 'q=r"', "\u00e9", "\0", "&quot;"),
        ]
    ),
    max_size=30,
).map("".join)


@settings(max_examples=500)
@example(html='<title><a n="></title><p m><b o="k="y">')
@example(html='<p="x m">')
@example(html='<a n==" m "><b n" m o">')
@example(html='<a k="1"n=\'"\' m o="\'>">')
@given(html=HARD_TO_SEE)
def test_names_that_are_plain_to_see_are_all_there_are(html: str) -> None:
    seen = plain_names(html)
    if seen is not None:
        tree = LexborHTMLParser(html.encode(), is_fragment=True, fragment_tag="div", scripting=True)
        written = {name for node in tree.root.traverse() for name in node.attributes} if tree.root else set()
        assert written <= {name.decode().lower().replace("\0", "\ufffd") for name in seen}


def test_the_names_of_ordinary_pages_are_plain_to_see() -> None:
    page = '<p class="a b" hidden><a href="/x" >x</a> a="b" < <img alt="Don\'t" src="y"/><br /><!-- n="1 --></p>'
    assert plain_names(page) is not None
