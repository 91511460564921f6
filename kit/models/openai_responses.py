"""The OpenAI Responses API as a Model: one streamed conversation per run, each submission passed on as its call ends.

The SDK never retries here (a repeated call is paid for twice; retries belong to delivery), and the client holds no key:
it is sent with each request, so one reader's key cannot serve another's run.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Literal

import httpx2
import openai
from openai.types.responses import FunctionToolParam, Response, ResponseFunctionToolCall, ToolParam
from openai.types.responses.response_input_item_param import FunctionCallOutput
from openai.types.shared_params import Reasoning
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from contracts.v1.parts import ModelName
from kit.models import openai_errors, openai_input
from kit.models.base import (
    Finished,
    InvestigationBrief,
    KeyAccepted,
    KeyRefused,
    KeyStatus,
    ModelError,
    ReviewBrief,
    Submission,
    Verdict,
)
from kit.models.openai_exchange import Exchange

Effort = Literal["minimal", "low", "medium", "high"]

KEY_FORMAT = re.compile(r"sk-[A-Za-z0-9_-]{20,}")
PROBE_S = 8.0
_SENDABLE_KEY = re.compile(r"[!-~]+")


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    approved: bool
    reason: str = ""


class OpenAIResponses:
    """Model over the Responses API or a server that speaks it. Source: CONTRACT section 5.7.

    Units: `silence_s` is how long the provider may send nothing before the call counts as lost.
    """

    labelled_demo = False
    sees_pictures = True

    def __init__(
        self,
        *,
        key: SecretStr | None,
        model: str = "gpt-5.4",
        base_url: str = "https://api.openai.com/v1",
        effort: Effort = "medium",
        max_rounds: int = 150,
        silence_s: float = 300.0,
    ) -> None:
        self.name = ModelName(provider="openai", model=model)
        self._key = key
        self._reasoning = Reasoning(effort=effort, summary="detailed")
        self._max_rounds = max_rounds
        self._client = openai.AsyncOpenAI(
            api_key="sent-with-each-request",
            base_url=base_url,
            max_retries=0,
            timeout=httpx2.Timeout(silence_s, connect=5.0),
        )
        self._client.organization = self._client.project = None

    async def aclose(self) -> None:
        """Close the connections; the model cannot be used afterwards."""
        await self._client.close()

    async def investigate(
        self, brief: InvestigationBrief, key: SecretStr | None = None
    ) -> AsyncGenerator[Submission | Finished, None]:
        """Run stage 1. Shapes: any number of Submission, each call id once, then one Finished. Raises: ModelError."""
        secret = self._secret(key)
        tools: list[ToolParam] = [
            {"type": "web_search"},
            *(
                FunctionToolParam(
                    type="function",
                    name=tool.name,
                    description=tool.description,
                    parameters=dict(tool.parameters),
                    strict=True,
                )
                for tool in brief.tools
            ),
        ]
        exchange = Exchange("investigation", self._recorded(brief.instructions) | {"tools": tools}, secret)
        failed: ModelError
        while True:
            try:
                async with aclosing(self._rounds(brief, tools, exchange, secret)) as steps:
                    async for step in steps:
                        yield step
                return
            except ModelError as error:
                failed = error
            except openai_errors.PROVIDER_ERRORS as error:
                failed = openai_errors.from_exception(error, secret)
            if failed.name != openai_errors.PICTURE_REFUSED or not openai_input.has_pictures(brief.parts):
                raise _with_record(failed, exchange)
            # One picture that the provider cannot read must not keep a post from being looked at.
            brief = replace(brief, parts=(f"{brief.message}\n\n{openai_input.WITHOUT_PICTURES}",))

    async def _rounds(
        self, brief: InvestigationBrief, tools: list[ToolParam], exchange: Exchange, secret: str
    ) -> AsyncGenerator[Submission | Finished, None]:
        """Ask, answer the calls, ask again, until the model calls nothing."""
        given = await openai_input.as_input(brief.parts)
        recorded = openai_input.as_record(brief.parts)
        previous: str | None = None
        answers: dict[str, str] = {}
        for _ in range(self._max_rounds):
            exchange.ask(recorded, previous)
            stream = await self._client.responses.create(
                model=self.name.model,
                instructions=brief.instructions,
                input=given if isinstance(given, str) else [*given],
                previous_response_id=previous or openai.omit,
                tools=tools,
                reasoning=self._reasoning,
                stream=True,
                extra_headers=_authorization(secret),
            )
            called: dict[str, None] = {}
            final: Response | None = None
            async with stream:
                async for event in stream:
                    if event.type == "response.output_item.done":
                        exchange.item(event.item.model_dump(mode="json", exclude_unset=True, warnings=False))
                        if event.item.type == "function_call":
                            called[event.item.call_id] = None
                            if submission := _answer(event.item, brief, answers):
                                yield submission
                    elif event.type in ("response.completed", "response.incomplete", "response.failed"):
                        final = event.response
                        break
                    elif event.type == "error":
                        raise openai_errors.from_code(event.code, event.message, secret)
            if final is None:
                raise ModelError("PARTIAL", "The answer ended before it was complete.", name="Truncated")
            exchange.answer(final)
            if unfinished := openai_errors.from_unfinished(final, secret):
                raise unfinished
            for item in final.output:
                if item.type == "function_call" and item.call_id not in called:
                    called[item.call_id] = None
                    if submission := _answer(item, brief, answers):
                        yield submission
            if not called:
                yield Finished(
                    usage=exchange.usage,
                    model=self.name.model_copy(update={"version": final.model}),
                    transcript=exchange.transcript(),
                    response_id=final.id,
                    output_text=final.output_text,
                )
                return
            given = recorded = [
                FunctionCallOutput(type="function_call_output", call_id=call_id, output=answers[call_id])
                for call_id in called
            ]
            previous = final.id
        reason = f"The model still called tools after {self._max_rounds} rounds."
        raise ModelError("NON_RETRYABLE", reason, name="RoundLimit")

    async def review(self, brief: ReviewBrief, key: SecretStr | None = None) -> Verdict:
        """Ask stage 2 about one claim. Raises: ModelError."""
        secret = self._secret(key)
        exchange = Exchange("review", self._recorded(brief.instructions), secret)
        exchange.ask(brief.message)
        failed: ModelError
        try:
            response = await self._client.responses.create(
                model=self.name.model,
                instructions=brief.instructions,
                input=brief.message,
                reasoning=self._reasoning,
                text={
                    "format": {
                        "type": "json_schema",
                        "name": "claim_validation_result",
                        "schema": dict(brief.schema),
                        "strict": True,
                    }
                },
                extra_headers=_authorization(secret),
            )
            exchange.answer(response)
            if unfinished := openai_errors.from_unfinished(response, secret):
                raise unfinished
            answer = _Answer.model_validate_json(response.output_text)
        except ModelError as error:
            failed = error
        except ValidationError:
            failed = ModelError("NON_RETRYABLE", "The review does not have the asked-for shape.", name="BadAnswer")
        except openai_errors.PROVIDER_ERRORS as error:
            failed = openai_errors.from_exception(error, secret)
        else:
            return Verdict(
                approved=answer.approved,
                reason=answer.reason.strip() or None,
                usage=exchange.usage,
                model=self.name.model_copy(update={"version": response.model}),
                transcript=exchange.transcript(),
            )
        raise _with_record(failed, exchange)

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Try a key with one tiny call. Source: CONTRACT section 2.5."""
        secret = key.get_secret_value()
        if not KEY_FORMAT.fullmatch(secret):
            return KeyRefused("format_invalid", "An OpenAI API key starts with sk- and has no spaces.")
        try:
            async with asyncio.timeout(PROBE_S):
                await self._client.responses.create(
                    model=self.name.model,
                    input="Answer with OK.",
                    max_output_tokens=16,
                    store=False,
                    extra_headers=_authorization(secret),
                )
        except openai.AuthenticationError:
            return KeyRefused("invalid", "OpenAI does not accept this API key.")
        except openai.PermissionDeniedError:
            return KeyRefused("authenticated_restricted", f"This API key may not use the model {self.name.model}.")
        except TimeoutError:
            return KeyRefused("error", f"OpenAI did not answer within {PROBE_S:.0f} seconds.")
        except openai_errors.PROVIDER_ERRORS as error:
            return KeyRefused("error", openai_errors.from_exception(error, secret).reason)
        return KeyAccepted()

    def _secret(self, key: SecretStr | None) -> str:
        chosen = key or self._key
        secret = chosen.get_secret_value() if chosen else ""
        if not _SENDABLE_KEY.fullmatch(secret):
            raise ModelError("NON_RETRYABLE", "There is no usable API key for this run.", name="MissingKey")
        return secret

    def _recorded(self, instructions: str) -> dict[str, object]:
        return {"model": self.name.model, "reasoning": self._reasoning, "instructions": instructions}


def _authorization(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def _answer(call: ResponseFunctionToolCall, brief: InvestigationBrief, answers: dict[str, str]) -> Submission | None:
    """Decide the answer to a call once; a repeated call id gets the same answer and submits nothing."""
    if call.call_id in answers:
        return None
    if all(tool.name != call.name for tool in brief.tools):
        answers[call.call_id] = json.dumps({"ok": False, "error": "There is no function of this name."})
        return None
    try:
        claim = brief.parse(call.arguments)
    except ValueError as error:
        answers[call.call_id] = json.dumps({"error": str(error)})
        return None
    answers[call.call_id] = json.dumps({"acknowledged": True})
    return Submission(call_id=call.call_id, claim=claim)


def _with_record(failed: ModelError, exchange: Exchange) -> ModelError:
    failed.usage = exchange.usage
    failed.transcript = exchange.transcript(failed)
    return failed
