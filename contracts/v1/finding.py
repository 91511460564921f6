"""Changes of a finding after its publication."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from contracts.v1.event import OnceEvent

FindingState = Literal["SUSPENDED", "RELEASED", "RETRACTED"]
FindingCause = Literal["APPEAL", "REVIEW", "CONTROL", "SOURCE_CHANGED", "OPERATOR"]
Note = Annotated[str, Field(min_length=1, max_length=500)]


class FindingChanged(OnceEvent, subject="finding.changed", key="claim_id", identity=("follows",)):
    """A published finding was suspended, released again, or retracted for good; without such an event it is shown.

    The key is the claim, so the stream orders its states. `note` is a sentence for readers, and is erased with the
    post. `mistake`: it is released before the suspension's time is over, because the suspension was a slip of the
    operator.
    """

    claim_id: UUID
    investigation_id: UUID
    state: FindingState
    cause: FindingCause
    note: Note
    mistake: bool = False
