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
    """All findings of one variant, displayed or to be."""

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
        """One is enough for its variant, since statistics alone are slow."""
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
        """Their variant."""
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
    """A control was flagged, `controls` runs from the last one that was, both included."""

    controls: int

    scope: ClassVar = EveryVariant()
    """The cause may lie in what variants share."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """So many flagged controls exclude that the tolerated rate is kept."""

    flagged: int
    controls: int
    e_value: float

    scope: ClassVar = EveryVariant()
    """The cause may lie in what variants share."""


@dataclass(frozen=True, slots=True)
class QuoteNotInPage:
    """So many displayed quotes do not stand in the page that was stored for them."""

    quotes: int

    scope: ClassVar = EveryVariant()
    """Code looks for quotes, and all variants share it."""


@dataclass(frozen=True, slots=True)
class NoNote:
    """The decision log has had no new signed note for this long."""

    age: timedelta

    scope: ClassVar = NewReleases()
    """What is displayed was in a note."""


@dataclass(frozen=True, slots=True)
class NoQuorum:
    """No note has had a quorum of witnesses for this long."""

    age: timedelta

    scope: ClassVar = NewReleases()
    """What is displayed was witnessed, or its absence was said."""


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
