"""Labels on posts of other sites, as the newest event of each left them."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, Index, Table

from contracts.readmodel.columns import READMODEL, key, one_of, text, timestamp, uuid

LABEL_REASON: Final = ("PUBLISHED", "RENEWED", "WITHDRAWN", "REPLACED", "FORGOTTEN", "NOT_PUBLIC")

label: Final = Table(
    "label",
    READMODEL,
    key(),
    text("uri"),
    text("cid"),
    text("val"),
    Column("neg", Boolean, nullable=False),
    timestamp("cts"),
    timestamp("exp"),
    uuid("post_id"),
    uuid("investigation_id"),
    text("why"),
    Column("sequence", BigInteger, nullable=False),
    one_of("why", LABEL_REASON),
    Index(None, "sequence"),
    Index(None, "uri", postgresql_ops={"uri": "text_pattern_ops"}),
    comment="A value on a pinned record. `sequence` is that of the newest event; `neg`: the label was taken back",
    postgresql_with={"fillfactor": 80},
)
