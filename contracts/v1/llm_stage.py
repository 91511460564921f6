"""The model of each step of an audit, as an operator configures it while the system runs."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from contracts.v1.codes import Name
from contracts.v1.event import OnceEvent

StageName = Literal["extract", "analyse", "assess"]


class LlmStageConfigured(OnceEvent, subject="llm_stage.configured", key="stage"):
    """A step's model changes for jobs that have not begun; this overrides the environment.

    `by` is the admin's account, or the nil UUID for the operator's command. No provider's key is part of this.
    """

    stage: StageName
    provider: Name
    model: Name
    max_tokens: int = Field(ge=1, le=200_000)
    temperature: float = Field(ge=0, le=2)
    by: UUID

    def identity(self) -> str:
        """All fields, so that another admin's change at the same moment is refused."""
        return f"{self.follows}|{self.provider}|{self.model}|{self.max_tokens}|{self.temperature:g}|{self.by}"
