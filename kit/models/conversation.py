"""The loop of a conversation with any provider: decisions at once, research in parallel, each call answered once.

Providers differ in how a call is written and how the next request refers to the last one; that is a `Conversation`.
The rules about decisions, limits and failures are here, so that they are the same for all providers.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol

from contracts.spent import format_usd
from contracts.v1.parts import ModelName
from kit.models.base import (
    AnswerT,
    Brief,
    Checkpoint,
    Decision,
    DecisionT,
    Finished,
    Limits,
    ModelError,
)
from kit.models.events import SHAPE_ERRORS, BadEvent
from kit.models.failures import price_unknown
from kit.models.recording import Recorder

RESEARCH_AT_ONCE = 8
ACKNOWLEDGED = json.dumps({"acknowledged": True})
ENOUGH = json.dumps({"ok": False, "error": "Nothing more of this is taken in this run. Come to an end."})
NO_MORE_LOOKUPS = json.dumps({"ok": False, "error": "Nothing more is looked up."})


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A complete function call of the model."""

    id: str
    name: str
    arguments: str


class CallIds:
    """Makes the ids of a run's calls unique: a repeated call keeps its id, another call with that id gets a new one.

    Some providers use an id twice. Dropping such a call would lose a claim, or leave the model without an answer.
    """

    def __init__(self) -> None:
        self._calls: dict[str, FunctionCall] = {}

    def assign(self, call: FunctionCall) -> FunctionCall:
        """The call with a unique id. Raises: BadEvent: it is not of the documented shape."""
        if not all(isinstance(each, str) for each in (call.id, call.name, call.arguments)):
            raise BadEvent("call")
        unique, number = call, 1
        while self._calls.setdefault(unique.id, unique) != unique:
            number += 1
            unique = replace(call, id=f"{call.id}-{number}")
        return unique


@dataclass(frozen=True, slots=True)
class Turn:
    """The end of one answer. `goes_on`: the provider paused and expects another request without new content.

    Shapes: `alternatives` are the likeliest first tokens with their probabilities, empty if unknown.
    """

    response_id: str | None
    version: str | None
    text: str
    goes_on: bool = False
    alternatives: Mapping[str, float] = field(default_factory=dict)


class Conversation(Protocol):
    """A conversation with a provider, from the first request on."""

    def ask(self, answers: Mapping[str, str], *, closing: bool = False) -> AsyncGenerator[FunctionCall | Turn, None]:
        """Send the next request: first the brief, then the answers to the calls of the last turn, by call id.

        Shapes: any number of FunctionCall, each as soon as it is complete, with unique ids, then one Turn. `closing`
        adds the closing words, offers no tools and asks for the schema. Raises: ModelError, and the client library's
        own errors.
        """


class _Decisions(Generic[DecisionT]):
    """Accepts the model's decisions within the limits, and answers each deciding call."""

    def __init__(self, brief: Brief[DecisionT, AnswerT], answers: dict[str, str]) -> None:
        self._decide = brief.decide
        self._offered = {tool.name for tool in brief.tools}
        self._limits = brief.limits.decisions
        self._answers = answers
        self._accepted: Counter[str] = Counter()

    @property
    def any(self) -> bool:
        """Whether a decision was accepted."""
        return bool(self._accepted)

    def take(self, call: FunctionCall) -> Decision[DecisionT] | None:
        """The decision in a call, or None if the call was refused; writes the call's answer."""
        if call.name not in self._offered:
            self._answers[call.id] = json.dumps({"ok": False, "error": "There is no function of this name."})
            return None
        try:
            value = self._decide(call.name, call.arguments)
        except ValueError as error:
            self._answers[call.id] = json.dumps({"error": str(error)})
            return None
        if self._accepted[call.name] >= self._limits.get(call.name, sys.maxsize):
            self._answers[call.id] = ENOUGH
            return None
        self._accepted[call.name] += 1
        self._answers[call.id] = ACKNOWLEDGED
        return Decision(call.id, value)


