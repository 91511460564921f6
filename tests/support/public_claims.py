"""A small catalogue: a claim that was edited twice, one with an objection that waits, and one that is hidden."""

from __future__ import annotations

from typing import Final

from contracts.v1 import EntryStaled
from contracts.v1.ids import entry_id
from tests.integration.readmodel_tables import NoTexts, fill, store_at
from tests.unit.projector.audit_histories import Instance, claim_id_of, one_job
from tests.unit.projector.histories import Tape, uid

SHIPS, LAMPS, TIDES = (entry_id(claim_id_of(name)) for name in ("Ships sail.", "Lamps burn.", "Tides turn."))
SECRET: Final = "Tides <script>alert(1)</script> turn."
"""The words of the hidden claim."""
SUGGESTED: Final = "Against: https://port.example/log\nIt lists <b>no</b> ship at noon."
"""Evidence that a moderator accepted."""


def claims() -> Instance:
    """The facts of the small catalogue."""
    instance = one_job()
    start = len(instance.events)
    for event in instance.whole(uid("another job"), uid("account"), ("Tides turn.",)):
        instance.publish(event)
    for name in ("Ships sail.", "Lamps burn.", "Tides turn."):
        instance.publish(instance.entry(name))
    instance.publish(instance.edited(SHIPS, "Ships of the harbour sail at noon & <b>never</b> at night."))
    stale = EntryStaled(entry_id=SHIPS, parts=("VERDICT", "CONFIDENCE"), trigger="EDIT", cause_id=uid("edit"))
    instance.publish(stale)
    instance.publish(instance.edited(SHIPS, "Ships of the harbour sail at noon.", kind="CLARIFICATION"))
    instance.publish(instance.edited(TIDES, SECRET, hidden=True, kind="MODERATION_ACTION"))
    instance.publish(suggested := instance.flagged(SHIPS, uid("editor"), issue="EVIDENCE", text=SUGGESTED))
    instance.publish(instance.resolved_flag(suggested))
    instance.publish(instance.flagged(LAMPS, uid("reader")))
    for event, at in instance.events[start:]:
        instance.tape.add(event, at=at)
    return instance


async def tell_claims(database_url: str, *others: Tape) -> Instance:
    """Project the small catalogue, and then other facts of its stream."""
    instance = claims()
    for record in (each for tape in others for each in tape.records):
        instance.tape.raw(record.subject, record.data)
    store = store_at(database_url, texts=NoTexts(**instance.tape.words))
    await fill(store, instance.tape.records)
    await store.close()
    return instance
