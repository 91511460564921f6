"""Structured data of a page: each finding as schema.org's ClaimReview and as a Web Annotation on the post.

Findings of the demonstration are labelled in every text that may be shown elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import orjson
from markupsafe import Markup
from pydantic import JsonValue

from services.gateway.public.site.links import safe_link, text_directive
from services.gateway.public.site.naming import capitalise, machine_time
from services.gateway.record.rows import Claim

NAME: Final = "OpenErrata"
DEMO_NAME: Final = "OpenErrata demonstration (a fixed catalogue; no model was asked)"
ROOM: Final = 6_000
"""The most characters of the described findings; the first finding is always described."""
_AROUND: Final = 60

_IN_HTML: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What all findings of a page share: the post's URL, the date of the check, who vouches for the text."""

    post: str
    at: datetime
    provenance: str
    demo: bool


def embed(document: object) -> Markup:
    """Encode JSON for a script element: no character can end the element."""
    return Markup(orjson.dumps(document).decode().translate(_IN_HTML))  # noqa: S704 (no sign of markup is left)


def claim_reviews(
    base: str,
    findings: Sequence[Claim],
    pages: Sequence[str],
    about: About,
    *,
    author: str | None,
) -> list[dict[str, JsonValue]]:
    """One ClaimReview per finding up to ROOM; `pages` are their URLs.

    Source: schema.org/ClaimReview.
    """
    appearance: dict[str, JsonValue] = {"@type": "CreativeWork", "description": capitalise(about.provenance)}
    if safe_link(about.post):
        appearance["url"] = about.post
    said_by: dict[str, JsonValue] = {"author": {"@type": "Person", "name": author}} if author else {}
    return [
        {
            "@context": "https://schema.org",
            "@type": "ClaimReview",
            "url": page,
            "datePublished": machine_time(about.at),
            "claimReviewed": finding.text,
            "itemReviewed": {"@type": "Claim", "appearance": appearance, **said_by},
            "author": {"@type": "Organization", "name": DEMO_NAME if about.demo else NAME, "url": base},
            "reviewBody": f"Demonstration: {finding.summary}" if about.demo else finding.summary,
            "reviewRating": {
                "@type": "Rating",
                "ratingValue": 1,
                "worstRating": 1,
                "bestRating": 5,
                "alternateName": "Incorrect (demonstration)" if about.demo else "Incorrect",
            },
        }
        for finding, page in _take_fitting(findings, pages)
    ]


def web_annotations(findings: Sequence[Claim], pages: Sequence[str], about: About) -> list[dict[str, JsonValue]]:
    """One annotation per finding, anchored by the quote and its context. Source: W3C, Web Annotation."""
    return [
        {
            "@context": "http://www.w3.org/ns/anno.jsonld",
            "id": page,
            "type": "Annotation",
            "motivation": "assessing",
            "created": machine_time(about.at),
            "creator": {"type": "Software", "name": DEMO_NAME if about.demo else NAME},
            "body": [
                {
                    "type": "TextualBody",
                    "purpose": "commenting",
                    "format": "text/plain",
                    "value": f"Demonstration: {finding.summary}" if about.demo else finding.summary,
                },
                {
                    "type": "TextualBody",
                    "purpose": "describing",
                    "format": "text/plain",
                    "value": capitalise(about.provenance),
                },
            ],
            "target": {
                "source": about.post.partition("#")[0],
                "selector": [
                    {"type": "TextQuoteSelector", **_quote_selector(finding.text, finding.context)},
                    {
                        "type": "FragmentSelector",
                        "conformsTo": "https://wicg.github.io/scroll-to-text-fragment/",
                        "value": text_directive(finding.text),
                    },
                ],
            },
        }
        for finding, page in _take_fitting(findings, pages)
    ]


def _take_fitting(findings: Sequence[Claim], pages: Sequence[str]) -> Iterator[tuple[Claim, str]]:
    left = ROOM
    for n, (finding, page) in enumerate(zip(findings, pages, strict=True)):
        left -= 2 * len(finding.text) + len(finding.summary)
        if left < 0 and n:
            return
        yield finding, page


def _quote_selector(quote: str, context: str) -> dict[str, str]:
    before, found, after = context.partition(quote)
    if not found:
        return {"exact": quote}
    return {"exact": quote, "prefix": before[-_AROUND:], "suffix": after[:_AROUND]}
