"""A model's Markdown becomes words and links, whatever it holds."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.claims.report import write_report
from services.gateway.public.site.prose import render_markdown, render_report, strip_markdown
from tests.support.desk_server import SAMPLE

TAG = re.compile(r"<(/?)([a-z0-9]+)([^>]*)>")
KNOWN = {"a", "blockquote", "code", "em", "li", "ol", "p", "pre", "strong", "ul"}
REPORTED = KNOWN | {"h2", "h3", "h4"}


def test_markdown_is_rendered() -> None:
    html = render_markdown("It is **not** so:\n\n- [one](https://x.example/a)\n- `two`\n\n> three")
    assert "<strong>not</strong>" in html
    assert '<a href="https://x.example/a" rel="nofollow noopener ugc">one</a>' in html
    assert "<li><code>two</code></li>" in html
    assert "<blockquote>\n<p>three</p>" in html


def test_words_without_signs() -> None:
    said = "# No\n\nIt is **not** so,\nsee [one](https://x.example/a):\n\n- `two` * 3\n\n```\nx **y**\n```"
    assert strip_markdown(said) == "No It is not so, see one: two * 3 x **y**"
    assert strip_markdown("") == ""


def test_a_report_is_a_part_of_its_page() -> None:
    report = write_report(json.loads(SAMPLE.read_text())[0]["result"])
    html = render_report(report)
    assert html.startswith("<h2>Audit: Prices rose</h2>\n")
    assert "<h3>Verdict</h3>\n<p><strong>MISLEADING</strong></p>\n<ul>\n<li>Credibility score: 0.7685</li>" in html
    assert "<h4>C1: Prices rose by 3.5% in October</h4>" in html
    assert html.count("<li>") == report.count("\n- ")
    check(html, REPORTED)


def test_headings_are_paragraphs() -> None:
    assert render_markdown("# Big\n\nSmall\n---") == "<p>Big</p>\n<p>Small</p>\n"


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,AAAA)",
        "![x](https://img.example/x.png)",
        "<img src=x onerror=alert(1)>",
        "<style>*{}</style>",
        "<https://x.example/onclick=>",
        '[x](https://x.example "onmouseover=alert(1)")',
        "<a href='https://x.example' style='x'>y</a>",
        "</div></article><h1>Ours</h1>",
    ],
)
def test_nothing_but_words_and_links_comes_through(hostile: str) -> None:
    check(render_markdown(hostile))
    check(render_report(hostile), REPORTED)


@given(st.text(alphabet="<>/aihref=\"'()[]!*_`#&;:\n -scrptjv", max_size=120))
def test_whatever_it_holds(markdown: str) -> None:
    check(render_markdown(markdown))
    check(render_report(markdown), REPORTED)


def check(html: str, known: set[str] = KNOWN) -> None:
    assert "<" not in TAG.sub("", html)
    for closing, name, attributes in TAG.findall(html):
        assert name in known
        given_ = set(re.findall(r"([a-z]+)=", re.sub(r'"[^"]*"', "", attributes)))
        assert given_ <= ({"href", "rel"} if name == "a" and not closing else set())
        assert "javascript:" not in attributes


def test_very_long_reasoning_is_cut() -> None:
    assert len(render_markdown("word " * 50_000)) < 25_000
