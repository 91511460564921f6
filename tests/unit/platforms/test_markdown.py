"""Articles as the model reads them: every word of the text, in order, with the structure around it."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contracts.v1.parts import ImageOccurrence
from platforms import get_platform
from platforms.markdown import MAX_TAGS, RENDERER_VERSION, Rendered, render
from platforms.markup_cost import UnparseableHtml
from platforms.text import html_to_text, normalize
from tests.support.page_images import extract_images

URL = "https://www.lesswrong.com/posts/tea42/on-tea"
SITE = get_platform("LESSWRONG")


def rendered(html: str, *pictures: str, site: str = "LESSWRONG") -> Rendered:
    """The Markdown of a page that shows pictures under these addresses."""
    occurrences = [
        ImageOccurrence(original_index=index, normalized_text_offset=0, source_url=url)
        for index, url in enumerate(pictures)
    ]
    return render(html, base_url=URL, occurrences=occurrences, site=get_platform(site))


@pytest.mark.requirement("2.4.4-01")
@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<h1>One</h1><p>a</p><h6>Six</h6>", "# One\n\na\n\n###### Six"),
        ("<h2>a<br>b</h2><h3></h3>c", "## a b\n\nc"),
        ("<p>one<p>two<br>three<br><br>four", "one\n\ntwo\nthree\n\nfour"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e", "- a\n- b\n  - c\n- d\n\ne"),
        ("<ul><li><p>a</p><p>b</p><li>c</ul>", "- a\n\n  b\n- c"),
        ("<ol start=9><li>a<li>b<p>c</ol>", "9. a\n10. b\n\n    c"),
        ("<ul><li>a</ul><ol><li>b</ol>", "- a\n\n1. b"),
        ("<blockquote>a<blockquote>b</blockquote><ul><li>c</ul></blockquote>d", "> a\n>\n> > b\n>\n> - c\n\nd"),
        ("<p>a <b>b</b> <i>c</i> <del>d</del> <code>e</code> * _f_", "a b c d e * _f_"),
        ("<p>\u201ca\u201d\u2014b\u2026 c\u200bd e<b>&#x301;</b>", '"a"-b... cd \u00e9'),
        ("<pre><code class='language-py'>x = 1\n  ```\ny</code></pre>z", "````py\nx = 1\n  ```\ny\n````\n\nz"),
        ("<pre>\n\n a<br> b</pre>", "```\n a\n b\n```"),
        ("a<hr>b", "a\n\n---\n\nb"),
        (
            "10<sup>6</sup> 10<sup>\u22123</sup> m<sup>2</sup> 5<sup>th</sup> 7<sup><a href='#1'>1</a></sup>",
            "10^6 10^\u22123 m2 5th 71",
        ),
        ("<dl><dt>a<dd>b</dl>", "a\n\nb"),
        ("<p></p><div> <div> </div></div>", ""),
        ("a<script>x</script><style>y</style><noscript>z</noscript><!-- c --><template>t</template>", "a"),
    ],
)
def test_structure(html: str, markdown: str) -> None:
    """2.4.4-01: One section of content, as Markdown where there is HTML."""
    assert rendered(html).text == markdown


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<tr><th>a<th>b<tr><td>1<td>2 <p>3</p><p>4", "| a | b |\n| --- | --- |\n| 1 | 2 3 4 |"),
        ("<caption>c</caption><tr><td>1<td>2</table>d", "c\n\n| 1 | 2 |\n\nd"),
        ("<tr><td>1<td><ul><li>2<li>3</ul><tr><td>4<td>5", "1\n\n- 2\n- 3\n\n| 4 | 5 |"),
        ("<tr><td><p>one</p><p>two</p>", "one\n\ntwo"),
        ("<tr><td>a<table><tr><td>b<td>c</table>d<td>e", "a\n\n| b | c |\n\nd\n\ne"),
        ("<tr><td><td><td>a<tr><td><td>", "| | | a |"),
        ("<tr><td>|<td>", "| | | |"),
    ],
)
def test_tables_are_read_line_by_line(html: str, markdown: str) -> None:
    assert rendered(f"<table>{html}").text == markdown


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("see <a href='https://e.org/a'>the <b>book</b></a>.", "see [the book](https://e.org/a)."),
        ("a<a href='/b c?d=(e)'> f </a>g", "a [f](https://www.lesswrong.com/b%20c?d=%28e%29) g"),
        ("un<a href='//e.org'>believ</a>able", "un[believ](https://e.org/)able"),
        ("<a href='#n1'>1</a> <a href='javascript:x'>2</a> <a href='mailto:a@b.c'>3</a> <a>4</a>", "1 2 3 4"),
        ("<a href='http://[bad'>a</a>", "a"),
        ("<a href='https://e.org'><p>a</p><p>b</p></a>", "a\n\nb"),
        ("<a href='https://e.org'></a>x<a href='https://e.org'> </a>y", "x y"),
        ("<pre><a href='https://e.org'>a</a></pre>", "```\na\n```"),
    ],
)
def test_links(html: str, markdown: str) -> None:
    assert rendered(html).text == markdown


@pytest.mark.requirement("2.4.4-01")
def test_wikipedia_is_pruned_as_its_text_is() -> None:
    """2.4.4-01: One section of content, as Markdown where there is HTML."""
    html = (
        "<div class='mw-parser-output'><p>Tea<sup class='reference'><a href='#c1'>[1]</a></sup> is hot."
        "<img src='/a.png'></p><div class='mw-heading'><h2>Use</h2><span class='mw-editsection'>edit</span></div>"
        "<p>Drink it.</p><h2>References</h2><p>A book.<img src='/b.png'></p></div><p>after</p>"
    )
    article = rendered(html, "https://www.lesswrong.com/a.png", "https://www.lesswrong.com/b.png", site="WIKIPEDIA")
    assert article.text == "Tea is hot.[IMAGE:0]\n\n## Use\n\nDrink it."
    assert normalize(article.text.replace("[IMAGE:0]", "").replace("#", "")) == get_platform("WIKIPEDIA").extract_text(
        html
    )


def test_pictures_are_told_by_address_and_order() -> None:
    html = (
        "<p>a<img src='/2.png'><img src='data:x'><img src=''><img><img src='/unknown.png'>b</p>"
        "<a href='/big'><img src=' 1.png '></a><p><img src='/2.png'><img src='/2.png'>"
    )
    first, second = "https://www.lesswrong.com/posts/tea42/1.png", "https://www.lesswrong.com/2.png"
    assert rendered(html, first, second, second).text == "a[IMAGE:1]b\n\n[IMAGE:0]\n\n[IMAGE:2]"
    assert rendered(html).text == "ab", "a picture that is not the version's leaves no trace"


def test_what_an_article_says_is_never_a_picture() -> None:
    article = rendered("<p>[IMAGE:0] <img src='/1.png'> [image-2:7] [IMAGE-4:1]", "https://www.lesswrong.com/1.png")
    assert article == ("[IMAGE:0] [IMAGE-3:0] [image-2:7] [IMAGE-4:1]", "IMAGE-3", RENDERER_VERSION, False)
    joined = rendered("[IM\u200bAGE<b>:0</b>] <img src='/1.png'>", "https://www.lesswrong.com/1.png")
    assert joined.text == "[IMAGE:0] [IMAGE-2:0]", "the words count as they are written, not as they came"
    linked = rendered("<a href='https://e.org'>IMAGE:0</a><img src='/1.png'>", "https://www.lesswrong.com/1.png")
    assert linked.text == "[IMAGE:0](https://e.org/)[IMAGE-2:0]"


def test_depth_of_marks_is_bounded() -> None:
    article = rendered("<blockquote>" * 200 + "<ul><li>a<p>b</p>" + "</blockquote>" * 200 + "<p>c")
    assert article.text.endswith("> b\n\nc")
    assert max(map(len, article.text.split("\n"))) < 20


def test_too_many_tags_are_refused_and_quickly() -> None:
    started = time.thread_time()
    with pytest.raises(UnparseableHtml):
        rendered("<br>" * (MAX_TAGS + 1))
    assert time.thread_time() - started < 1
    assert rendered("<br>" * 1_000 + "a" + "<br>" * 1_000).text == "a"


WORDS = [
    "tea",
    "Ä",
    "\u201cq\u201d",
    "1.",
    "-",
    "#",
    "|",
    "[x]",
    "](",
    "[IMAGE:0]",
    "`",
    "&lt;",
    "\u2014",
    "\u200b",
    "e",
    "&#x301;",
]
TAGS = [
    "p",
    "b",
    "h2",
    "li",
    "ul",
    "ol",
    "table",
    "tr",
    "td",
    "th",
    "div",
    "pre",
    "code",
    "blockquote",
    "section",
    "dd",
]
TAGS += ["svg", "figcaption", "a href=/x", "a href='#y'", "math", "template", "select"]
pieces = st.one_of(
    st.sampled_from([*WORDS, " ", "\n", "<br>", "<hr>", "<img src=/1.png>", "<img src='data:x'>"]),
    st.sampled_from(TAGS).map(lambda tag: f"<{tag}>"),
    st.sampled_from(TAGS).map(lambda tag: f"</{tag.split(' ')[0]}>"),
)
pages = st.lists(pieces, max_size=40).map("".join)
PICTURES = ["https://www.lesswrong.com/1.png"] * 3


def characters(text: str) -> str:
    """Without spaces, and with marks apart from the letters they may have met."""
    return unicodedata.normalize("NFD", re.sub(r"\s", "", normalize(text)))


def occurs_in_order(parts: str | list[str], whole: str) -> bool:
    """Whether each part stands in the whole behind the one before it."""
    place = 0
    for part in parts:
        found = whole.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True


@given(pages)
@example("<table><tr><td>|<td>a</table>")
@example("<svg><td>a<td>b<tr><td>c<td>d<ul></svg>e")
@example("<a href=/x><svg><a href=/x>a</a>b</svg></a>c")
@example("e<img src=/1.png>&#x301;")
@example("e<ul>&#x301;")
def test_no_character_of_the_text_is_lost(html: str) -> None:
    article = rendered(html, *PICTURES)
    bare = re.sub(rf"\[{article.image_marker}:[0-9]+\]", "", article.text)
    assert occurs_in_order(characters(html_to_text(html)), characters(bare))


@given(pages.map(lambda html: re.sub("<(?:a |img|pre|hr|blockquote)[^>]*>", "", html)))
def test_every_word_of_the_text_is_there_in_order(html: str) -> None:
    # Those may put a mark within what the text has as one word, since no space keeps their lines apart there.
    words = [characters(word) for word in re.findall(r"\w+", html_to_text(html))]
    assert occurs_in_order(words, characters(rendered(html).text))


@given(pages)
def test_placeholders_are_the_pictures_and_nothing_else(html: str) -> None:
    occurrences = extract_images(html, URL).occurrences
    article = render(html, base_url=URL, occurrences=occurrences, site=SITE)
    placed = re.findall(rf"\[{article.image_marker}:([0-9]+)\]", article.text)
    assert [int(index) for index in placed] == [occurrence.original_index for occurrence in occurrences]
    assert article.text.count(f"[{article.image_marker}:") == len(occurrences)
    article.text.encode()
    assert "\0" not in article.text


@given(st.text(max_size=200))
def test_any_string_is_rendered_the_same_way_twice(html: str) -> None:
    assert rendered(html) == rendered(html)
