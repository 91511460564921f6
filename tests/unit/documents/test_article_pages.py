"""The article of a page, to the letter, in the shapes in which articles are found: pages of our own making.

`make bench ARGS=articles` measures the same on published sets of real pages.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from kit.documents.article import ReadArticle, read_article
from kit.documents.decoding import Unreadable
from kit.documents.pdf import MAX_PAGES
from kit.documents.readable import read_document
from kit.documents.reading import Reader
from kit.documents.walls import MIN_LETTERS, count_letters
from tests.support.pdf_files import columns, pdf

PAGES: Final = Path(__file__).parents[2] / "cases" / "articles"
EXPECTED: Final[dict[str, dict[str, Any]]] = json.loads((PAGES / "expected.json").read_text())


def expected(name: str) -> ReadArticle:
    fields = dict(EXPECTED[name])
    return ReadArticle("\n".join(fields.pop("text")), **fields)


def test_every_page_has_its_expectation() -> None:
    assert sorted(EXPECTED) == sorted(page.name for page in PAGES.glob("*.html"))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_article_of_a_page(name: str) -> None:
    assert read_article((PAGES / name).read_bytes(), "text/html") == expected(name)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_quotes_are_searched_in_the_whole_page(name: str) -> None:
    """The article is chosen from the page; the text for quotes leaves nothing of it out."""
    whole = read_document((PAGES / name).read_bytes(), "text/html").text.split("\n")
    if name != "linked.html":  # whose text is in no element
        lines = (line.removeprefix("- ") for line in EXPECTED[name]["text"])
        assert [line for line in lines if line not in whole] == []
    nav = {"news.html": "Home Local Sport Weather", "blog.html": "Powered by hope and compost"}
    assert nav.get(name, whole[0]) in whole


@pytest.mark.parametrize("stated", ["utf-8", "windows-1252", "us-ascii", None])
@pytest.mark.parametrize("written", ["utf-8", "windows-1252"])
def test_a_wrong_encoding_in_the_header_spoils_no_letter(stated: str | None, written: str) -> None:
    page = (PAGES / "blog.html").read_text()
    assert "–" in page
    assert "é" in page
    sent = page.replace('<meta charset="utf-8">', "").encode(written)
    content_type = "text/html" if stated is None else f"text/html; charset={stated}"
    assert read_article(sent, content_type) == expected("blog.html")


def test_an_article_has_no_words_that_its_author_struck_out_and_no_numbers_with_a_footnote() -> None:
    page = (PAGES / "news.html").read_text()
    sentence = (
        "The fee rose by <del>7</del><ins>5</ins><sup><a href='#n3'>3</a></sup> percent to 10<sup>3</sup> dollars."
    )
    changed = page.replace("<p>The repairs", f"<p>{sentence} The repairs")
    assert changed != page
    assert "The fee rose by 5 percent to 10^3 dollars." in read_article(changed.encode(), "text/html").text


async def test_the_child_reads_the_same() -> None:
    page = (PAGES / "news.html").read_bytes()
    assert await Reader(within_s=120).read_article(page, "text/html") == expected("news.html")


LEFT: Final = (
    "The left column begins the story with",
    "a first sentence over two lines, and goes",
    "on with a second one.",
)
RIGHT: Final = (
    "The right column ends it with a third",
    "sentence, which is read after the left",
    "column, as on paper.",
)


def test_a_pdf_in_two_columns_is_read_one_column_after_the_other() -> None:
    data = columns(LEFT, RIGHT, title="Two columns", author="Ada Byron", created="D:20260131235959-05'00'")
    assert read_article(data, "application/pdf") == ReadArticle(
        "\n".join(LEFT + RIGHT), "Two columns", "Ada Byron", published="2026-01-31"
    )


@pytest.mark.parametrize(
    ("title", "author", "created"),
    [
        ("Microsoft Word - report_final.docx", "Administrator", "D:99999999"),
        ("untitled", "user", "yesterday"),
        ("report.pdf", "-", "D:"),
        ("/srv/ada/report", "root", ""),
        ("", "", "D:20261332"),
    ],
)
def test_properties_that_programs_fill_in_say_nothing(title: str, author: str, created: str) -> None:
    data = columns(LEFT, RIGHT, title=title, author=author, created=created)
    assert read_article(data, "application/pdf") == ReadArticle("\n".join(LEFT + RIGHT))


@pytest.mark.parametrize("pages", [MAX_PAGES, MAX_PAGES + 1])
def test_a_part_of_a_pdf_is_no_article_yet_may_be_quoted(pages: int) -> None:
    data = pdf(*(f"Page {number}." for number in range(pages)))
    assert read_document(data, "application/pdf").text.endswith(f"Page {MAX_PAGES - 1}.")
    if pages > MAX_PAGES:
        with pytest.raises(Unreadable, match="more than 500 pages"):
            read_article(data, "application/pdf")
    else:
        assert read_article(data, "application/pdf").text.endswith(f"Page {MAX_PAGES - 1}.")


def test_plain_text_is_an_article_without_metadata() -> None:
    text = "The ferry makes its last crossing.\n\nBoth boats are for sale."
    assert read_article(text.encode(), "text/plain") == ReadArticle(text.replace("\n\n", "\n"))


@pytest.mark.parametrize("content_type", ["application/json", "application/rss+xml", "image/png"])
def test_what_is_no_article_is_refused(content_type: str) -> None:
    with pytest.raises(Unreadable, match="holds no article"):
        read_article(b'{"title": "x"}', content_type)


@pytest.mark.parametrize("page", ["", "<p>Soon here.", "<html><body><h1>Not found</h1></body></html>"])
def test_a_page_without_an_article_has_hardly_a_letter(page: str) -> None:
    assert count_letters(read_article(page.encode(), "text/html").text) < MIN_LETTERS


def test_a_page_that_is_no_html_at_all_is_still_read() -> None:
    words = "Nobody wrote a tag here, and a browser shows it all the same. " * 4
    assert read_article(words.encode(), "text/html") == replace(ReadArticle(""), text=words.strip())


def test_what_is_for_browsers_without_scripts_is_no_article() -> None:
    words = "You need to enable JavaScript to run this app. Please turn it on in the settings of your browser. " * 4
    page = f"<html><body><noscript><p>{words}</p></noscript><div id='root'></div></body></html>"
    assert read_article(page.encode(), "text/html").text == ""


@pytest.mark.parametrize(
    ("stated", "language"),
    [
        ('"de-AT"', "de-AT"),
        ('["de"]', "de"),
        ('["de", "en"]', None),
        ('{"@type": "Language", "name": "German", "alternateName": "de"}', "de"),
        ('[{"@type": "Language", "name": "de"}]', "de"),
        ('{"@id": "de"}', "de"),
        ('{"@value": "de"}', "de"),
        ('[[["de"]]]', None),
        ("5", None),
    ],
)
@pytest.mark.parametrize(
    "item",
    [
        '{"inLanguage": %s}',
        '{"mainEntity": {"inLanguage": %s}}',
        '/*<![CDATA[*/ {"inLanguage": %s}; /*]]>*/',
        '{"@graph": {"inLanguage": %s}}',
        '[[], {"@graph": [{}, {"inLanguage": %s}]}]',
    ],
)
def test_linked_data_states_the_language_in_every_form(item: str, stated: str, language: str | None) -> None:
    page = f'<html><head><script type="application/ld+json">{item % stated}</script></head><body><p>x</p></body></html>'
    assert read_article(page.encode(), "text/html").language == language


VIDEO: Final = '{"@type": "VideoObject", "datePublished": "2019-01-01"}, '


@pytest.mark.parametrize(
    ("linked", "day"),
    [
        ('{"datePublished": "2026-06-02T23:59:00-11:00"}', "2026-06-02"),
        ('{"datePublished": ["2026-06-02", "2026-06-03"]}', "2026-06-02"),
        ('{"datePublished": {"@type": "Date", "@value": "2026-06-02"}}', "2026-06-02"),
        (f'[{VIDEO}{{"@type": "NewsArticle", "datePublished": "2026-06-02"}}]', "2026-06-02"),
        (f'[{VIDEO}{{"mainEntity": {{"@type": ["BlogPosting"], "datePublished": "2026-06-02"}}}}]', "2026-06-02"),
        ('{"@type": "ItemList", "itemListElement": [{"datePublished": "2019-01-01"}]}', None),
        ('{"datePublished": "0001-01-01T00:00:00"}', None),
        ('{"datePublished": "1970-01-01"}', None),
        ('{"datePublished": "yesterday"}', None),
    ],
)
@pytest.mark.parametrize("script", ["%s", "<!-- %s -->", "//<![CDATA[\n%s\n//]]>", "%s;"])
@pytest.mark.parametrize("kind", ["application/ld+json", "application/ld+json; charset=utf-8"])
def test_linked_data_states_the_day_of_an_article(linked: str, script: str, kind: str, day: str | None) -> None:
    head = f'<script type="{kind}">{script % linked}</script>'
    page = f"<html><head>{head}</head><body><article><p>{'A sentence of the story. ' * 20}</p></article></body></html>"
    assert read_article(page.encode(), "text/html").published == day


@pytest.mark.parametrize(
    ("body", "day"),
    [
        ('<p class="date">2 June 2026</p>', "2026-06-02"),
        ('<time datetime="2026-06-02T23:59:00-11:00">yesterday</time>', "2026-06-02"),
        ('<abbr class="published" title="2026-06-02T10:00">Tuesday</abbr>', "2026-06-02"),
        ("<p>On 2026-06-02 the log said 2026-06-02T10:00:00.</p>", None),
        ("<pre>backup-2026-06-02T10:00:00Z</pre>", None),
        ('<a href="/2026/06/02/other">Other</a><img src="/2026/06/02/x.jpg">', None),
        ("<footer>Copyright 2026</footer>", None),
        ('<p>Published <time datetime="2026-06-02">on Tuesday</time></p>', "2026-06-02"),
        (f'<p>It began on <time datetime="1999-06-02">a Tuesday</time>. {"So said a man. " * 8}</p>', None),
        (f'<p><time itemprop="datePublished" datetime="2026-06-02"></time>. {"So said a man. " * 8}</p>', "2026-06-02"),
    ],
)
def test_the_day_is_one_that_the_page_marks_as_its_own(body: str, day: str | None) -> None:
    page = f"<html><body><article><p>{'A sentence of the story. ' * 20}</p>{body}</article></body></html>"
    assert read_article(page.encode(), "text/html").published == day


CARD: Final = (
    '<a href="/cats">Cats</a> <span class="author">Other Writer</span> <time datetime="2024-01-01">2024</time>'
)


@pytest.mark.parametrize(
    "beside",
    [
        '<aside class="related">%s</aside>',
        "</article><aside>%s</aside><article>",
        '</article><section class="recommendations"><article><h3>%s</h3></article></section><article>',
        '</article><div class="teaserList"><p>%s</p></div><article>',
        '</article><div id="rightSidebar"><div>%s</div></div><article>',
        '</article><ul class="most-read"><li>%s</ul><article>',
        '<div class="comments"><div class="comment">%s</div></div>',
        "</article><footer>%s</footer><article>",
        "<blockquote>%s</blockquote>",
    ],
)
def test_the_author_and_the_day_of_another_part_of_the_page_are_not_those_of_the_article(beside: str) -> None:
    story = f"<h1>Fees rise</h1><p>{'A sentence of the story. ' * 20}</p>"
    page = f"<html><body><main><article>{story}%s</article></main></body>"
    found = read_article((page % (beside % CARD)).encode(), "text/html")
    assert (found.author, found.published) == (None, None)
    own = '<p class="byline">By <span class="author">Jane Doe</span> <time datetime="2026-06-02">2026</time></p>'
    found = read_article((page % (own + beside % CARD)).encode(), "text/html")
    assert (found.author, found.published) == ("Jane Doe", "2026-06-02")


@pytest.mark.parametrize("around", ['<div class="related">%s</div>', '<article class="comments-open">%s</article>'])
@pytest.mark.parametrize("part", ["<footer>%s</footer>", "<aside>%s</aside>"])
def test_an_article_keeps_its_author_in_whatever_it_is_wrapped(around: str, part: str) -> None:
    byline = '<span class="author">Jane Doe</span> <time datetime="2026-06-02">2026</time>'
    article = f"<article><h1>Fees rise</h1><p>{'A sentence of the story. ' * 20}</p>{part % byline}</article>"
    found = read_article(f"<html><body>{around % article}</body>".encode(), "text/html")
    assert (found.author, found.published) == ("Jane Doe", "2026-06-02")
