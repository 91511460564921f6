"""Ports of the validator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from analyses.evidence import Evidence
from contracts.v1 import ClaimProposed, InvestigationStarted
from contracts.v1.parts import Source, TextRef
from kit.runs import TextStore
from lifecycle.reviews import ReviewState


class Runs(Protocol):
    """The run that a claim belongs to. Each method raises Retry if the log cannot be read now."""

    async def find_start(self, proposed: ClaimProposed) -> InvestigationStarted | None:
        """The newest start of the run; None if the log shows neither the claim's attempt nor a later one."""

    async def is_over(self, proposed: ClaimProposed) -> bool:
        """Whether the claim's round has ended, once its run's start is known; seldom a request to the log."""

    async def review_state(self, proposed: ClaimProposed) -> ReviewState:
        """The reviews of the claim in its round so far; reads all events of the run."""


class Blobs(TextStore[TextRef], Protocol):
    """Texts by reference."""

    async def store_answer(self, ref: TextRef) -> None:
        """Store an answer that is small enough for an event, for a worker that takes over before there is one."""


class Sources(Protocol):
    """The public pages that a claim cites."""

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        """Check each source, in their order; a failure of a page is a result."""
