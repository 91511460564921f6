"""What machines read of a page: each finding as schema.org's ClaimReview and as a Web Annotation on the post.

A finding of the demonstration is named so in every text that may be shown elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson
from markupsafe import Markup

from services.gateway.site.links import text_directive, web
from services.gateway.site.naming import capitalised, machine_time

NAME: Final = "OpenErrata"
DEMO_NAME: Final = "OpenErrata demonstration (a fixed catalogue; no model was asked)"
ROOM: Final = 6_000
"""The findings told on one page have at most so many characters, but always one of them is told."""
_AROUND: Final = 60

_IN_HTML: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def embedded(document: Any) -> Markup:
    """JSON that can stand inside a script element: none of its characters can end it."""
    return Markup(orjson.dumps(document).decode().translate(_IN_HTML))  # noqa: S704 (no sign of markup is left)


def claim_reviews(
    base: str,
    findings: Sequence[Mapping[str, Any]],
    pages: Sequence[str],
    *,
    post: str,
    author: str | None,
    at: datetime,
    provenance: str,
    demo: bool,
) -> list[dict[str, Any]]:
    """One ClaimReview for each finding while there is room; `pages` are where they stand.

    Source: schema.org/ClaimReview.
    """
    appearance = {"@type": "CreativeWork", "description": capitalised(provenance)} | (
        {"url": post} if web(post) else {}
    )
    said_by = {"author": {"@type": "Person", "name": author}} if author else {}
    return [
        {
            "@context": "https://schema.org",
            "@type": "ClaimReview",
            "url": page,
            "datePublished": machine_time(at),
            "claimReviewed": finding["text"],
            "itemReviewed": {"@type": "Claim", "appearance": appearance, **said_by},
            "author": {"@type": "Organization", "name": DEMO_NAME if demo else NAME, "url": base},
            "reviewBody": f"Demonstration: {finding['summary']}" if demo else finding["summary"],
            "reviewRating": {
                "@type": "Rating",
                "ratingValue": 1,
                "worstRating": 1,
                "bestRating": 5,
                "alternateName": "Incorrect (demonstration)" if demo else "Incorrect",
            },
        }
        for finding, page in _while_there_is_room(findings, pages)
    ]


def web_annotations(
    findings: Sequence[Mapping[str, Any]],
    pages: Sequence[str],
    *,
    post: str,
    at: datetime,
    provenance: str,
    demo: bool,
) -> list[dict[str, Any]]:
    """One annotation for each finding, anchored by the quote and the words around it. Source: W3C, Web Annotation."""
    return [
        {
            "@context": "http://www.w3.org/ns/anno.jsonld",
            "id": page,
            "type": "Annotation",
            "motivation": "assessing",
            "created": machine_time(at),
            "creator": {"type": "Software", "name": DEMO_NAME if demo else NAME},
            "body": [
                {
                    "type": "TextualBody",
                    "purpose": "commenting",
                    "format": "text/plain",
                    "value": f"Demonstration: {finding['summary']}" if demo else finding["summary"],
                },
                {
                    "type": "TextualBody",
                    "purpose": "describing",
                    "format": "text/plain",
                    "value": capitalised(provenance),
                },
            ],
            "target": {
                "source": post.partition("#")[0],
                "selector": [
                    {"type": "TextQuoteSelector", **_quoted(finding["text"], finding["context"])},
                    {
                        "type": "FragmentSelector",
                        "conformsTo": "https://wicg.github.io/scroll-to-text-fragment/",
                        "value": text_directive(finding["text"]),
                    },
                ],
            },
        }
        for finding, page in _while_there_is_room(findings, pages)
    ]


def _while_there_is_room(
    findings: Sequence[Mapping[str, Any]], pages: Sequence[str]
) -> Iterator[tuple[Mapping[str, Any], str]]:
    left = ROOM
    for n, (finding, page) in enumerate(zip(findings, pages, strict=True)):
        left -= 2 * len(finding["text"]) + len(finding["summary"])
        if left < 0 and n:
            return
        yield finding, page


def _quoted(quote: str, context: str) -> dict[str, str]:
    before, found, after = context.partition(quote)
    if not found:
        return {"exact": quote}
    return {"exact": quote, "prefix": before[-_AROUND:], "suffix": after[:_AROUND]}
