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

    `edit_id` is random: the edits of two editors must not be taken for repetitions of one. Shapes: `before` and `after`
    hold the whole state of the entry's words, `fields` name what differs. `hidden`: from now on nobody but moderators
    sees the entry. `reworded`: its wording is no longer the one that it was published with. `by` None: the system, when
    the claim was analysed again; `entity_id` is that analysis then, and `edit_id` derives from it.
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
