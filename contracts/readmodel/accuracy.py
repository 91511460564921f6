"""What stops findings from being displayed: variants with their volume, breakers, and runs whose answer is known."""

from __future__ import annotations

from typing import Final, get_args

from sqlalchemy import Index, Table

from contracts.readmodel.columns import (
    READMODEL,
    boolean,
    document,
    key,
    number,
    one_of,
    ref,
    sequence,
    text,
    timestamp,
)
from contracts.v1.breaker import BreakerState
from contracts.v1.control import ControlOutcome
from contracts.v1.variant import TierState, VolumeState

variant: Final = Table(
    "variant",
    READMODEL,
    text("variant", primary_key=True),
    document("parts"),
    text("state"),
    number("quota", null=True),
    number("step"),
    number("clean"),
    boolean("after_wrong"),
    text("gate_tier"),
    timestamp("since"),
    sequence("through"),
    text("why"),
    text("by"),
    timestamp("announced_at"),
    timestamp("changed_at"),
    sequence(),
    one_of("state", get_args(VolumeState)),
    one_of("gate_tier", get_args(TierState)),
    comment="How much of what a variant finds is displayed, as its newest event says; it holds for what was published "
    "at `since` or later. `parts`: {prompt, prompt_version, provider, model, rules, gates}",
)

breaker: Final = Table(
    "breaker",
    READMODEL,
    text("scope", primary_key=True),
    text("state"),
    document("triggers"),
    text("cause", null=True),
    text("by"),
    number("quota", null=True),
    timestamp("opened_at", null=True),
    timestamp("since", null=True),
    sequence("since_sequence"),
    timestamp("changed_at"),
    sequence(),
    one_of("state", get_args(BreakerState)),
    comment="`triggers`: [{trigger, numbers, at}] since it opened last. What happened before `since`, when it was last "
    "half opened or closed, opens it no more",
)

control_batch: Final = Table(
    "control_batch",
    READMODEL,
    key(),
    text("commitment"),
    number("size"),
    timestamp("closes_at"),
    timestamp("committed_at"),
    timestamp("opened_at", null=True),
    comment="A list of posts in which nothing is wrong, by the hash that was published before any of them ran",
)

control_run: Final = Table(
    "control_run",
    READMODEL,
    ref("investigation_id", "investigation.id", primary_key=True, cascade=True),
    ref("batch_id", "control_batch.id"),
    ref("post_version_id", "post_version.id", index=True),
    timestamp("requested_at"),
    text("salt", null=True),
    text("outcome", null=True),
    one_of("outcome", get_args(ControlOutcome)),
    Index("control_run_batch_idx", "batch_id", "requested_at"),
    comment="A run whose answer is known; nothing of it is published. `salt` and `outcome` are there once its list is "
    "open",
)
