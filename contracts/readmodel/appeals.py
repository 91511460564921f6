"""Objections to results, whether they come from the post's author, and the decisions about them."""

from __future__ import annotations

from typing import Final, get_args

from sqlalchemy import Index, Table
from sqlalchemy import text as sql

from contracts.readmodel.columns import READMODEL, boolean, document, key, one_of, ref, sequence, text, timestamp
from contracts.v1.appeal import AppealKind, AppealOutcome, ProofOutcome

appeal: Final = Table(
    "appeal",
    READMODEL,
    key(),
    ref("investigation_id", "investigation.id", index=True),
    text("kind"),
    document("claims"),
    text("words"),
    document("links"),
    text("range_key"),
    timestamp("opened_at"),
    text("outcome", null=True),
    text("reason", null=True),
    timestamp("decided_at", null=True),
    boolean("by_author"),
    text("proof", null=True),
    text("statement", null=True),
    one_of("kind", get_args(AppealKind)),
    one_of("outcome", get_args(AppealOutcome)),
    one_of("proof", get_args(ProofOutcome)),
    Index("appeal_range_key_idx", "range_key", "opened_at"),
    Index("appeal_newest_idx", sql("coalesce(decided_at, opened_at) DESC"), sql("id DESC")),
    Index("appeal_open_idx", "opened_at", "id", postgresql_where=sql("outcome IS NULL")),
    sequence(),
    comment="An objection to a result. `claims` are the ids of the findings that it names; no `outcome`: it is open. "
    "`sequence` is that of its opening. `by_author`: it claims to be the author's, and is so if `proof` is PROVEN; "
    "else that is the outcome of the newest attempt. `statement` is public from then on, unless it is REFUSED",
)
