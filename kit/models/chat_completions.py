"""Any server with OpenAI's chat completions as a Model: a local one, or a router to many models.

Such servers have no web search, so we offer our own as another tool; it is recorded and replayed like all research.
Each request contains the whole conversation, because the server is stateless.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import openai
from pydantic import JsonValue, SecretStr

from contracts.transcript import Protocol
from contracts.v1.parts import ModelName
from kit.models import failures
from kit.models.base import AnswerT, Brief, DecisionT, Image, ModelError, Sampling, has_pictures, join_words
from kit.models.chat_assembly import Assembly, spent
from kit.models.conversation import CallIds, Conversation, FunctionCall, Turn
from kit.models.conversation_start import ConversationStart
from kit.models.events import Json, writable
from kit.models.openai_client import open_client, open_stream
from kit.models.provider import LIVE, Provider, ProviderDeps, ProviderSession, SdkBody
from kit.models.websearch.tool import WEB_SEARCH

_CUT_SHORT = frozenset({"length", "max_tokens"})
_FILTERED = frozenset({"content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii"})
"""The last five are Google's own values, sent as they are or after `content_filter:`."""
_CALL_DROPPED = frozenset({"function_call_filter", "malformed_function_call", "unexpected_tool_call"})
"""Google's values for a call that it could not parse and dropped, so the model's submission is lost."""


class ChatCompletions(Provider):
    """Model over chat completions. Readers' keys are OpenAI's and are not sent to another server.

    Shapes: `search` answers calls of `web_search`, which is not offered if it is None; `provider` is the name in
    records and facts.
    """

    protocol: ClassVar[Protocol] = "chat_completions"
    sdk_errors = (openai.OpenAIError,)

    def __init__(
        self,
        *,
        key: SecretStr | None,
        model: str,
        base_url: str,
        search: Callable[[str], Awaitable[str]] | None = None,
        effort: str | None = None,
        sees_pictures: bool = False,
        provider: str = "chat_completions",
        silence_s: float | None = None,
        deps: ProviderDeps = LIVE,
    ) -> None:
        super().__init__(
            ModelName(provider=provider, model=model),
            key=key or SecretStr("none"),
            silence_s=silence_s,
            sees_pictures=sees_pictures,
            deps=deps,
        )
        self._base_url = base_url
        self._search = search
        self._effort = effort

    def _adapt(self, brief: Brief[DecisionT, AnswerT]) -> Brief[DecisionT, AnswerT]:
        brief = super()._adapt(brief)
        if self._search is None or not brief.tools:
            return brief
        return replace(
            brief,
            tools=(WEB_SEARCH, *brief.tools),
            research={WEB_SEARCH.name: self._search, **brief.research},
        )

    def _tools(self, start: ConversationStart) -> list[dict[str, JsonValue]]:
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                },
            }
            for tool in start.tools
        ]

    def _reasoning(self, sampling: Sampling) -> dict[str, JsonValue] | None:
        return {"effort": self._effort} if self._effort and sampling.temperature is None else None

    def _converse(self, start: ConversationStart, session: ProviderSession) -> Conversation:
        body: dict[str, JsonValue] = {
            "model": self.name.model,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        sampling = start.sampling
        if self._reasoning(sampling) is not None:
            body["reasoning_effort"] = self._effort
        if sampling.temperature is not None:
            body["temperature"] = sampling.temperature
        if sampling.max_tokens is not None:
            body["max_tokens"] = sampling.max_tokens
        if sampling.alternatives:
            body |= {"logprobs": True, "top_logprobs": sampling.alternatives}
        if sampling.stop:
            body["stop"] = [*sampling.stop]
        return _Chat(self._client(session), body, cast(JsonValue, self._tools(start)), start, session)

    async def _try(self, session: ProviderSession) -> None:
        body: dict[str, SdkBody] = {
            "model": self.name.model,
            "max_tokens": 16,
            "messages": [{"role": "user", "content": "Answer with OK."}],
        }
        session.recorder.begin_call(body)
        await self._client(session).chat.completions.create(**body)

    def _client(self, session: ProviderSession) -> openai.AsyncOpenAI:
        return open_client(self._base_url, session.http, self._timeout, key=session.secret)


@dataclass
class _Chat:
    _client: openai.AsyncOpenAI
    _body: dict[str, JsonValue]
    _tools: JsonValue
    _start: ConversationStart
    _session: ProviderSession
    _messages: list[JsonValue] = field(default_factory=list)
    _call_ids: CallIds = field(default_factory=CallIds)
    _turns: int = 0

    async def ask(
        self, answers: Mapping[str, str], *, closing: bool = False
    ) -> AsyncGenerator[FunctionCall | Turn, None]:
        self._messages += [{"role": "tool", "tool_call_id": id_, "content": text} for id_, text in answers.items()]
        if closing:
            self._messages.append({"role": "user", "content": self._start.closing})
        parts = self._start.parts
        system: JsonValue = {"role": "system", "content": self._start.instructions}
        body = self._body | self._answer_format(closing=closing)
        self._session.recorder.begin_call(body | {"messages": [system, _message(parts, Image.name), *self._messages]})
        first = await asyncio.to_thread(_message, parts, Image.data_uri)
        sent: Any = body | {"messages": [system, first, *self._messages]}  # the library types each field of a body
        answer = Assembly(self._turns)
        self._turns += 1
        try:
            async with open_stream(await self._client.chat.completions.create(**sent)) as stream:
                async for chunk in stream:
                    for call in answer.feed(writable(chunk.to_dict(mode="json", warnings=False))):
                        yield self._with_own_id(call)
        finally:
            if (cost := spent(answer.usage)) is not None:
                self._session.recorder.spend(cost)
        finish = answer.finish and answer.finish.partition(":")[0].lower()
        if answer.refusal or finish in _FILTERED:
            raise failures.refusal()
        if finish in _CALL_DROPPED:
            raise ModelError("NON_RETRYABLE", "The provider dropped a call of the model's.", name="EmptyAnswer")
        if finish is None:
            raise failures.truncated(self._session.recorder.last)
        if finish in _CUT_SHORT:
            raise failures.incomplete(finish, self._session.secret)
        self._messages.append(cast(JsonValue, _once(answer.message)))
        yield Turn(answer.id, answer.version, answer.text, alternatives=answer.alternatives)

    def _answer_format(self, *, closing: bool) -> dict[str, JsonValue]:
        """The part of the body about the answer's form: tools or a schema, as many servers refuse both together."""
        if self._tools and not closing:
            return {"tools": self._tools}
        if (schema := self._start.schema_for(closing=closing)) is None:
            return {}
        form: JsonValue = {"name": self._start.schema_name, "schema": dict(schema), "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": form}}

    def _with_own_id(self, call: Json) -> FunctionCall:
        """The call with a unique id, which the next request uses too."""
        unique = self._call_ids.assign(
            FunctionCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        )
        call["id"] = unique.id
        return unique


def _once(message: Json) -> Json:
    if "tool_calls" not in message:
        return message
    calls = {call["id"]: call for call in message["tool_calls"]}
    return message | {"tool_calls": list(calls.values())}


def _message(parts: tuple[str | Image, ...], address: Callable[[Image], str]) -> JsonValue:
    if not has_pictures(parts):
        return {"role": "user", "content": join_words(parts)}
    content: list[JsonValue] = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": address(part)}}
        for part in parts
    ]
    return {"role": "user", "content": content}
