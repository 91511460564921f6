"""The base of all events and their envelope.

The event id derives from subject, key and identity, so publishing an event twice is harmless: the stream, the projector
and every fold recognise the duplicate.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny

from contracts.v1.ids import derive_uuid
from contracts.v1.parts import Value

Salt = Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{43}$")]
EVENT_NAMESPACE = UUID("6f3c1f8e-52b4-5d0a-9a57-0c8ae1f6e0b1")
PREFIX = "errata.v1."


class Event(Value):
    """Base of all events. The arguments of a class define where its events are published, and which ones are equal.

    `subject` is `<aggregate>.<event>`, `key` names the attribute with the aggregate's id, `identity` those that
    distinguish events with the same subject and key.
    """

    SUBJECT: ClassVar[str]
    KEY: ClassVar[str]
    IDENTITY: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, subject: str = "", key: str = "", identity: tuple[str, ...] = ()) -> None:
        super().__init_subclass__()
        if subject:
            cls.SUBJECT = f"{PREFIX}{subject}"
        if key:
            cls.KEY = key
        if identity:
            cls.IDENTITY = identity

    def key(self) -> str:
        """The id of the aggregate; the last token of the subject."""
        return str(getattr(self, self.KEY))

    def identity(self) -> str:
        """What distinguishes this event from others with the same subject and key; empty if it is the only one."""
        return "|".join([str(getattr(self, name)) for name in self.IDENTITY])

    def subject(self) -> str:
        """The subject the event is published on: `errata.v1.<aggregate>.<event>.<key>`."""
        return f"{self.SUBJECT}.{self.key()}"

    def event_id(self) -> UUID:
        """The event's id, derived from subject, key and identity: the same event always has the same id."""
        return event_id(type(self), self.key(), self.identity())


def event_id(event: type[Event], key: object, identity: object = "") -> UUID:
    """The id of the event with this class, key and identity."""
    return derive_uuid(EVENT_NAMESPACE, f"{event.SUBJECT}.{key}|{identity}")


class OnceEvent(Event):
    """An event that must follow a known predecessor on its subject.

    It is stored only if `follows` is the sequence of the last event on its subject (0: there is none). The stream
    refuses any other writer, so two replicas cannot both start, finish or fail the same run.
    """

    follows: int = Field(default=0, ge=0)


class Envelope(BaseModel):
    """An event with its time, correlation and cause.

    Units: `occurred_at` is UTC. `correlation` is one id from the page view to the published claim; `cause` is the id of
    the event that led to this one. `salt` is 32 random bytes in base64url: the event's commitment is derived from it,
    so that a guess of the event's content cannot be confirmed once both are erased. No page or feed shows it.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: UUID
    occurred_at: datetime
    correlation: UUID
    cause: UUID | None = None
    salt: Salt | None = None
    event: Annotated[SerializeAsAny[Event], Field()]
