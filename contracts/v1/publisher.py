"""The track record of publishers of cited sources: scored by code each week, rated by people."""

from __future__ import annotations

from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from contracts.v1.codes import Domain, Epoch, PublisherName, Share, Word
from contracts.v1.event import OnceEvent
from contracts.v1.ids import publisher_id

ScoreReason = Literal["INITIAL", "COMPUTED", "SET"]
RatingReason = Literal["FIRST_RATING", "MONTHLY_AUDIT", "POLICY_CHANGED", "OWNER_CHANGED", "COMPLAINT", "MISTAKE"]
Percent = Annotated[int, Field(ge=0, le=100)]


class PublisherEvent(OnceEvent, key="publisher_id"):
    """A fact about a publisher, whose id derives from its domain."""

    publisher_id: UUID
    domain: Domain

    @model_validator(mode="after")
    def _is_the_domains(self) -> Self:
        if self.publisher_id != publisher_id(self.domain):
            raise ValueError("publisher_id is that of the domain")
        return self


class PublisherScored(PublisherEvent, subject="publisher.scored", identity=("epoch",)):
    """A publisher's score in one epoch, computed by code. In an epoch without a score the previous one counts.

    Shapes: counts are of all epochs so far. Of `total` judged citations `correct` agreed with the roll-up of the next
    analysis of their claim; the weighted counts use the claim's importance. `why`: INITIAL is the score of the
    publisher's type, SET is what people set. Units: `score` 0 to 100.
    """

    epoch: Epoch
    score: float = Field(ge=0, le=100)
    accuracy: Share
    correct: int = Field(ge=0)
    total: int = Field(ge=0)
    correct_weight: int = Field(ge=0)
    total_weight: int = Field(ge=0)
    citations: int = Field(ge=0)
    claims: int = Field(ge=0)
    why: ScoreReason


class PublisherRated(PublisherEvent, subject="publisher.rated"):
    """People's rating of a publisher, which replaces the previous one and counts from the next epoch on.

    Shapes: fields that are None were not rated. `score` replaces the formula. `by` is a moderator's account, or the nil
    UUID for the operator's command. Units: parts and score 0 to 100; `correction_frequency` is corrections a year.
    """

    name: PublisherName | None = None
    type: Word = "unknown"
    correction_policy: Percent | None = None
    editorial_standards: Percent | None = None
    bias_transparency: Percent | None = None
    longevity: Percent | None = None
    corrections_count: int | None = Field(default=None, ge=0)
    correction_frequency: float | None = Field(default=None, ge=0)
    score: Percent | None = None
    by: UUID
    reason: RatingReason

    def identity(self) -> str:
        """All fields, so that another moderator's rating at the same moment is refused."""
        return self.model_dump_json(exclude={"publisher_id", "domain"})


class PublisherEpochClosed(OnceEvent, subject="publisher.epoch_closed", identity=("epoch",)):
    """Every score of an epoch is stored: from now on jobs may pin it."""

    epoch: Epoch
    publishers: int = Field(ge=0)

    def key(self) -> str:
        """The same key for all epochs, so that one look-up finds the newest."""
        return "weekly"
