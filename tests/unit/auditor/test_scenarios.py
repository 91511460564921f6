"""Whatever a model answers and whatever its pages hold, the fact and the words of an analysis have their shapes."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from analyses.claims.analysis import ReadPage, analyse_claim, list_cited
from analyses.claims.answers import AnalyseAnswer, read_answer
from analyses.claims.families import SourcePage
from analyses.snippets import page_text
from contracts.jobs.result import AnalysisBody
from contracts.v1.assertion import DroppedEvidence
from contracts.v1.ids import publisher_id
from services.auditor.domain import QuotedPage
from services.auditor.scenarios import (
    count_dropped,
    describe_scenarios,
    list_citations,
    number_scenarios,
    write_body,
)
from tests.support.analysing import pad
from tests.support.audit_cases import HOSTILE
from tests.support.factories import NOW

WORDS = pad("alpha")
TITLES = st.none() | HOSTILE.map(lambda text: text.encode("utf-8", "replace").decode())
URLS = [f"https://{name}.test/" for name in "abcd"]
SHARES = st.none() | st.floats(allow_nan=True, allow_infinity=True) | st.integers(-2, 2)
ITEMS = st.fixed_dictionaries(
    {
        "supports": st.booleans(),
        "url": st.sampled_from(URLS),
        "quotes": st.lists(st.sampled_from([WORDS, "alpha1 alpha2 alpha3", "alpha1 … alpha9 alpha10", "no"]) | HOSTILE),
        "title": st.none() | HOSTILE,
        "summary": st.none() | HOSTILE,
        "relevance": SHARES,
        "published_at": st.none() | HOSTILE | st.just("2026-01-01"),
    }
)
SCENARIOS = st.fixed_dictionaries(
    {
        "description": HOSTILE.map(lambda text: f"d{text}"),
        "probability": SHARES,
        "confidence": SHARES,
        "label": st.sampled_from(["TRUE", "Likely", "unclear"]),
        "evidence": st.lists(ITEMS, max_size=8),
    }
)


def read(url: str, title: str | None, text: str, published: str | None) -> QuotedPage:
    page = ReadPage(page_text(title or "", text), SourcePage(url, None, text))
    return QuotedPage(page, url.removeprefix("https://").rstrip("/"), title, published)


PAGES = st.fixed_dictionaries(
    {},
    optional={
        url: st.none() | st.builds(read, st.just(url), TITLES, st.sampled_from([WORDS, ""]), HOSTILE) for url in URLS
    },
)


@given(st.lists(SCENARIOS, min_size=1, max_size=7), st.data(), st.integers(1, 5), st.integers(3, 10), PAGES)
def test_every_analysis_can_be_stored(
    scenarios: list[dict[str, Any]],
    data: st.DataObject,
    most: int,
    evidence: int,
    pages: dict[str, QuotedPage | None],
) -> None:
    said = {"scenarios": scenarios, "recommended": data.draw(st.integers(1, len(scenarios)))}
    answer = read_answer(json.dumps(said, ensure_ascii=False), AnalyseAnswer)
    given_pages = {url: page.read if page else None for url, page in pages.items()}
    found = analyse_claim(answer, given_pages, max_scenarios=most, max_evidence=evidence)
    body = AnalysisBody.model_validate_json(
        write_body(found, pages, {publisher_id("b.test"): 72.5}, NOW).model_dump_json()
    )
    described = describe_scenarios(found)
    assert [each.ordinal for each in described] == list(range(1, len(body.scenarios) + 1))
    assert len(described) <= most
    assert number_scenarios(found)[found.recommended] <= most
    items = [item for each in body.scenarios for item in (*each.evidence.supporting, *each.evidence.opposing)]
    assert len(list_citations(found, pages, {})) == len(items), "each has its page"
    assert {item.source_url for item in items} <= set(list_cited(answer, most))
    assert all(len(item.quotes) <= 3 and all(len(quote.split()) <= 25 for quote in item.quotes) for item in items)
    assert {(item.source_url == "https://b.test/", item.credibility_score) for item in items} <= {
        (True, 0.725),
        (False, 0.3),
    }
    for each in body.scenarios:
        for side in (each.evidence.supporting, each.evidence.opposing):
            weights = [Decimal(str(one.relevance)) * Decimal(str(one.credibility_score)) for one in side]
            assert weights == sorted(weights, reverse=True)
    dropped = count_dropped(found)
    assert isinstance(dropped, DroppedEvidence)
    assert sum(dropped.model_dump().values()) == sum(found.dropped.values())
