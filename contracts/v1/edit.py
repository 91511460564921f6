"""Changes of entries of the catalogue. Each raises the entry's version by one."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from contracts.v1.codes import Code, Word
from contracts.v1.event import OnceEvent
from contracts.v1.parts import EphemeralRef

EditType = Literal["CONTENT_CORRECTION", "CLARIFICATION", "SYSTEM_REANALYSIS", "MODERATION_ACTION", "REVERT"]


class EditMade(OnceEvent, subject="edit.made", key="entry_id", identity=("edit_id",)):
    """An entry, or a part of it, was changed; of two edits of one version the stream refuses the second.

    `edit_id` is random, so that the edits of two editors are not treated as repetitions. Shapes: `before` and `after`
    have all words of the entry, `fields` name what differs. `hidden`: from now on only moderators see the entry.
    `reworded`: its wording is no longer the one that it was published with. `by` None: the system made the edit after
    the claim was analysed again; then `entity_id` is that analysis, and `edit_id` derives from it.
    """

    entry_id: UUID
    edit_id: UUID
    entity_type: Code = "ENTRY"
    entity_id: UUID
    version: int = Field(ge=2)
    edit_type: EditType
    fields: tuple[Word, ...] = ()
    hidden: bool
    reworded: bool
    reason: EphemeralRef
    before: EphemeralRef
    after: EphemeralRef
    by: UUID | None = None
