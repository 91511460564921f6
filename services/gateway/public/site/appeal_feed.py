"""Entries of the feed of appeals, without the words of who appealed."""

from __future__ import annotations

from services.gateway.public.site.appeals import KINDS, OUTCOMES
from services.gateway.public.site.feeds import DEMO, Entry
from services.gateway.public.site.naming import count, day, is_demo
from services.gateway.record.appeals import ListedAppeal


def make_appeal_entry(base: str, row: ListedAppeal) -> Entry:
    """The entry of an appeal: what its page says. It is updated once the appeal is decided."""
    demo, outcome = is_demo(row.provider), None if row.outcome is None else OUTCOMES[row.outcome]
    title = f"Appeal {(outcome or 'opened').lower()}: {KINDS[row.kind]}"
    objection = f"An objection to a result: {KINDS[row.kind]}."
    if row.named:
        objection += f" It names {count(row.named, 'finding')}."
    decision = "Open: nobody has decided about it yet."
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
