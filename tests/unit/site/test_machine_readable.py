"""What machines read cannot break out of where it stands, and names a demonstration as one."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from services.gateway.public.site import feeds, jsonld, rendering
from tests.support.record_rows import a_card, a_claim

AT = datetime(2026, 2, 4, 10, 0, 0, 5_000, tzinfo=UTC)
FINDING = a_claim("It is so.", "It is not so.", context="Well. It is so. Or not.")
SAID = "text confirmed by Wikipedia"
PAGES = ["https://o.example/i#finding-1"]
JSON = st.recursive(st.text() | st.integers(-5, 5), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(JSON)
def test_embedded_json_is_itself_and_holds_no_markup(document: Any) -> None:
    written = str(jsonld.embed(json.loads(json.dumps(document).encode(errors="replace"))))
    assert not set(written) & set("<>&\u2028\u2029")
    assert json.loads(written) == json.loads(json.dumps(document).encode(errors="replace"))


def about(post: str = "https://x.example/p", *, demo: bool = False) -> jsonld.About:
    return jsonld.About(post=post, at=AT, provenance=SAID, demo=demo)


def reviews(*, demo: bool) -> list[dict[str, Any]]:
    return list(jsonld.claim_reviews("https://o.example", [FINDING], PAGES, about(demo=demo), author="A"))


def annotation(post: str = "https://x.example/p", *, demo: bool = False) -> dict[str, Any]:
    (note,) = jsonld.web_annotations([FINDING], PAGES, about(post, demo=demo))
    return note


def test_a_claim_review() -> None:
    (review,) = reviews(demo=False)
    assert review["url"] == "https://o.example/i#finding-1"
    assert review["claimReviewed"] == "It is so."
    assert review["datePublished"] == "2026-02-04T10:00:00.005Z"
    assert review["itemReviewed"]["appearance"]["url"] == "https://x.example/p"
    assert review["itemReviewed"]["appearance"]["description"] == "Text confirmed by Wikipedia"
    assert review["itemReviewed"]["author"]["name"] == "A"
    rating = review["reviewRating"]
    assert (rating["ratingValue"], rating["worstRating"], rating["bestRating"]) == (1, 1, 5)


def test_a_demonstration_is_named_in_every_text_that_may_travel() -> None:
    (review,) = reviews(demo=True)
    assert "demonstration" in review["author"]["name"]
    assert "demonstration" in review["reviewRating"]["alternateName"]
    assert review["reviewBody"].startswith("Demonstration")
    note = annotation(demo=True)
    assert note["body"][0]["value"].startswith("Demonstration")
    assert "demonstration" in note["creator"]["name"]
    entry = feeds.make_entry("https://o.example", replace(a_card(FINDING), provider="DEMO"))
    assert entry.title.startswith("[Demo]")
    assert entry.text.startswith("Demonstration")


def test_an_annotation_points_at_the_very_words() -> None:
    note = annotation("https://x.example/p#top")
    assert note["body"][1]["value"] == "Text confirmed by Wikipedia"
    assert note["target"]["source"] == "https://x.example/p"
    quote, fragment = note["target"]["selector"]
    assert (quote["prefix"], quote["exact"], quote["suffix"]) == ("Well. ", "It is so.", " Or not.")
    assert fragment["value"] == ":~:text=It%20is%20so."


@given(st.text())
def test_feeds_say_only_what_xml_can_hold(text: str) -> None:
    said = rendering.replace_non_xml(text)
    assert len(said) == len(text)
    assert all(sign in "\t\n\r" or (sign >= " " and sign not in "\ufffe\uffff") for sign in said)
