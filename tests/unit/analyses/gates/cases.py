"""A post with one wrong sentence, two sources that show it, and what can be changed about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from analyses.gates import RULES, Case, CitedPage, judge
from analyses.snippets import page_text
from contracts.v1.gates import GateName, GatePolicy
from contracts.v1.parts import ClaimPayload, Source

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SENTENCE = "The Eiffel Tower is 200 metres tall."
SUMMARY = "The Eiffel Tower is 330 metres tall."
FIRST = "Including its antennas, the tower reaches a height of 330 metres."
SECOND = "At 330 m, the Eiffel Tower is the tallest structure in Paris."
BEGINNINGS = (
    "The tower's operator publishes its dimensions every time that an antenna is changed; the newest stands here.",
    "A city map of Paris names its landmarks by height, from tower over skyscraper to the hill of the basilica.",
)


def page(
    number: int = 0, snippet: str = FIRST, url: str = "", before: str = "", behind: str = "", **more: Any
) -> CitedPage:
    """A page that holds its quotation between other words."""
    text = f"{BEGINNINGS[number % 2]} {before}{snippet}{behind} More follows."
    folded = page_text(text).readings[0]
    given: dict[str, Any] = {"text": folded, "words": folded, "fetched_at": NOW - timedelta(minutes=1)} | more
    return CitedPage(
        number, url or ("https://tower.example/facts", "https://city.example/map")[number % 2], snippet, **given
    )


def case(
    sentence: str = SENTENCE,
    summary: str = SUMMARY,
    pages: Sequence[CitedPage] | None = None,
    *,
    before: str = "We went to Paris in spring. ",
    behind: str = " It was crowded.",
    policy: GatePolicy | None = None,
    **more: Any,
) -> Case:
    """A case that every gate passes, unless it is told otherwise."""
    sources = (page(0), page(1, SECOND)) if pages is None else tuple(pages)
    claim = ClaimPayload(
        text=sentence,
        context=f"{before[-20:]}{sentence}",
        summary=summary,
        reasoning="Its operator says so.",
        sources=tuple(Source(url=each.url, title="", snippet=each.snippet) for each in sources),
    )
    given: dict[str, Any] = {
        "post_url": "https://www.lesswrong.com/posts/a",
        "author_name": "Ann",
        "published_at": NOW - timedelta(days=3),
    } | more
    return Case(
        claim,
        given["post_url"],
        f"{before}{sentence}{behind}",
        given["author_name"],
        given["published_at"],
        sources,
        policy or GatePolicy(rules=RULES),
    )


def refused(given: Case) -> tuple[GateName, str | None] | None:
    """The gate that refuses a case, with its code; None: all pass."""
    refusal = judge(given).refusal
    return None if refusal is None else (refusal.gate, refusal.code)


def with_snippets(first: str, second: str, **more: Any) -> tuple[CitedPage, CitedPage]:
    """Two pages that say this."""
    return page(0, first, **more), page(1, second, **more)


def without(given: Case, *gates: GateName) -> Case:
    """The case with some gates off."""
    return replace(given, policy=given.policy.model_copy(update={"off": gates}))
