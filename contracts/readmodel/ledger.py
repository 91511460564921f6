"""What is not derived from the log: the log's own copy, how far the read model is, and the operators' keys.

`ledger.fact` is only ever appended to and survives every rebuild: from it the read model is built anew, a lost stream
can be filled again, and an altered or missing fact is found by its chain of hashes.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Index, LargeBinary, PrimaryKeyConstraint, Table, Text, UniqueConstraint, Uuid

from contracts.readmodel.columns import LEDGER, OPERATOR, READMODEL, at, key, text

fact: Final = Table(
    "fact",
    LEDGER,
    Column("stream", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("event_id", Uuid, nullable=True),
    Column("subject", Text, nullable=False),
    Column("envelope", LargeBinary, nullable=False),
    Column("previous_hash", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    at("stored_at"),
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
    Column("stream", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    at("skipped_at"),
    PrimaryKeyConstraint("stream", "sequence"),
    comment="Messages that an operator has told the projector to leave out, in the live tables and in every rebuild",
)

position: Final = Table(
    "position",
    READMODEL,
    text("stream", primary_key=True),
    Column("sequence", BigInteger, nullable=False),
    comment="The last sequence of each stream that these tables hold",
)

parked: Final = Table(
    "parked",
    READMODEL,
    Column("stream", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("awaits", Text, nullable=False),
    PrimaryKeyConstraint("stream", "sequence"),
    Index(None, "awaits"),
    comment="Facts that came before what they speak of; their text is in the ledger",
)

refused_fact: Final = Table(
    "refused_fact",
    READMODEL,
    Column("stream", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("subject", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("reason", Text, nullable=False),
    PrimaryKeyConstraint("stream", "sequence"),
    comment="Messages of the ledger that are not in these tables, and why",
)

instance_api_key: Final = Table(
    "instance_api_key",
    OPERATOR,
    key(),
    text("name"),
    text("key_hash"),
    at("revoked_at", null=True),
    at("created_at"),
    at("updated_at"),
    UniqueConstraint("key_hash"),
)
