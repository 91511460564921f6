"""Every provider of a real model over a loopback server that speaks its protocol, and a brief to try them with."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Never
from uuid import UUID

from pydantic import JsonValue, SecretStr

from analyses.fact_check import ClaimReview
from analyses.flagging import Review
from analyses.kinds import Tool
from analyses.submission import SUBMIT_CORRECTION, parse_correction
from contracts.steps import Turns
from contracts.v1.parts import ClaimPayload, Source
from kit.models.anthropic import AnthropicMessages
from kit.models.base import (
    Article,
    Brief,
    Checkpoint,
    ClaimInDoubt,
    Decision,
    Finished,
    Image,
    Limits,
    Model,
    Published,
)
from kit.models.chat_completions import ChatCompletions
from kit.models.openai_responses import OpenAIResponses
from kit.models.provider import LIVE, Provider, ProviderDeps
from tests.support.openai_server import Answer, OpenAIServer, Turn, call, message, openai_server
from tests.support.speeches import Chat, Google, Messages, Responses, Speech

TEXT = "It was a fine day. Bats are blind. We went home."
KEY = SecretStr("sk-instance-key-0123456789abcdef")
USER_KEY = SecretStr("sk-reader-key-fedcba9876543210")
SUBMIT = "submit_correction"
RETAIN = "retain_correction"
FETCH = "fetch_url"
OLD = UUID(int=7)
CLAIM = ClaimPayload(
    text="Bats are blind.",
    context=TEXT,
    summary="They see.",
    reasoning="All species see.",
    sources=(Source(url="https://example.org/bats", title="Bats", snippet="Bats can see."),),
)
ARGUMENTS = CLAIM.model_dump(mode="json")
DONE = Answer((message("done"),))
VERDICT_SCHEMA: Mapping[str, JsonValue] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved", "reason"],
    "additionalProperties": False,
}
REVIEW: Brief[Never, Review] = Brief(
    step="FACT_CHECK/review",
    instructions="review instructions",
    parts=("the claim",),
    read=ClaimReview().read,
    schema=VERDICT_SCHEMA,
    subject=ClaimInDoubt(CLAIM, TEXT),
    published=Published(),
)
Found = ClaimPayload | UUID
Look = Brief[Found, str]
TOOLS = (SUBMIT_CORRECTION, Tool(RETAIN, "Keep one.", {"type": "object"}), Tool(FETCH, "Read one.", {"type": "object"}))


def decide(name: str, arguments: str) -> ClaimPayload | UUID:
    """As a kind does: a new claim, or the id of the one that is kept."""
    if name == RETAIN:
        return UUID(json.loads(arguments)["id"])
    return parse_correction(arguments)


def brief(
    *,
    research: Mapping[str, Callable[[str], Awaitable[str]]] | None = None,
    limits: Limits | None = None,
    parts: tuple[str | Image, ...] = ("the article",),
    **given: Any,
) -> Look:
    """A brief of a look whose answer is its last words."""
    look: Look = Brief(
        step="FACT_CHECK/look",
        instructions="instructions",
        parts=parts,
        read=lambda answer, _: answer,
        turns=Turns(with_tools=150),
        tools=TOOLS,
        decide=decide,
        research=research or {},
        limits=limits or Limits(),
        subject=Article(TEXT),
    )
    return replace(look, **given)


@dataclass(frozen=True)
class Api:
    """One provider: how its server speaks and how it is made."""

    name: str
    speech: Callable[[], Speech]
    make: Callable[..., Provider]
    protocol: str

    @property
    def is_chat(self) -> bool:
        """Whether it is chat completions, whose models have no price of their own."""
        return self.protocol == "chat"

    def __repr__(self) -> str:
        return self.name


def _openai(url: str, **settings: Any) -> Provider:
    return OpenAIResponses(base_url=url, **settings)


def _anthropic(url: str, **settings: Any) -> Provider:
    return AnthropicMessages(base_url=url.removesuffix("/v1"), **settings)


def _chat(url: str, **settings: Any) -> Provider:
    return ChatCompletions(base_url=url, **dict[str, Any](model="local-model", sees_pictures=True) | settings)


def _google(url: str, **settings: Any) -> Provider:
    given = dict[str, Any](model="gemini-pro-latest", sees_pictures=True, provider="google") | settings
    return ChatCompletions(base_url=f"{url.removesuffix('/v1')}/v1beta/openai/", **given)


OPENAI = Api("openai", Responses, _openai, "openai")
ANTHROPIC = Api("anthropic", Messages, _anthropic, "anthropic")
CHAT = Api("chat", Chat, _chat, "chat")
GOOGLE = Api("google", Google, _google, "chat")
APIS = (OPENAI, ANTHROPIC, CHAT, GOOGLE)


@asynccontextmanager
async def provider(
    api: Api,
    *turns: Turn,
    key: SecretStr | None = KEY,
    silence_s: float = 10.0,
    deps: ProviderDeps = LIVE,
    **settings: Any,
) -> AsyncIterator[tuple[Provider, OpenAIServer]]:
    """A model and the server that it asks, which plays these turns."""
    async with openai_server(OpenAIServer(api.speech())) as server:
        server.script(*turns)
        model = api.make(server.url, key=key, silence_s=silence_s, deps=deps, **settings)
        try:
            yield model, server
        finally:
            await model.aclose()


async def run(
    model: Model, asked: Look | None = None, key: SecretStr | None = None
) -> tuple[list[Decision[Found]], Finished[str]]:
    """All decisions and the end of a run."""
    items = [item async for item in model.converse(asked or brief(), key) if not isinstance(item, Checkpoint)]
    assert isinstance(items[-1], Finished)
    decisions = [item for item in items[:-1] if isinstance(item, Decision)]
    assert len(decisions) == len(items) - 1
    return decisions, items[-1]


def submit(call_id: str, arguments: object = ARGUMENTS) -> dict[str, Any]:
    """A call that submits the claim."""
    return call(SUBMIT, arguments, call_id)


def answers(api: Api, body: Mapping[str, Any]) -> dict[str, str]:
    """The outputs that a request gives to calls, by call id; each id once."""
    match api.protocol:
        case "openai":
            given = [(item["call_id"], item["output"]) for item in body["input"]]
        case "anthropic":
            last = body["messages"][-1]["content"]
            given = [(block["tool_use_id"], block["content"]) for block in last]
        case _:
            said = body["messages"]
            last_words = max(place for place, each in enumerate(said) if each["role"] == "assistant")
            given = [(each["tool_call_id"], each["content"]) for each in said[last_words + 1 :]]
    assert len({call_id for call_id, _ in given}) == len(given)
    return dict(given)
