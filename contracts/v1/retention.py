"""Deletion of what was kept until an hour."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from contracts.v1.codes import Code, Hour
from contracts.v1.event import OnceEvent


class RetentionPurged(OnceEvent):
    """Everything of one sort that was kept until `before` at the latest is deleted, and leaves the tables.

    `slot` is the hour of the sweep, so that two workers' sweeps of one hour are one. The texts themselves are removed
    once this event is stored; from their hour on they are not read.
    """

    SUBJECT: ClassVar[str] = "errata.v1.retention.purged"
    KEY: ClassVar[str] = "slot"
    IDENTITY: ClassVar[tuple[str, ...]] = ("what",)

    slot: Hour
    what: Code
    before: datetime
