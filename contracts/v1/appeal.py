"""Objections of readers to what an investigation found, and what was decided about them."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal
from uuid import UUID

from pydantic import Field

from contracts.v1.event import OnceEvent
from contracts.v1.finding import Note
from contracts.v1.parts import Sha256

AppealKind = Literal["FALSE_POSITIVE", "FALSE_NEGATIVE", "CONTEXT"]
AppealOutcome = Literal["UPHELD", "PARTLY", "DISMISSED", "REFUSED"]
AppealText = Annotated[str, Field(min_length=1, max_length=4_000)]
AppealLink = Annotated[str, Field(pattern=r"^https?://[!-~]+$", max_length=2_000)]
MOST_LINKS = 5
MOST_CLAIMS = 100


class AppealOpened(OnceEvent):
    """A reader objects to the result of an investigation, which stays as it is.

    The key is the investigation, so the stream orders its appeals, and they are erased with it. `claim_ids` are the
    findings that the objection names. `range_key` is the hash of the network that it came from.
    """

    SUBJECT: ClassVar[str] = "errata.v1.appeal.opened"

    appeal_id: UUID
    investigation_id: UUID
    kind: AppealKind
    claim_ids: tuple[UUID, ...] = Field(default=(), max_length=MOST_CLAIMS)
    text: AppealText
    links: tuple[AppealLink, ...] = Field(default=(), max_length=MOST_LINKS)
    range_key: Sha256

    def key(self) -> str:
        return str(self.investigation_id)

    def identity(self) -> str:
        return str(self.follows)


class AppealDecided(OnceEvent):
    """An appeal was decided; `reason` is a sentence for readers. The findings that fell with it were retracted before.

    The key is the investigation; at most one of its appeals is open.
    """

    SUBJECT: ClassVar[str] = "errata.v1.appeal.decided"

    appeal_id: UUID
    investigation_id: UUID
    outcome: AppealOutcome
    reason: Note

    def key(self) -> str:
        return str(self.investigation_id)

    def identity(self) -> str:
        return str(self.follows)
