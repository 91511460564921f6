"""What trips the breaker: each trigger with its numbers and the scope that it stops.

Source: row TR-45 of docs/requirements/trust.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from accuracy.facts import ApprovalCounts, RetractionCounts


@dataclass(frozen=True, slots=True)
class OneVariant:
    """All findings of one variant, displayed or not yet."""

    variant: str


@dataclass(frozen=True, slots=True)
class EveryVariant:
    """All findings."""


@dataclass(frozen=True, slots=True)
class NewReleases:
    """Findings of every variant that are not displayed yet."""


Scope = OneVariant | EveryVariant | NewReleases


@dataclass(frozen=True, slots=True)
class FalseFlag:
    """A control was flagged."""

    variant: str

    @property
    def scope(self) -> OneVariant:
        """Its variant: one false flag is enough, since statistics alone are slow."""
        return OneVariant(self.variant)


@dataclass(frozen=True, slots=True)
class WrongAtHighExposure:
    """Reviewers found a finding WRONG that many have read."""

    variant: str

    @property
    def scope(self) -> OneVariant:
        """Its variant."""
        return OneVariant(self.variant)


@dataclass(frozen=True, slots=True)
class ManyRetractions:
    """Too much was retracted for a fault of ours."""

    counts: RetractionCounts

    @property
    def scope(self) -> OneVariant:
        """The variant of the retracted findings."""
        return OneVariant(self.counts.variant)


@dataclass(frozen=True, slots=True)
class UnusualApproveRate:
    """Validation approves far less or far more than it did."""

    counts: ApprovalCounts

    @property
    def scope(self) -> OneVariant:
        """The variant that proposed the claims."""
        return OneVariant(self.counts.variant)


@dataclass(frozen=True, slots=True)
class SecondFalseFlag:
    """Two controls were flagged within `controls` runs, both included."""

    controls: int

    scope: ClassVar = EveryVariant()
    """The cause may lie in what variants share."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """There are too many flagged controls for the tolerated rate."""

    flagged: int
    controls: int
    e_value: float

    scope: ClassVar = EveryVariant()
    """The cause may lie in what variants share."""


@dataclass(frozen=True, slots=True)
class QuoteNotInPage:
    """This many displayed quotes are missing from their stored page."""

    quotes: int

    scope: ClassVar = EveryVariant()
    """All variants share the code that looks for quotes."""


@dataclass(frozen=True, slots=True)
class NoNote:
    """The decision log has had no new signed note for this long."""

    age: timedelta

    scope: ClassVar = NewReleases()
    """Displayed findings were in an earlier note."""


@dataclass(frozen=True, slots=True)
class NoQuorum:
    """No note has had a quorum of witnesses for this long."""

    age: timedelta

    scope: ClassVar = NewReleases()
    """Displayed findings were witnessed, or displayed with the statement that they were not."""


Trigger = (
    FalseFlag
    | WrongAtHighExposure
    | ManyRetractions
    | UnusualApproveRate
    | SecondFalseFlag
    | Evidence
    | QuoteNotInPage
    | NoNote
    | NoQuorum
)
