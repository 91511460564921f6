"""Feeds of the newest corrections and appeals: Atom and JSON Feed with the same entries.

An entry's id is the investigation's, or the appeal's, which never changes, so feed readers show it once. Once a finding
is taken back or the appeal decided, the same entry is updated and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import orjson

from services.gateway.public.site.appeals import KINDS, OUTCOMES
from services.gateway.public.site.cards import name_post
from services.gateway.public.site.links import safe_link
from services.gateway.public.site.naming import count, day, describe_backing, is_demo, machine_time
from services.gateway.record.appeals import ListedAppeal
from services.gateway.record.investigations import Card
from services.gateway.record.rows import WithdrawnClaim

ENTRIES: Final = 50
DEMO: Final = "Demonstration: a fixed catalogue of well-known misconceptions answered instead of a model."


@dataclass(frozen=True, slots=True)
class Entry:
    """A result with its findings, or an appeal. `about_url` is the page that it is about; `text` is plain."""

    id: str
    url: str
    about_url: str
    title: str
    at: datetime
    updated: datetime
    tags: Sequence[str]
    text: str


def make_entry(base: str, card: Card) -> Entry:
    """The entry of a result: its findings, and who vouches for the text now."""
    demo, title = is_demo(card.provider), f"{_name_result(card)} in {name_post(card)}"
    findings = (f"“{claim.text}”\n{claim.summary}" for claim in card.claims)
    said = "\n\n".join((*findings, *map(_say_withdrawn, card.withdrawn)))
    backing = f"Provenance: {describe_backing(card, card.platform)}."
    return Entry(
        id=f"urn:uuid:{card.id}",
        url=f"{base}/investigations/{card.id}",
        about_url=card.url,
        title=f"[Demo] {title}" if demo else title,
        at=card.checked_at,
        updated=card.updated_at,
        tags=[card.provenance, *(["demo"] if demo else [])],
        text="\n\n".join((*([DEMO] if demo else []), said, backing)),
    )


def make_appeal_entry(base: str, row: ListedAppeal) -> Entry:
    """The entry of an appeal: what its page says, without the appellant's words."""
    demo, outcome = is_demo(row.provider), None if row.outcome is None else OUTCOMES[row.outcome]
    title = f"Appeal {(outcome or 'opened').lower()}: {KINDS[row.kind]}"
    objection = f"An objection to a result: {KINDS[row.kind]}."
    if row.named:
        objection += f" It names {count(row.named, 'finding')}."
    decision = "Open: it has not been decided yet."
    if outcome is not None and row.decided_at is not None:
        decision = f"{outcome} on {day(row.decided_at)}: {row.reason}"
    return Entry(
        id=f"urn:uuid:{row.id}",
        url=f"{base}/appeals/{row.id}",
        about_url=f"{base}/investigations/{row.investigation_id}",
        title=f"[Demo] {title}" if demo else title,
        at=row.opened_at,
        updated=row.decided_at or row.opened_at,
        tags=[row.kind, row.outcome or "OPEN", *(["demo"] if demo else [])],
        text="\n\n".join((*([DEMO] if demo else []), objection, decision)),
    )


def _name_result(card: Card) -> str:
    if card.claims or not card.withdrawn:
        return count(len(card.claims), "error")
    is_final = all(claim.is_retracted for claim in card.withdrawn)
    return f"{'Retracted' if is_final else 'Withdrawn for now'}: {count(len(card.withdrawn), 'error')}"


def _say_withdrawn(claim: WithdrawnClaim) -> str:
    what = "Retracted on" if claim.is_retracted else "Withdrawn for now since"
    return f"{what} {day(claim.changed_at)}: “{claim.text}”\n{claim.note}"


def render_json_feed(title: str, home: str, address: str, entries: Sequence[Entry]) -> bytes:
    """The feed as JSON. Source: jsonfeed.org, version 1.1."""
    return orjson.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": title,
            "home_page_url": home,
            "feed_url": address,
            "items": [_item(each) for each in entries],
        }
    )


def _item(each: Entry) -> dict[str, object]:
    about = safe_link(each.about_url)
    return {
        "id": each.id,
        "url": each.url,
        **({} if about is None else {"external_url": about}),
        "title": each.title,
        "content_text": each.text,
        "date_published": machine_time(each.at),
        "date_modified": machine_time(each.updated),
        "tags": each.tags,
    }
