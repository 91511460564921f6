"""The page of one investigation, put together from its rows: nothing here asks anybody anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from services.gateway.site import jsonld, links, naming, provenance
from services.gateway.site.leaves import leaves, weight
from services.gateway.site.prose import prose
from services.gateway.site.quotes import Gap, paragraph_starts, passage, spans
from services.gateway.site.reads import Row

CHECKED: Final = {
    "found": "Looked up: the quoted words are on the page, seen",
    "missing": "Looked up: the quoted words are not on the page, as it was",
    "unavailable": "Looked up: the page could not be had",
    "unchecked": "Not looked up",
}


FINDINGS: Final = 34_000
MOST_FINDINGS: Final = 15
"""The findings of one part weigh at most so much and are no more than so many, but always one. Units: bytes of HTML."""
MOST_SOURCES: Final = 10


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of the timeline."""

    at: datetime
    what: str


def page(
    base: str,
    row: Row,
    kept: Sequence[Row],
    checks: Sequence[Row],
    attempts: Sequence[Row],
    candidates: Sequence[Row],
    part: int = 1,
) -> dict[str, Any] | None:
    """What the template shows; None: there is no such part. The first part has everything but further findings."""
    demo = naming.is_demo(row["provider"])
    claims, text = row["claims"], row["content_text"]
    places = spans(text, [(claim["text"], claim["context"]) for claim in claims])
    pieces = passage(text, places, paragraph_starts(text, row["markdown"]))
    address = f"{base}/investigations/{row['id']}"
    listed = provenance.is_listed(row)
    vouched_by = provenance.told(row)
    told = {"post": row["url"], "at": row["checked_at"], "demo": demo, "provenance": vouched_by}
    shown = {run.number for piece in pieces if not isinstance(piece, Gap) for run in piece}
    parts = leaves(_findings(row, {span.number for span in places}, kept, checks), _weight, FINDINGS, MOST_FINDINGS)
    if not 1 <= part <= len(parts):
        return None
    path = f"/investigations/{row['id']}"
    homes = {
        finding["number"]: f"{path if n == 1 else f'{path}?part={n}'}#finding-{finding['number']}"
        for n, findings in enumerate(parts, 1)
        for finding in findings
    }
    numbers = [finding["number"] for finding in parts[part - 1]]
    first = numbers[0] - 1 if numbers else 0
    here = claims[first : first + len(numbers)]
    pages = [base + homes[number] for number in numbers]
    return {
        "part": part,
        "path": path,
        "listed": listed,
        "provenance": vouched_by,
        "spans": [(findings[0]["number"], findings[-1]["number"]) for findings in parts if findings],
        "homes": homes,
        "shown": shown,
        "base": base,
        "canonical": address,
        "card": f"{address}/card.png",
        "section": "/corrections",
        "heading": heading(row),
        "description": description(row),
        "it": row
        | {
            "demo": demo,
            "link": links.web(row["url"]),
            "post_page": links.post(row["platform"], row["external_id"]),
            "model_name": naming.model_name(row["provider"], row["model"], row["model_version"]),
            "whole_text": f"/investigations/{row['id']}/text" if any(isinstance(one, Gap) for one in pieces) else None,
        },
        "count": len(claims),
        "findings": parts[part - 1],
        "passage": pieces,
        "candidates": _counted(candidates),
        "timeline": timeline(row, attempts, candidates),
        "attempts": [attempt | {"took_s": _took(attempt)} for attempt in attempts],
        "machine_readable": [
            jsonld.embedded(document)
            for document in (
                jsonld.claim_reviews(base, here, pages, author=provenance.named_author(row), **told),
                jsonld.web_annotations(here, pages, **told),
            )
            if document and listed
        ],
    }


def heading(row: Row) -> str:
    """What the page is about, in one line."""
    subject = naming.excerpt(naming.post_name(row), 140)
    found = len(row["claims"])
    return f"{naming.count(found, 'error')} in {subject}" if found else f"Nothing found wrong in {subject}"


def description(row: Row) -> str:
    """The first finding in short."""
    if not row["claims"]:
        return "No statement of this post was found to be demonstrably wrong."
    first = row["claims"][0]
    return naming.excerpt(f"“{naming.excerpt(first['text'], 140)}” {first['summary']}", 300)


