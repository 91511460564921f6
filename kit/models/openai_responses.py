"""The OpenAI Responses API as a Model, or a server that implements it.

Later requests refer to the previous response by id: the provider stores the conversation, and only outputs are sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import openai
from openai.types.responses import Response, ResponseFunctionToolCall
from pydantic import JsonValue, SecretStr

from contracts.transcript import Protocol
from contracts.v1.parts import ModelName
from kit.models import failures
from kit.models.audit_openai import spent
from kit.models.base import Image, ModelError, Sampling, has_pictures, join_words
from kit.models.conversation import CallIds, Conversation, FunctionCall, Turn
from kit.models.conversation_start import ConversationStart
from kit.models.openai_client import open_client, open_stream
from kit.models.provider import LIVE, Provider, ProviderDeps, ProviderSession, SdkBody


class OpenAIResponses(Provider):
    """Model over the Responses API. Accepts readers' keys, which are OpenAI's."""

    protocol: ClassVar[Protocol] = "openai_responses"
    takes_readers_keys = True
    searches_itself = True
    sdk_errors = (openai.OpenAIError,)

    def __init__(
        self,
        *,
        key: SecretStr | None,
        model: str = "gpt-5.4",
        base_url: str = "https://api.openai.com/v1",
        effort: str = "medium",
        max_rounds: int = 150,
        silence_s: float | None = None,
        deps: ProviderDeps = LIVE,
    ) -> None:
        name = ModelName(provider="openai", model=model)
        super().__init__(name, key=key, silence_s=silence_s, max_rounds=max_rounds, deps=deps)
        self._base_url = base_url
        self._effort = effort

    def _tools(self, start: ConversationStart) -> list[dict[str, JsonValue]]:
        if not start.tools:
            return []
        functions: list[dict[str, JsonValue]] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
                "strict": True,
            }
            for tool in start.tools
        ]
        return [{"type": "web_search"}, *functions]

    def _reasoning(self, sampling: Sampling) -> dict[str, JsonValue]:
        return {"effort": self._effort, "summary": "detailed"} if sampling.temperature is None else {"effort": "none"}

    def _converse(self, start: ConversationStart, session: ProviderSession) -> Conversation:
        body: dict[str, JsonValue] = {
            "model": self.name.model,
            "instructions": start.instructions,
            "reasoning": self._reasoning(start.sampling),
            "stream": True,
        }
        if start.sampling.temperature is not None:
            body["temperature"] = start.sampling.temperature
        if start.sampling.max_tokens is not None:
            body["max_output_tokens"] = start.sampling.max_tokens
        if tools := self._tools(start):
            body["tools"] = cast(JsonValue, tools)
            if start.searches is not None:
                body["max_tool_calls"] = start.searches
        return _Responses(self._client(session), body, start, session)

    async def _try(self, session: ProviderSession) -> None:
        body: dict[str, SdkBody] = {"model": self.name.model, "input": "Answer with OK.", "max_output_tokens": 16}
        session.recorder.begin_call(body)
        await self._client(session).responses.create(**body, store=False, extra_headers=_authorization(session.secret))

    def _client(self, session: ProviderSession) -> openai.AsyncOpenAI:
        return open_client(self._base_url, session.http, self._timeout, key="sent-with-each-request")


@dataclass
class _Responses:
    _client: openai.AsyncOpenAI
    _body: dict[str, JsonValue]
    _start: ConversationStart
    _session: ProviderSession
    _previous: str | None = None
    _call_ids: CallIds = field(default_factory=CallIds)
    _ids: dict[str, str] = field(default_factory=dict)

    async def ask(
        self, answers: Mapping[str, str], *, closing: bool = False
    ) -> AsyncGenerator[FunctionCall | Turn, None]:
        body = self._body | _answer_format(self._start, closing=closing)
        if self._previous is None:
            given = await asyncio.to_thread(_message, self._start.parts, Image.data_uri)
            recorded = _message(self._start.parts, Image.name)
        else:
            given = recorded = _outputs(answers, self._ids, self._start.closing if closing else None)
            body |= {"previous_response_id": self._previous}
        self._session.recorder.begin_call(body | {"input": recorded})
        sent: Any = body | {"input": given}  # the library types each field of a body
        stream = await self._client.responses.create(**sent, extra_headers=_authorization(self._session.secret))
        announced: set[int] = set()
        called = False
        final: Response | None = None
        async with open_stream(stream):
            async for event in stream:
                if event.type == "response.output_item.done":
                    announced.add(event.output_index)
                    if event.item.type == "function_call":
                        called = True
                        yield self._with_own_id(event.item)
                elif event.type in ("response.completed", "response.incomplete", "response.failed"):
                    final = event.response
                    break
                elif event.type == "error":
                    raise failures.from_code(event.code, event.message, self._session.secret)
        if final is None:
            raise failures.truncated(self._session.recorder.last)
        if (cost := spent(final.to_dict(mode="json", warnings=False))) is not None:
            self._session.recorder.spend(cost)
        _require_completed(final, self._session.secret)
        for place, item in enumerate(final.output):
            if item.type == "function_call" and place not in announced:
                called = True
                yield self._with_own_id(item)
        if called and not final.id:
            raise ModelError("NON_RETRYABLE", "The answer has no id that its calls could be answered to.", name="NoId")
        self._previous = final.id
        yield Turn(final.id, final.model, final.output_text)

    def _with_own_id(self, item: ResponseFunctionToolCall) -> FunctionCall:
        call = self._call_ids.assign(FunctionCall(item.call_id, item.name, item.arguments))
        self._ids[call.id] = item.call_id
        return call


def _answer_format(start: ConversationStart, *, closing: bool) -> dict[str, JsonValue]:
    """The part of the body about the answer's form."""
    added: dict[str, JsonValue] = {"tool_choice": "none"} if closing and start.tools else {}
    if (schema := start.schema_for(closing=closing)) is not None:
        form = {"type": "json_schema", "name": start.schema_name, "schema": dict(schema), "strict": True}
        added["text"] = {"format": cast(JsonValue, form)}
    return added


