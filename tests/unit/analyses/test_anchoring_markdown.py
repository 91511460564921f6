"""Quotes copied from an article's Markdown are found in its text, and only where the author's words say so."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analyses import flagging_kind
from contracts.v1.parts import ClaimPayload, ImageOccurrence, Source
from platforms import get_platform
from platforms.markdown import render

FACT_CHECK = flagging_kind("FACT_CHECK")
SITE = get_platform("LESSWRONG")
URL = "https://www.lesswrong.com/posts/tea42/on-tea"
HTML = """
<h2>Tea, 1. a history</h2>
<p>Tea was first <b>drunk</b> in <a href="https://e.org/peru_(country)">Peru [the <i>land</i>]</a> by "monks".</p>
<p>They called it <em>snake_case * 2</em>, which<img src="/1.png"> is <img src="/2.png"> a_joke.<br>It was not.</p>
<p>A cup holds 10<sup>6</sup> leaves.</p>
<ul><li>Green tea is older.</li><li>Black tea is <a href="/b">younger</a>.</li></ul>
<blockquote><p>Water boils at 80 degrees.</p><p>Always.</p></blockquote>
<table><tr><th>Sort</th><th>Year</th></tr><tr><td>Oolong</td><td>1066</td></tr></table>
<pre>cups = 2
    pots = 3</pre>
"""
TEXT = SITE.extract_text(HTML)
PICTURES = [
    ImageOccurrence(original_index=n - 1, normalized_text_offset=0, source_url=f"https://www.lesswrong.com/{n}.png")
    for n in (1, 2)
]
MARKDOWN = render(HTML, base_url=URL, occurrences=PICTURES, site=SITE).text


def claim(text: str, context: str) -> ClaimPayload:
    source = Source(url="https://example.org", title="t", snippet="s")
    return ClaimPayload(text=text, context=context, summary="s", reasoning="r", sources=(source,))


@pytest.mark.requirement("2.4.4-05")
@pytest.mark.parametrize(
    ("quote", "plain"),
    [
        ("in [Peru [the land]](https://e.org/peru_%28country%29) by", "in Peru [the land] by"),
        (
            'drunk in [Peru [the land]](https://e.org/peru_%28country%29) by "monks".',
            'drunk in Peru [the land] by "monks".',
        ),
        ("which[IMAGE:0] is [IMAGE:1] a_joke.", "which is a_joke."),
        ("a_joke.\nIt was not.", "a_joke.It was not."),
        ("- Green tea is older.\n- Black tea is [younger]", "Green tea is older. Black tea is younger"),
        ("Black tea is [younger](https://www.lesswrong.com/b).", "Black tea is younger."),
        ("> Water boils at 80 degrees.\n>\n> Always.", "Water boils at 80 degrees. Always."),
        ("| Oolong | 1066 |", "Oolong 1066"),
        ("A cup holds 10^6 leaves.", "A cup holds 106 leaves."),
        ("cups = 2\n    pots = 3", "cups = 2 pots = 3"),
        ("## Tea, 1. a history", "Tea, 1. a history"),
    ],
)
def test_what_is_copied_from_markdown_becomes_the_text(quote: str, plain: str) -> None:
    """2.4.4-05: Markdown signs are taken out of quotes before they are stored."""
    assert quote.removesuffix("]") in MARKDOWN
    anchored = FACT_CHECK.anchor(claim(quote, quote), TEXT)
    assert anchored.text == plain
    assert FACT_CHECK.check(anchored, TEXT) is None


@pytest.mark.requirement("2.4.4-05")
@pytest.mark.parametrize(
    ("quote", "plain"),
    [
        (r"They called it **snake\_case \* 2**", "They called it snake_case * 2"),
        ("Tea was first *drunk* in [Peru", "Tea was first drunk in Peru"),
        ("the land](https://e.org/peru_%28country%29) by", None),
        ('which[Picture 0, captioned "a": the same as picture 1] is', "which is"),
        ("which [Picture 0:] is", "which is"),
    ],
)
def test_marks_of_the_model_s_own(quote: str, plain: str | None) -> None:
    """2.4.4-05: Markdown signs are taken out of quotes before they are stored."""
    anchored = FACT_CHECK.anchor(claim(quote, quote), TEXT)
    assert anchored.text == (plain or quote)


@pytest.mark.requirement("2.4.2-03")
@pytest.mark.parametrize(
    "quote", ["[IMAGE:0]", "a picture of a cup", "Water boils at [80](https://e.org) grad.", "| Oolong | 1067 |"]
)
def test_what_cannot_be_found_is_left_to_the_gate(quote: str) -> None:
    """2.4.2-03: Claims rest on the text, with pictures too."""
    given = claim(quote, quote)
    assert FACT_CHECK.anchor(given, TEXT) is given
    assert FACT_CHECK.check(given, TEXT) is not None


def test_spaces_alone_decide_nothing_where_two_places_remain() -> None:
    text = "It is now here. It is nowhere."
    assert FACT_CHECK.anchor(claim("no where", "no where"), text).text == "no where"
    assert FACT_CHECK.anchor(claim("is no where", "is no where"), text).text == "is no where"
    assert FACT_CHECK.anchor(claim("It\nis now here", text), text).text == "It is now here"


@given(st.data())
def test_whole_lines_of_markdown_are_found(data: st.DataObject) -> None:
    lines = [line for line in MARKDOWN.split("\n") if re.search(r"\w", line)]
    begin = data.draw(st.integers(0, len(lines) - 1))
    quote = "\n".join(lines[begin : data.draw(st.integers(begin + 1, len(lines)))])
    anchored = FACT_CHECK.anchor(claim(quote, MARKDOWN), TEXT)
    assume("```" not in quote and "---" not in quote)
    assert anchored.text in TEXT
    assert FACT_CHECK.check(anchored, TEXT) is None
