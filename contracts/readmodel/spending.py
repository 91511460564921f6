"""Who requested a run, who pays for it, and its cost so far.

A round counts for the day of its request and money for the day it was spent on, so that a day's budget is one range of
an index. Limits are not stored here.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import CheckConstraint, Index, PrimaryKeyConstraint, Table

from contracts.readmodel.columns import READMODEL, key, money, number, one_of, ref, text, timestamp

investigation_round: Final = Table(
    "investigation_round",
    READMODEL,
    ref("investigation_id", "investigation.id", cascade=True),
    number("round"),
    text("requested_by", null=True),
    text("key_source", null=True),
    timestamp("requested_at", null=True),
    text("fault", null=True),
    PrimaryKeyConstraint("investigation_id", "round"),
    CheckConstraint("num_nonnulls(requested_by, key_source, requested_at) IN (0, 3)", name="requested"),
    Index(None, "requested_at"),
    comment="One request for a run. `fault`: why it failed, if it did; USER_KEY says nothing about the post. "
    "Nothing but a fault: the end was told before the request",
)

expense: Final = Table(
    "expense",
    READMODEL,
    key(),
    ref("investigation_id", "investigation.id", cascade=True, index=True),
    number("round"),
    text("stage"),
    number("total_tokens"),
    money("cost_micro_usd", null=True),
    timestamp("spent_at"),
    one_of("stage", ("INVESTIGATION", "VALIDATION")),
    Index(None, "spent_at"),
    comment="What an attempt or a review used; `id` is the attempt's, or derives from claim and round. "
    "`cost_micro_usd` NULL: nobody knows the model's price",
)