def _findings(row: Row, marked: set[int], kept: Sequence[Row], checks: Sequence[Row]) -> list[dict[str, Any]]:
    snapshots = {(str(one["claim_id"]), one["ordinal"]): one for one in kept}
    looked_at = {(str(one["claim_id"]), one["url"]): one for one in checks}
    return [
        {
            "number": number,
            "text": claim["text"],
            "summary": claim["summary"],
            "reasoning": prose(claim["reasoning"]),
            "marked": number in marked,
            "link": links.to_sentence(row["url"], claim["text"]) if links.web(row["url"]) else None,
            "sources": [
                _source(source, snapshots.get((claim["id"], nth)), looked_at.get((claim["id"], source["url"])))
                for nth, source in enumerate(claim["sources"][:MOST_SOURCES])
            ],
            "more_sources": max(0, len(claim["sources"]) - MOST_SOURCES),
        }
        for number, claim in enumerate(row["claims"], 1)
    ]


def _weight(finding: Mapping[str, Any]) -> int:
    said = weight(finding["text"]) + weight(finding["summary"]) + len(finding["reasoning"].encode("utf-8", "replace"))
    quoted = sum(
        weight(source["title"]) + 2 * weight(source["url"]) + weight(source["snippet"]) + 900
        for source in finding["sources"]
    )
    return 900 + said + 3 * len(finding["text"]) + quoted


def _source(source: Mapping[str, Any], kept: Row | None, check: Row | None) -> dict[str, Any]:
    return {
        **source,
        "title": naming.excerpt(source["title"], 300),
        "snippet": naming.excerpt(source["snippet"], 1_200),
        "link": links.web(source["url"]),
        "kept_hash": (kept["snapshot_hash"] if kept else None) or sha256(source["snippet"].encode()).hexdigest(),
        "kept_at": kept["retrieved_at"] if kept else None,
        "check": check | {"told": CHECKED.get(check["status"], check["status"])} if check else None,
    }


def _counted(candidates: Sequence[Row]) -> dict[str, int]:
    states = Counter(candidate["state"] for candidate in candidates)
    return {
        "all": len(candidates),
        "approved": states["APPROVED"],
        "rejected": states["REJECTED"],
        "failed": states["FAILED"],
    }


def timeline(row: Row, attempts: Sequence[Row], candidates: Sequence[Row]) -> list[Moment]:
    """Everything that happened, from first sight to decision, and what came after it. Shapes: in order of time."""
    moments = [Moment(row["first_seen_at"], "The text was first seen")]
    if row["server_verified_at"]:
        site = naming.platform_name(row["platform"])
        moments.append(Moment(row["server_verified_at"], f"{site} itself confirmed the text"))
    if row["corroborated_at"]:
        moments.append(Moment(row["corroborated_at"], "Enough readers had seen the same text"))
    moments.append(Moment(row["queued_at"], "An investigation was asked for"))
    for attempt in attempts:
        nth = f"Attempt {attempt['number']}" if len(attempts) > 1 else "The model"
        moments.append(Moment(attempt["started_at"], f"{nth} began to read"))
        if attempt["completed_at"] and attempt["error_name"]:
            moments.append(Moment(attempt["completed_at"], f"{nth} failed and was to be tried again"))
        elif attempt["completed_at"]:
            proposed = sum(not candidate["retained"] for candidate in candidates)
            moments.append(
                Moment(attempt["completed_at"], f"{nth} was done: {naming.count(proposed, 'candidate')} proposed")
            )
    decided = [candidate["decided_at"] for candidate in candidates if candidate["decided_at"]]
    if decided:
        approved = sum(candidate["state"] == "APPROVED" for candidate in candidates)
        told = f"The last candidate was judged: {approved} of {len(candidates)} passed"
        moments.append(Moment(max(decided), told))
    moments.sort(key=lambda moment: moment.at)
    after = [moment for moment in moments if moment.at > row["checked_at"]]
    before = [moment for moment in moments if moment.at <= row["checked_at"]]
    found = len(row["claims"])
    published = Moment(
        row["checked_at"], f"Published: {naming.count(found, 'error')}" if found else "Nothing found wrong"
    )
    return [*before, published, *after]


def _took(attempt: Row) -> float | None:
    if attempt["completed_at"] is None:
        return None
    return float((attempt["completed_at"] - attempt["started_at"]).total_seconds())
