"""The part of a brief that a provider needs for the first request of a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from kit.models.base import AS_PROVIDED, AnswerT, Brief, DecisionT, Image, Sampling, Tool
from kit.models.call_cap import SEARCHES


@dataclass(frozen=True, slots=True)
class ConversationStart:
    """The start of a conversation. The answer to a request without tools must match `schema`.

    `searches` is how often the provider may search within one request; None for no limit.
    """

    instructions: str
    parts: tuple[str | Image, ...]
    tools: tuple[Tool, ...] = ()
    schema: Mapping[str, JsonValue] | None = None
    schema_name: str = "answer"
    closing: str | None = None
    sampling: Sampling = AS_PROVIDED
    searches: int | None = None

    @classmethod
    def of(cls, brief: Brief[DecisionT, AnswerT]) -> ConversationStart:
        """The part of a brief that a provider needs for the first request."""
        name = brief.step.partition("/")[2]
        searches = None if brief.limits.call_micro_usd is None else SEARCHES
        return cls(
            brief.instructions,
            brief.parts,
            brief.tools,
            brief.schema,
            name,
            brief.turns.closing,
            brief.sampling,
            searches,
        )

    def schema_for(self, *, closing: bool) -> Mapping[str, JsonValue] | None:
        """The schema that the next answer must have: none while tools are offered."""
        return self.schema if closing or not self.tools else None
