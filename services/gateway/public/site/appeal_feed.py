"""Entries of the feed of appeals, without the words of who appealed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from services.gateway.public.site.appeals import KINDS, OUTCOMES
from services.gateway.public.site.feeds import DEMO
from services.gateway.public.site.naming import count, day, is_demo
from services.gateway.record.appeals import ListedAppeal


@dataclass(frozen=True, slots=True)
class AppealEntry:
    """One appeal. It is updated once it is decided; `about_url` is the result's page."""

    id: str
    url: str
    about_url: str
    title: str
    at: datetime
    updated: datetime
    tags: Sequence[str]
    text: str


def make_appeal_entry(base: str, row: ListedAppeal) -> AppealEntry:
    """The entry of an appeal: what its page says."""
    demo, outcome = is_demo(row.provider), None if row.outcome is None else OUTCOMES[row.outcome]
    title = f"Appeal {(outcome or 'opened').lower()}: {KINDS[row.kind]}"
    objection = f"An objection to a result: {KINDS[row.kind]}."
    if row.named:
        objection += f" It names {count(row.named, 'finding')}."
    decision = "Open: nobody has decided about it yet."
    if outcome is not None and row.decided_at is not None:
        decision = f"{outcome} on {day(row.decided_at)}: {row.reason}"
    return AppealEntry(
        id=f"urn:uuid:{row.id}",
        url=f"{base}/appeals/{row.id}",
        about_url=f"{base}/investigations/{row.investigation_id}",
        title=f"[Demo] {title}" if demo else title,
        at=row.opened_at,
        updated=row.decided_at or row.opened_at,
        tags=[row.kind, row.outcome or "OPEN", *(["demo"] if demo else [])],
        text="\n\n".join((*([DEMO] if demo else []), objection, decision)),
    )
