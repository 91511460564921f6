"""A recorded run, run again: our code of today over the provider's answers of then, without a network, key or cost.

The answers enter where they once did, below the provider's client library, and lookups are answered from the record.
So the outcomes must be the same, and so must the new record, to the byte; where they are not, our code has changed.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final, assert_never

import httpx2
from pydantic import SecretStr

from contracts.transcript import PictureShown, Transcript, Words
from contracts.v1.parts import BlobRef, ModelName
from kit.models.base import (
    Finished,
    Image,
    InvestigationBrief,
    KeyRefused,
    KeyStatus,
    Limits,
    Retention,
    ReviewBrief,
    Submission,
    Verdict,
)
from kit.models.failover import Failover, Keyed
from kit.models.provider import Outfit
from kit.models.stamps import RecordedStamps
from kit.models.wire import Playback

NO_KEY: Final = SecretStr("no-key-is-used-in-a-replay")
_UNHEARD: Final = "This was not asked when the run was recorded."


class ReplayModel:
    """Model over one recorded run or review. Shapes: it can be asked once."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._lookup = _Lookup(transcript)
        self._model = _model(transcript, self._lookup)
        self.name: ModelName = self._model.name
        self.labelled_demo = self._model.labelled_demo
        self.sees_pictures = self._model.sees_pictures

    async def investigate(
        self, brief: InvestigationBrief, key: SecretStr | None = None
    ) -> AsyncGenerator[Submission | Retention | Finished, None]:
        """The recorded run again. Raises: ModelError, if the recorded one did."""
        again = replace(
            brief,
            research={name: self._lookup.of(name) for name in brief.research},
            limits=self._limits(brief),
        )
        async with aclosing(self._model.investigate(again)) as steps:
            async for step in steps:
                yield step

    async def review(self, brief: ReviewBrief, key: SecretStr | None = None) -> Verdict:
        """The recorded review again. Raises: ModelError, if the recorded one did."""
        return await self._model.review(brief)

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Nobody is asked."""
        return KeyRefused("error", "A replay uses no API key.")

    def _limits(self, brief: InvestigationBrief) -> Limits:
        then = self._transcript.limits
        return Limits(then.rounds, then.tokens, then.cost_micro_usd) if then else brief.limits


class _Lookup:
    """Recorded answers by what was asked, in the order of asking where the same was asked twice."""

    def __init__(self, transcript: Transcript) -> None:
        self._answers: dict[tuple[str, str], deque[str]] = defaultdict(deque)
        for each in transcript.research:
            self._answers[each.name, each.arguments].append(each.output)

    def of(self, name: str) -> Callable[[str], Awaitable[str]]:
        """The answers of one function."""

        async def answer(arguments: str) -> str:
            waiting = self._answers[name, arguments]
            return waiting.popleft() if waiting else _UNHEARD

        return answer


def shown(transcript: Transcript) -> tuple[str | Image, ...]:
    """The message of a recorded run, for its brief. Shapes: pictures are named but hold no bytes; none are sent."""
    return tuple(
        part.text
        if isinstance(part, Words)
        else Image(BlobRef(sha256=part.sha256, size_bytes=part.size_bytes, media_type=part.media_type), b"")
        for part in transcript.input
    )


def _model(transcript: Transcript, lookup: _Lookup) -> Keyed:
    if transcript.instead_of is not None:
        alone = transcript.model_copy(update={"instead_of": None})
        return Failover(_model(transcript.instead_of, lookup), _model(alone, lookup))
    outfit = Outfit(
        httpx2.AsyncClient(transport=Playback(transcript)),
        RecordedStamps(transcript),
        lambda _: transcript.price,
    )
    effort: Any = (transcript.reasoning or {}).get("effort")
    match transcript.protocol:  # each client library takes a second to import, so only the one that is used
        case "openai_responses":
            from kit.models.openai_responses import OpenAIResponses

            rounds = transcript.limits.rounds if transcript.limits else 1
            return OpenAIResponses(key=NO_KEY, model=transcript.model, effort=effort, max_rounds=rounds, outfit=outfit)
        case "anthropic":
            from kit.models.anthropic import AnthropicMessages

            first: dict[str, Any] = next(transcript.requests(), {"max_tokens": 1})
            return AnthropicMessages(
                key=NO_KEY, model=transcript.model, effort=effort, max_tokens=first["max_tokens"], outfit=outfit
            )
        case "chat_completions":
            from kit.models.chat_completions import ChatCompletions
            from kit.models.websearch.tool import WEB_SEARCH

            return ChatCompletions(
                key=NO_KEY,
                model=transcript.model,
                base_url="http://replayed",
                effort=effort,
                search=lookup.of(WEB_SEARCH.name) if _offered(transcript, WEB_SEARCH.name) else None,
                sees_pictures=any(isinstance(part, PictureShown) for part in transcript.input),
                outfit=outfit,
            )
        case "demo":
            from kit.models.demo import DemoModel

            return DemoModel(record=transcript)
        case _:
            assert_never(transcript.protocol)


def _offered(transcript: Transcript, name: str) -> bool:
    functions = (tool.get("function") for tool in transcript.tools)
    return any(isinstance(function, dict) and function.get("name") == name for function in functions)
