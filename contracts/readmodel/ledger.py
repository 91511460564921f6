"""The ledger, which is a copy of the log, and the read model's position in the log.

`ledger.fact` is append-only and survives every rebuild: the read model is rebuilt and a lost stream restored from it,
and its chain of hashes reveals an altered or missing event.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Index, LargeBinary, PrimaryKeyConstraint, Table, Uuid

from contracts.readmodel.columns import LEDGER, READMODEL, sequence, text, timestamp, uuid

fact: Final = Table(
    "fact",
    LEDGER,
    text("stream"),
    sequence(),
    uuid("event_id", null=True),
    text("subject"),
    Column("envelope", LargeBinary, nullable=False),
    Column("previous_hash", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    timestamp("stored_at"),
    Column(
        "erased_by",
        Uuid,
        nullable=True,
        comment="The event of the erasure that took the body; hash and place stay, so the chain can still be proved",
    ),
    PrimaryKeyConstraint("stream", "sequence"),
    Index(None, "event_id"),
    comment="Every stored message as it was, in order. `event_id` NULL: it could not be decoded",
)

skipped: Final = Table(
    "skipped",
    LEDGER,
    text("stream"),
    sequence(),
    text("reason"),
    timestamp("skipped_at"),
    PrimaryKeyConstraint("stream", "sequence"),
    comment="Messages that an operator has told the projector to leave out, in the live tables and in every rebuild",
)

position: Final = Table(
    "position",
    READMODEL,
    text("stream", primary_key=True),
    sequence(),
    comment="The last sequence of each stream that these tables hold",
)

parked: Final = Table(
    "parked",
    READMODEL,
    text("stream"),
    sequence(),
    text("awaits"),
    PrimaryKeyConstraint("stream", "sequence"),
    Index(None, "awaits"),
    comment="Facts that came before what they speak of; their text is in the ledger",
)

refused_fact: Final = Table(
    "refused_fact",
    READMODEL,
    text("stream"),
    sequence(),
    text("subject"),
    text("outcome"),
    text("reason"),
    PrimaryKeyConstraint("stream", "sequence"),
    comment="Messages of the ledger that are not in these tables, and why",
)
