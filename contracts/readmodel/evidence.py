"""The archive of sources: which page was fetched for a claim, when, and whether it has the quoted words.

The bytes are in the blob store under their hash, so a finding can be compared with the page as it was.
"""

from __future__ import annotations

from typing import Final, get_args

from sqlalchemy import CheckConstraint, Index, PrimaryKeyConstraint, Table

from contracts.readmodel.columns import READMODEL, number, one_of, ref, text, timestamp
from contracts.v1.parts import SourceStatus

source_check: Final = Table(
    "source_check",
    READMODEL,
    ref("claim_id", "claim_candidate.claim_id", cascade=True),
    number("round"),
    number("ordinal"),
    text("url"),
    text("status"),
    text("reason", null=True),
    text("final_url", null=True),
    text("page_hash", null=True),
    number("size_bytes", null=True),
    text("media_type", null=True),
    timestamp("fetched_at", null=True),
    PrimaryKeyConstraint("claim_id", "round", "ordinal"),
    one_of("status", get_args(SourceStatus)),
    CheckConstraint("num_nonnulls(final_url, page_hash, size_bytes, media_type, fetched_at) IN (0, 5)", name="page"),
    Index(None, "page_hash"),
    comment="What became of each source of a candidate, one set a round, in the order of its payload; the page's bytes "
    "as they came lie in the blob store under sha256/<page_hash>",
)
