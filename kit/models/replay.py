"""Replay a recorded run: today's code with the recorded answers, without network, key or cost.

The answers enter below the provider's client library, where they were recorded, and lookups come from the record. So
results and the new record must be the same to the byte; otherwise our code has changed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Final, assert_never

import httpx2
from pydantic import SecretStr

from contracts.transcript import MessagePicture, Research, Transcript
from contracts.v1.parts import ModelName
from kit.models.base import (
    AnswerT,
    Brief,
    Checkpoint,
    Decision,
    DecisionT,
    Finished,
    KeyRefused,
    KeyStatus,
    Limits,
)
from kit.models.failover import Failover, KeyedModel
from kit.models.provider import ProviderDeps
from kit.models.resuming import Lookup, can_resume
from kit.models.stamps import RecordedStamps
from kit.models.wire import Playback

NO_KEY: Final = SecretStr("no-key-is-used-in-a-replay")


class ReplayModel:
    """Model over one recorded conversation. Shapes: usable once."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._model = _model(transcript, None)
        self.name: ModelName = self._model.name
        self.labelled_demo = self._model.labelled_demo
        self.sees_pictures = self._model.sees_pictures

    async def converse(
        self, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None
    ) -> AsyncGenerator[Decision[DecisionT] | Checkpoint | Finished[AnswerT], None]:
        """Replay the conversation. Raises: ModelError, if the recorded one did."""
        lookup = Lookup(_researched(self._transcript, brief.done))
        replayed = replace(
            brief, research=lookup.before(dict.fromkeys(brief.research, _not_recorded)), limits=self._limits(brief)
        )
        async with aclosing(_model(self._transcript, brief.done, lookup).converse(replayed)) as items:
            async for item in items:
                yield item

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Refuse: there is no provider."""
        return KeyRefused("error", "A replay uses no API key.")

    def _limits(self, brief: Brief[DecisionT, AnswerT]) -> Limits:
        then = self._transcript.limits
        return Limits(**then.model_dump()) if then else brief.limits


async def _not_recorded(arguments: str) -> str:
    return "This was not asked when the run was recorded."


def _researched(transcript: Transcript, done: Transcript | None) -> Iterator[Research]:
    """The look-ups of this record without those taken over from the record it continues."""
    if transcript.instead_of is not None:
        yield from _researched(transcript.instead_of, done)
    yield from transcript.research[len(done.research) if done and can_resume(done, transcript) else 0 :]


def _model(transcript: Transcript, done: Transcript | None, lookup: Lookup | None = None) -> KeyedModel:
    if transcript.instead_of is not None:
        alone = transcript.model_copy(update={"instead_of": None})
        return Failover(_model(transcript.instead_of, done, lookup), _model(alone, done, lookup))
    done_calls = len(done.calls) if done and can_resume(done, transcript) else 0
    deps = ProviderDeps(
        httpx2.AsyncClient(transport=Playback(transcript.model_copy(update={"calls": transcript.calls[done_calls:]}))),
        RecordedStamps(transcript),
        lambda _: transcript.price,
    )
    effort = (transcript.reasoning or {}).get("effort")
    effort = effort if isinstance(effort, str) else None
    level = effort or "medium"
    match transcript.protocol:  # each client library takes a second to import, so only the one in use is imported
        case "openai_responses":
            from kit.models.openai_responses import OpenAIResponses

            rounds = transcript.limits.rounds if transcript.limits else 1
            return OpenAIResponses(key=NO_KEY, model=transcript.model, effort=level, max_rounds=rounds, deps=deps)
        case "anthropic":
            from kit.models.anthropic import AnthropicMessages

            first = next(transcript.requests(), {})
            max_tokens = first.get("max_tokens")
            return AnthropicMessages(
                key=NO_KEY,
                model=transcript.model,
                effort=level,
                max_tokens=max_tokens if isinstance(max_tokens, int) else 1,
                deps=deps,
            )
        case "chat_completions":
            from kit.models.chat_completions import ChatCompletions
            from kit.models.websearch.tool import WEB_SEARCH

            return ChatCompletions(
                key=NO_KEY,
                model=transcript.model,
                base_url="http://replayed",
                effort=effort,
                search=partial((lookup or Lookup(())).answer, WEB_SEARCH.name, live=_not_recorded)
                if _offered(transcript, WEB_SEARCH.name)
                else None,
                sees_pictures=any(isinstance(part, MessagePicture) for part in transcript.input),
                provider=transcript.provider,
                deps=deps,
            )
        case "demo":
            from kit.models.demo import DemoModel

            return DemoModel(record=transcript)
        case _:
            assert_never(transcript.protocol)


def _offered(transcript: Transcript, name: str) -> bool:
    functions = (tool.get("function") for tool in transcript.tools)
    return any(isinstance(function, dict) and function.get("name") == name for function in functions)