def _require_completed(response: Response, secret: str) -> None:
    if response.status == "completed":
        if any(part.type == "refusal" for item in response.output if item.type == "message" for part in item.content):
            raise failures.refusal()
        return
    if response.status == "failed" or response.error is not None:
        error = response.error
        raise failures.from_code(error.code if error else None, error.message if error else None, secret)
    details = response.incomplete_details
    if details is not None and details.reason == "content_filter":
        raise failures.refusal()
    raise failures.incomplete(str((details.reason if details else None) or response.status or "no status"), secret)


def _authorization(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def _message(parts: Sequence[str | Image], address: Callable[[Image], str]) -> JsonValue:
    """The message as a plain string, or as a list if it has pictures."""
    if not has_pictures(parts):
        return join_words(parts)
    content: list[JsonValue] = [
        {"type": "input_text", "text": part}
        if isinstance(part, str)
        else {"type": "input_image", "detail": "auto", "image_url": address(part)}
        for part in parts
    ]
    return [{"type": "message", "role": "user", "content": content}]


def _outputs(answers: Mapping[str, str], ids: Mapping[str, str], closing: str | None = None) -> JsonValue:
    """The answers to function calls, and the closing words. `ids` are the provider's ids of the calls, by ours.

    The provider stores the conversation and requires one output for each of its ids, so calls with the same id are
    answered together.
    """
    shared: dict[str, list[str]] = {}
    for call, answer in answers.items():
        shared.setdefault(ids[call], []).append(answer)
    items: list[JsonValue] = [
        {"type": "function_call_output", "call_id": id_, "output": _merge(each)} for id_, each in shared.items()
    ]
    if closing is not None:
        items.append({"type": "message", "role": "user", "content": closing})
    return items


def _merge(answers: Sequence[str]) -> str:
    if len(answers) == 1:
        return answers[0]
    return json.dumps({"note": "Several calls came under this id. Their answers, in order:", "answers": answers})
