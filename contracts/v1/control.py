"""Posts with known answers that are investigated among others: a list is committed to before and published after."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import Field

from contracts.v1.event import OnceEvent
from contracts.v1.ids import control_batch_id
from contracts.v1.parts import Sha256, Value

MOST_CONTROLS: Final = 500
ControlOutcome = Literal["CLEAN", "FLAGGED", "FAILED", "NOT_RUN"]
ControlSalt = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


def commit_to(controls: Iterable[tuple[UUID, str]]) -> str:
    """The commitment: SHA-256 of the heading `openerrata/controls/1` and sorted lines `<version id> <salt>`."""
    lines = sorted(f"{version} {salt}" for version, salt in controls)
    return sha256("\n".join(("openerrata/controls/1", *lines)).encode()).hexdigest()


class ControlCommitted(OnceEvent, subject="control.committed", key="batch_id"):
    """A list of posts in which nothing is wrong was committed to, before any of them ran as its control.

    `commitment` is the hash of the list with its salts, so a guess of a post cannot be checked against it. After
    `closes_at` no run of the list begins. With `holds` it is a set of posts with known answers, for the bench only, and
    the hash is that of its file; publishing the file opens it.
    """

    commitment: Sha256
    size: int = Field(ge=1, le=MOST_CONTROLS)
    closes_at: datetime
    holds: Literal["CASES"] | None = None

    @property
    def batch_id(self) -> UUID:
        """The id of the list."""
        return control_batch_id(self.commitment)


class OpenedControl(Value):
    """A post of the list. FLAGGED: a finding passed all gates, though nothing is wrong in the post."""

    version_id: UUID
    salt: ControlSalt
    outcome: ControlOutcome


class ControlOpened(OnceEvent, subject="control.opened", key="batch_id"):
    """The list is public, with the outcome of each post."""

    batch_id: UUID
    controls: tuple[OpenedControl, ...] = Field(min_length=1, max_length=MOST_CONTROLS)