async def run(
    brief: Brief[DecisionT, AnswerT], talk: Conversation, recorder: Recorder, model: ModelName
) -> AsyncGenerator[Decision[DecisionT] | Checkpoint | Finished[AnswerT], None]:
    """Send requests and answer the calls until the model makes none. Raises: as `Conversation.ask`."""
    if brief.limits.cost_micro_usd is not None and recorder.usage.cost_micro_usd is None:
        raise price_unknown(model.model)
    answers: dict[str, str] = {}
    decisions = _Decisions(brief, answers)
    calls: dict[str, FunctionCall] = {}
    closing = False
    for left in reversed(range(brief.turns.with_tools + (brief.turns.closing is not None))):
        open_ids = list(calls)
        calls = {}
        turn: Turn | None = None
        async with aclosing(talk.ask({id_: answers[id_] for id_ in open_ids}, closing=closing)) as events:
            while (event := await _next(events)) is not None:
                if isinstance(event, Turn):
                    turn = replace(event, text=recorder.redact(event.text))
                    continue
                call = calls[event.id] = replace(event, arguments=recorder.redact(event.arguments))
                if call.id in answers or call.name in brief.research:
                    continue
                if (decision := decisions.take(call)) is not None:
                    yield decision
        assert turn is not None
        if closing or (not calls and not turn.goes_on):
            try:
                answer = _read(brief, turn, recorder, decided=decisions.any)
            except ModelError:
                if closing or brief.turns.closing is None:
                    raise
            else:
                version = model.model_copy(update={"version": turn.version})
                yield Finished(answer, recorder.own_usage, version, recorder.transcript())
                return
        _stay_within(brief.limits, recorder)
        if not left:
            break
        if (checkpoint := recorder.checkpoint()) is not None:
            yield checkpoint
        ended = not calls and not turn.goes_on
        closing = brief.turns.closing is not None and (left == 1 or ended)
        waiting = [call for call in calls.values() if call.id not in answers]
        if closing:
            answers.update((call.id, NO_MORE_LOOKUPS) for call in waiting)
        else:
            await _look_up(waiting, brief.research, recorder, answers)
    reason = f"The model still called tools after {brief.turns.with_tools} rounds."
    raise ModelError("NON_RETRYABLE", reason, name="RoundLimit")


async def _next(events: AsyncGenerator[FunctionCall | Turn, None]) -> FunctionCall | Turn | None:
    """The next event, None at the end. Raises: BadEvent: the provider's answer is not of the documented shape."""
    try:
        return await anext(events, None)
    except SHAPE_ERRORS as error:
        raise BadEvent(type(error).__name__) from None


def _read(brief: Brief[DecisionT, AnswerT], turn: Turn, recorder: Recorder, *, decided: bool) -> AnswerT:
    if brief.schema is None and not decided and not turn.text.strip():
        # A model that found nothing says so in words; an empty answer without a decision is a failure.
        raise ModelError("NON_RETRYABLE", "The model ended without an answer.", name="EmptyAnswer")
    if brief.weigh is not None and (weighed := brief.weigh(turn.alternatives)) is not None:
        return weighed
    try:
        return brief.read(turn.text, recorder.lookups)
    except ValueError as error:
        raise ModelError("NON_RETRYABLE", str(error), name="BadAnswer") from None


async def _look_up(
    calls: list[FunctionCall],
    research: Mapping[str, Callable[[str], Awaitable[str]]],
    recorder: Recorder,
    answers: dict[str, str],
) -> None:
    places = asyncio.Semaphore(RESEARCH_AT_ONCE)

    async def one(call: FunctionCall) -> None:
        async with places:
            answers[call.id] = await recorder.research(call.id, call.name, call.arguments, research[call.name])

    async with asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(one(call))


def _stay_within(limits: Limits, recorder: Recorder) -> None:
    usage = recorder.usage
    if limits.tokens is not None and usage.total_tokens >= limits.tokens:
        reason = f"The run used {usage.total_tokens} tokens and wanted more; its limit is {limits.tokens}."
        raise ModelError("NON_RETRYABLE", reason, name="TokenLimit")
    cost = usage.cost_micro_usd
    if limits.cost_micro_usd is not None and cost is not None and cost >= limits.cost_micro_usd:
        reason = f"The run cost {format_usd(cost)} and wanted more; its limit is {format_usd(limits.cost_micro_usd)}."
        raise ModelError("NON_RETRYABLE", reason, name="CostLimit")
