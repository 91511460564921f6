"""Feeds of the newest corrections: Atom and JSON Feed hold the same entries.

An entry's id is the investigation's, which never changes, so no reader's software shows one twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson

from services.gateway.site import provenance
from services.gateway.site.naming import count, is_demo, machine_time, post_name
from services.gateway.site.reads import Row

ENTRIES: Final = 50
_NOT_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Entry:
    """One investigation with its findings.

    Shapes: `provenance` is the code of the text that was investigated, `vouched_by` says who vouches for it now.
    """

    id: str
    url: str
    post_url: str
    title: str
    author: str | None
    at: datetime
    findings: tuple[tuple[str, str], ...]
    provenance: str
    vouched_by: str
    demo: bool

    @property
    def text(self) -> str:
        """All of it as plain text."""
        said = "\n\n".join(f"“{quote}”\n{correction}" for quote, correction in self.findings)
        whole = f"{said}\n\nProvenance: {self.vouched_by}."
        return f"{DEMO}\n\n{whole}" if self.demo else whole


DEMO: Final = "Demonstration: a fixed catalogue of well-known misconceptions answered, and no model."


def entry(base: str, card: Row) -> Entry:
    """The entry of a card."""
    title = f"{count(card['claim_count'], 'error')} in {post_name(card)}"
    return Entry(
        id=f"urn:uuid:{card['id']}",
        url=f"{base}/investigations/{card['id']}",
        post_url=card["url"],
        title=f"[Demo] {title}" if is_demo(card["provider"]) else title,
        author=provenance.named_author(card),
        at=card["checked_at"],
        findings=tuple((claim["text"], claim["summary"]) for claim in card["claims"]),
        provenance=card["provenance"],
        vouched_by=provenance.told(card),
        demo=is_demo(card["provider"]),
    )


def sayable(text: str | None) -> str:
    """The text without characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text or "")


def json_feed(title: str, home: str, address: str, entries: Sequence[Entry]) -> bytes:
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


def _item(each: Entry) -> dict[str, Any]:
    item: dict[str, Any] = {
        "id": each.id,
        "url": each.url,
        "external_url": each.post_url,
        "title": each.title,
        "content_text": each.text,
        "date_published": machine_time(each.at),
    }
    return item | {"tags": [each.provenance, *(["demo"] if each.demo else [])]}
