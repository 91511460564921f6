"""Entries of the catalogue: claims that have a public page. What is changed on it is an `edit.made`."""

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
"""A claim as an entry words it. It is public."""


class EntryPublished(OnceEvent, subject="entry.published", key="entry_id", identity=("by",)):
    """A claim has a page from now on. Its id derives from the assertion, so that it is published once.

    `by` is the account that decided.
    """

    entry_id: UUID
    assertion_id: UUID
    wording: Wording
    domain: Word
    by: UUID


class EntryStaled(OnceEvent, subject="entry.staled", key="entry_id", identity=("trigger", "cause_id")):
    """Parts of an entry no longer follow from what is known; the next analysis of its assertion renews them.

    `cause_id` is what this follows from: EDIT the edit, FLAGS the flag, EVIDENCE the analysis that came later or was
    withdrawn, SOURCES the analysis that used earlier scores, IMPROVEMENT the one that older instructions led to.
    """

    entry_id: UUID
    parts: tuple[StalePart, ...] = Field(min_length=1)
    trigger: StaleTrigger
    cause_id: UUID
