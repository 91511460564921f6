"""Labels on posts of other sites, as of the newest event about each."""

from __future__ import annotations

from typing import Final, get_args

from sqlalchemy import Index, Table

from contracts.readmodel.columns import READMODEL, boolean, key, one_of, sequence, text, timestamp, uuid
from contracts.v1.label import LabelReason

label: Final = Table(
    "label",
    READMODEL,
    key(),
    text("uri"),
    text("cid"),
    text("val"),
    boolean("neg"),
    timestamp("cts"),
    timestamp("exp"),
    uuid("post_id"),
    uuid("investigation_id"),
    text("why"),
    sequence(),
    one_of("why", get_args(LabelReason)),
    Index(None, "sequence"),
    Index(None, "uri", postgresql_ops={"uri": "text_pattern_ops"}),
    comment="A value on a pinned record. `sequence` is that of the newest event; `neg`: the label was taken back",
    postgresql_with={"fillfactor": 80},
)
