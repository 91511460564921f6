"""Addresses lead where they say: to the sentence, and never to a script."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway.public.site import links


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "",
        None,
        "//x.example",
        "https://x.example/\nb",
        "https:///x y",
        'https://x.example/"onclick=',
        " https://x.example",
    ],
)
def test_what_is_no_web_address_is_no_link(address: str | None) -> None:
    assert links.safe_link(address) is None


def test_a_web_address_is_a_link() -> None:
    assert links.safe_link("https://x.example/a?b=c#d") == "https://x.example/a?b=c#d"
    assert links.safe_link("HTTP://x.example") == "HTTP://x.example"


def test_a_short_quote_is_named_whole() -> None:
    assert links.link_to_sentence("https://x.example/a#old", "It is 100 % so, & more.") == (
        "https://x.example/a#:~:text=It%20is%20100%20%25%20so%2C%20%26%20more."
    )


def test_of_a_long_quote_or_one_with_changed_signs_both_ends_are_named() -> None:
    quote = 'The well of the town is - they say - "very" deep and old indeed.'
    assert links.text_directive(quote) == ":~:text=The%20well%20of%20the%20town,deep%20and%20old%20indeed."
    many = " ".join(f"word{n}" for n in range(60))
    assert links.text_directive(many) == (
        ":~:text=word0%20word1%20word2%20word3%20word4,word55%20word56%20word57%20word58%20word59"
    )


@given(st.text(min_size=1, max_size=300))
def test_a_directive_holds_only_words_of_the_quote(quote: str) -> None:
    given_ = quote.encode(errors="replace").decode()
    directive = links.text_directive(given_)
    value = directive.removeprefix(":~:text=")
    assert not set(value) & set("-&# ")
    squeezed = " ".join(given_.split())
    for part in value.split(","):
        assert " ".join(unquote(part).split()) in squeezed


def test_the_page_of_a_post() -> None:
    assert links.post_path("WIKIPEDIA", "en:736") == "/posts/wikipedia/en:736"
    assert links.post_path("X", "a/b?c#d e") == "/posts/x/a%2Fb%3Fc%23d%20e"


def test_an_address_as_people_read_it() -> None:
    assert links.shorten("https://www.x.example/") == "x.example"
    assert len(links.shorten("https://x.example/" + "a" * 100)) == 72
