"""The notary's signed notes, and the reasons for which it refuses to sign."""

from __future__ import annotations

from dataclasses import dataclass

from tlog.merkle import Hash


class LogForked(Exception):
    """What was published is not the beginning of what is stored here: nothing is signed until an operator decides."""


class LogNotOpened(Exception):
    """The log of events does not say that this log begins."""


class OtherKeySigns(Exception):
    """The log of events says that another key signs this log: nothing is entered or signed with this one."""


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A signed note, stored before it is published. Shapes: `note` is without the lines of witnesses."""

    size: int
    root: Hash
    note: bytes
    is_published: bool


@dataclass(frozen=True, slots=True)
class Entered:
    """What one transaction entered. Shapes: `facts` is the number of facts read, `leaves` that of new leaves."""

    facts: int
    leaves: int
