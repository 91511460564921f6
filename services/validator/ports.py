"""What the validator needs from outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from analyses.evidence import Evidence
from contracts.v1 import ClaimProposed, InvestigationStarted
from contracts.v1.parts import Source, TextRef
from kit.models.base import KEY_UNUSABLE, Brief, ClaimInDoubt, Limits, Model, ModelError, Published, ask
from kit.runs import Keys
from lifecycle.reviews import ReviewState


class Runs(Protocol):
    """What the log says about the run that a claim belongs to. Each raises Retry if the log cannot be read now."""

    async def started(self, proposed: ClaimProposed) -> InvestigationStarted | None:
        """The newest start of the run; None if the log does not show the one that the claim came from, or a later."""
        ...

    async def over(self, proposed: ClaimProposed) -> bool:
        """Whether the claim's round has ended, once its run's start is known; seldom a look into the log."""
        ...

    async def review_state(self, proposed: ClaimProposed) -> ReviewState:
        """What has become of the claim in its round so far: reads all that was told of the run."""
        ...


class Blobs(Protocol):
    """Texts by reference."""

    async def get_text(self, ref: TextRef) -> str:
        """The text itself."""
        ...

    async def put_text(self, text: str, answers: str | None = None) -> TextRef:
        """Name a text, storing it where it is too large for an event; `answers` is the step it is the answer to."""
        ...

    async def answers(self, step: str) -> Sequence[TextRef]:
        """What was stored as an answer to a step, told or not."""
        ...


class Sources(Protocol):
    """The public pages that a claim names."""

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        """What became of each source when somebody went to look, in their order; trouble with a page is an answer."""
        ...


__all__ = [
    "KEY_UNUSABLE",
    "Blobs",
    "Brief",
    "ClaimInDoubt",
    "Keys",
    "Limits",
    "Model",
    "ModelError",
    "Published",
    "Runs",
    "Sources",
    "ask",
]
