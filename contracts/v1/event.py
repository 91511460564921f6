"""An event is a fact: immutable, named by its subject, the same fact whenever its identity is the same.

The event id derives from subject, key and identity, so publishing a fact twice is harmless: the stream, the projector
and every fold recognise the repetition. Break that and a redelivery counts twice.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny

from contracts.v1.ids import named
from contracts.v1.parts import Value

Salt = Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{43}$")]
EVENT_NAMESPACE = UUID("6f3c1f8e-52b4-5d0a-9a57-0c8ae1f6e0b1")
PREFIX = "errata.v1."


class Event(Value):
    """Base of all facts. `SUBJECT` is `errata.v1.<aggregate>.<event>`; the key is the aggregate's id."""

    SUBJECT: ClassVar[str]

    def key(self) -> str:
        """The id of the aggregate this fact belongs to; the last token of its subject."""
        raise NotImplementedError

    def identity(self) -> str:
        """What tells this fact from others with the same subject and key; empty when there is only one."""
        return ""

    def subject(self) -> str:
        """Where the fact is published: `errata.v1.<aggregate>.<event>.<key>`."""
        return f"{self.SUBJECT}.{self.key()}"

    def event_id(self) -> UUID:
        """Derived from subject, key and identity: the same fact has the same id for ever."""
        return named(EVENT_NAMESPACE, f"{self.subject()}|{self.identity()}")


class OnceEvent(Event):
    """A fact that must follow a known predecessor on its subject.

    It is stored only if `follows` is the sequence of the last event on its subject (0: it is the first). The stream
    refuses any other writer, so two replicas cannot both start, finish or fail the same run.
    """

    follows: int = Field(default=0, ge=0)


class Envelope(BaseModel):
    """A fact with its place in time and in the chain of causes.

    Units: `occurred_at` is UTC. `correlation` is one id from the page view to the published claim; `cause` is the id of
    the event that led to this one. `salt` is 32 random bytes in base64url: what commits to the words of a fact is
    derived from it, so that nobody who guesses them can tell once both are erased. No page or feed shows it.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: UUID
    occurred_at: datetime
    correlation: UUID
    cause: UUID | None = None
    salt: Salt | None = None
    event: Annotated[SerializeAsAny[Event], Field()]
