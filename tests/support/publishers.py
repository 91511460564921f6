"""Scores of publishers, in memory and as the log has them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from uuid import UUID

from contracts.v1 import PublisherRated
from contracts.v1.ids import publisher_id
from tests.unit.projector.audit_histories import AuditTape, scored
from tests.unit.projector.histories import START, uid


class FixedScores:
    """Scores by epoch, and what was asked. Without an epoch there are none."""

    def __init__(self, epoch: int = 0, scores: Mapping[int, Mapping[UUID, float]] | None = None) -> None:
        self.epoch = epoch
        self.scores = scores or {}
        self.asked: list[int] = []

    async def closed_epoch(self) -> int:
        return self.epoch

    async def read(self, publishers: Collection[UUID], epoch: int) -> Mapping[UUID, float]:
        self.asked.append(epoch)
        return {id_: score for id_, score in self.scores.get(epoch, {}).items() if id_ in publishers}


def tape_of_publishers() -> AuditTape:
    """A publisher that was scored and rated, and one that was only rated."""
    tape = AuditTape()
    rated = PublisherRated(
        publisher_id=publisher_id("for.example"),
        domain="for.example",
        name="The Harbour Post",
        type="news",
        correction_policy=80,
        score=65,
        by=uid("moderator"),
        reason="MONTHLY_AUDIT",
    )
    new = publisher_id("new.example")
    for second, event in enumerate(
        (
            scored("for.example", 202601),
            rated,
            scored("for.example", 202602, 1),
            PublisherRated(publisher_id=new, domain="new.example", by=uid("moderator"), reason="FIRST_RATING"),
        )
    ):
        tape.add(event, at=START + timedelta(days=second))
    return tape
