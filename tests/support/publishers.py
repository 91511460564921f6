"""Scores of publishers, in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID


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
