"""Feeds of the newest corrections and appeals: Atom and JSON Feed with the same entries.

An entry's id is the investigation's, or the appeal's, which never changes, so feed readers show it once. Once a finding
is taken back or the appeal decided, the same entry is updated and says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

import orjson

from services.gateway.public.site import provenance
from services.gateway.public.site.cards import name_post
from services.gateway.public.site.links import safe_link
from services.gateway.public.site.naming import count, day, is_demo, machine_time
from services.gateway.record.investigations import Card
from services.gateway.record.rows import WithdrawnClaim

ENTRIES: Final = 50
_NOT_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Item(Protocol):
    """What a feed says of an entry. `about_url` is the page that it is about."""

    @property
    def id(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def about_url(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def at(self) -> datetime: ...
    @property
    def updated(self) -> datetime: ...
    @property
    def tags(self) -> Sequence[str]: ...
    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One investigation with its findings.

    Shapes: `provenance` is the code of the text that was investigated, `vouched_by` says who vouches for it now.
    """

    id: str
    url: str
    about_url: str
    title: str
    author: str | None
    at: datetime
    updated: datetime
    findings: tuple[tuple[str, str], ...]
    withdrawn: tuple[str, ...]
    provenance: str
    vouched_by: str
    demo: bool

    @property
    def tags(self) -> Sequence[str]:
        """Its categories."""
        return [self.provenance, *(["demo"] if self.demo else [])]

    @property
    def text(self) -> str:
        """The entry as plain text."""
        said = "\n\n".join((*(f"“{quote}”\n{correction}" for quote, correction in self.findings), *self.withdrawn))
        whole = f"{said}\n\nProvenance: {self.vouched_by}."
        return f"{DEMO}\n\n{whole}" if self.demo else whole


DEMO: Final = "Demonstration: a fixed catalogue of well-known misconceptions answered, and no model."


def make_entry(base: str, card: Card) -> Entry:
    title = f"{_name_result(card)} in {name_post(card)}"
    return Entry(
        id=f"urn:uuid:{card.id}",
        url=f"{base}/investigations/{card.id}",
        about_url=card.url,
        title=f"[Demo] {title}" if is_demo(card.provider) else title,
        author=card.named_author,
        at=card.checked_at,
        updated=card.updated_at,
        findings=tuple((claim.text, claim.summary) for claim in card.claims),
        withdrawn=tuple(map(_say_withdrawn, card.withdrawn)),
        provenance=card.provenance,
        vouched_by=provenance.describe_backing(card, card.platform),
        demo=is_demo(card.provider),
    )


def _name_result(card: Card) -> str:
    if card.claims or not card.withdrawn:
        return count(len(card.claims), "error")
    is_final = all(claim.is_retracted for claim in card.withdrawn)
    return f"{'Retracted' if is_final else 'Withdrawn for now'}: {count(len(card.withdrawn), 'error')}"


def _say_withdrawn(claim: WithdrawnClaim) -> str:
    what = "Retracted on" if claim.is_retracted else "Withdrawn for now since"
    return f"{what} {day(claim.changed_at)}: “{claim.text}”\n{claim.note}"


def replace_non_xml(text: str | None) -> str:
    """Replace characters that XML does not allow."""
    return _NOT_XML.sub("\ufffd", text or "")


def render_json_feed(title: str, home: str, address: str, entries: Sequence[Item]) -> bytes:
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


def _item(each: Item) -> dict[str, object]:
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
