"""Entries of the catalogue: claims that have a public page. Each change of an entry is an `edit.made`."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args
from uuid import UUID

from pydantic import Field

from contracts.v1.codes import Word
from contracts.v1.event import OnceEvent

StalePart = Literal["SUMMARY", "SCENARIOS", "EVIDENCE", "VERDICT", "CONFIDENCE", "RISK"]
StaleTrigger = Literal["EDIT", "FLAGS", "EVIDENCE", "SOURCES", "IMPROVEMENT"]
STALE_PARTS: Final[tuple[StalePart, ...]] = get_args(StalePart)

Wording = Annotated[str, Field(min_length=1, max_length=500)]
"""The wording of a claim in an entry, which is public."""


class EntryPublished(OnceEvent, subject="entry.published", key="entry_id", identity=("by",)):
    """A claim gets a page. The entry's id derives from the assertion, so that it is published once.

    `by` is the account that decided.
    """

    entry_id: UUID
    assertion_id: UUID
    wording: Wording
    domain: Word
    by: UUID


class EntryStaled(OnceEvent, subject="entry.staled", key="entry_id", identity=("trigger", "cause_id")):
    """Parts of an entry became stale; the next analysis of its assertion renews them.

    `cause_id` names the cause: for EDIT the edit, FLAGS the flag, EVIDENCE the analysis that came later or was
    withdrawn, SOURCES the analysis that used earlier scores, IMPROVEMENT the analysis made with older instructions.
    """

    entry_id: UUID
    parts: tuple[StalePart, ...] = Field(min_length=1)
    trigger: StaleTrigger
    cause_id: UUID
