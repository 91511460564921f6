"""The Anthropic Messages API as a Model, with the provider's own web search.

The API is stateless: each request contains the whole conversation, with the answers' blocks unchanged except for
repeated call ids. A cache marker moves along, so that input that was sent before costs a tenth.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, cast

import anthropic
from pydantic import JsonValue, SecretStr

from contracts.transcript import Protocol
from contracts.v1.parts import ModelName
from kit.models import failures
from kit.models.anthropic_assembly import Assembly, spent
from kit.models.base import Image, Sampling, has_pictures, join_words
from kit.models.conversation import CallIds, Conversation, FunctionCall, Turn
from kit.models.conversation_start import ConversationStart
from kit.models.events import Json, writable
from kit.models.provider import LIVE, Provider, ProviderDeps, ProviderSession, SdkBody

CACHED: Final[dict[str, JsonValue]] = {"type": "ephemeral"}


class AnthropicMessages(Provider):
    """Model over the Messages API. Readers' keys are OpenAI's and are refused here."""

    protocol: ClassVar[Protocol] = "anthropic"
    searches_itself = True
    sdk_errors = (anthropic.AnthropicError,)

    def __init__(
        self,
        *,
        key: SecretStr | None,
        model: str = "claude-sonnet-5-5",
        base_url: str = "https://api.anthropic.com",
        effort: str = "medium",
        max_tokens: int = 64_000,
        silence_s: float | None = None,
        deps: ProviderDeps = LIVE,
    ) -> None:
        super().__init__(ModelName(provider="anthropic", model=model), key=key, silence_s=silence_s, deps=deps)
        self._base_url = base_url
        self._effort = effort
        self._max_tokens = max_tokens

    def _tools(self, start: ConversationStart) -> list[dict[str, JsonValue]]:
        if not start.tools:
            return []
        functions: list[dict[str, JsonValue]] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
            for tool in start.tools
        ]
        search: dict[str, JsonValue] = {"type": "web_search_20250305", "name": "web_search"}
        if start.searches is not None:
            search["max_uses"] = start.searches
        return [search, *functions]

    def _reasoning(self, sampling: Sampling) -> dict[str, JsonValue]:
        # The API refuses a temperature since version 2026-10-21, so it is not sent.
        return {"thinking": {"type": "adaptive", "display": "summarized"}, "effort": self._effort}

    def _converse(self, start: ConversationStart, session: ProviderSession) -> Conversation:
        sampling = start.sampling
        body: dict[str, JsonValue] = {
            "model": self.name.model,
            "max_tokens": sampling.max_tokens or self._max_tokens,
            "system": start.instructions,
            "thinking": self._reasoning(sampling)["thinking"],
            "output_config": {"effort": self._effort},
            "stream": True,
        }
        if sampling.stop:
            body["stop_sequences"] = [*sampling.stop]
        if tools := self._tools(start):
            body |= {"tools": cast(JsonValue, tools), "cache_control": CACHED}
        return _Messages(self._client(session), body, start, session)

    async def _try(self, session: ProviderSession) -> None:
        body: dict[str, SdkBody] = {
            "model": self.name.model,
            "max_tokens": 16,
            "messages": [{"role": "user", "content": "Answer with OK."}],
        }
        session.recorder.begin_call(body)
        await self._client(session).messages.create(**body)

    def _client(self, session: ProviderSession) -> anthropic.AsyncAnthropic:
        return anthropic.AsyncAnthropic(
            api_key=session.secret,
            base_url=self._base_url,
            max_retries=0,
            timeout=self._timeout,
            http_client=session.http,
        )


@dataclass
class _Messages:
    _client: anthropic.AsyncAnthropic
    _body: dict[str, JsonValue]
    _start: ConversationStart
    _session: ProviderSession
    _messages: list[JsonValue] = field(default_factory=list)
    _call_ids: CallIds = field(default_factory=CallIds)

    async def ask(
        self, answers: Mapping[str, str], *, closing: bool = False
    ) -> AsyncGenerator[FunctionCall | Turn, None]:
        content: list[JsonValue] = [_result(id_, text) for id_, text in answers.items()]
        if closing:
            content.append({"type": "text", "text": self._start.closing})
        if content:
            self._messages.append({"role": "user", "content": content})
        parts = self._start.parts
        body = self._body | self._answer_format(closing=closing)
        self._session.recorder.begin_call(body | {"messages": [_message(parts, Image.name), *self._messages]})
        first = await asyncio.to_thread(_message, parts, _data)
        sent: Any = body | {"messages": [first, *self._messages]}  # the library types each field of a body
        answer = Assembly()
        stream = await self._client.messages.create(**sent)
        try:
            async with stream:
                async for event in stream:
                    block = answer.feed(writable(event.to_dict(mode="json", warnings=False)))
                    if block is not None and block["type"] == "tool_use":
                        call = self._call_ids.assign(FunctionCall(block["id"], block["name"], arguments(block)))
                        block["id"] = call.id
                        yield call
                    if answer.ended:
                        break
        finally:
            if (cost := spent(answer.message)) is not None:
                self._session.recorder.spend(cost)
        if not answer.ended:
            raise failures.truncated(self._session.recorder.last)
        why = answer.message.get("stop_reason")
        if why == "refusal":
            raise failures.refusal()
        if why in ("max_tokens", "model_context_window_exceeded", None):
            raise failures.incomplete(why or "no stop reason", self._session.secret)
        if answer.blocks:
            self._messages.append({"role": "assistant", "content": cast(JsonValue, _once(answer.blocks))})
        yield Turn(answer.message.get("id"), answer.message.get("model"), answer.text, goes_on=why == "pause_turn")

    def _answer_format(self, *, closing: bool) -> dict[str, JsonValue]:
        """The part of the body about the answer's form. Tools are still sent: the API requires those that were used."""
        added: dict[str, JsonValue] = {"tool_choice": {"type": "none"}} if closing and self._start.tools else {}
        if (schema := self._start.schema_for(closing=closing)) is not None:
            output = cast(dict[str, JsonValue], self._body["output_config"])
            added["output_config"] = output | {"format": {"type": "json_schema", "schema": dict(schema)}}
        return added


def arguments(block: Json) -> str:
    """The arguments of a call as JSON text, as other providers send them."""
    given = block.get("input")
    if isinstance(given, dict) and set(given) == {"unreadable"}:
        return str(given["unreadable"])
    return json.dumps(given, ensure_ascii=False)


def _once(blocks: list[Json]) -> list[Json]:
    """Drop repeated calls: the API refuses a message with the same call id twice."""
    calls: set[str] = set()
    unique = []
    for block in blocks:
        if block["type"] == "tool_use":
            if block["id"] in calls:
                continue
            calls.add(block["id"])
        unique.append(block)
    return unique


def _result(call_id: str, output: str) -> JsonValue:
    return {"type": "tool_result", "tool_use_id": call_id, "content": output}


def _message(parts: tuple[str | Image, ...], source: Callable[[Image], str]) -> JsonValue:
    if not has_pictures(parts):
        return {"role": "user", "content": join_words(parts)}
    content: list[JsonValue] = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {
            "type": "image",
            "source": {"type": "base64", "media_type": part.blob.media_type, "data": source(part)},
        }
        for part in parts
    ]
    return {"role": "user", "content": content}


def _data(picture: Image) -> str:
    return b64encode(picture.data).decode()
