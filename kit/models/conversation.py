"""The one loop of a run, whichever provider is asked: outcomes at once, research in parallel, each call answered once.

Providers differ in how a call is written and how the next question refers to the last; that is a `Conversation`. All
that decides about claims, limits and failures is here, so no provider can decide it otherwise.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import UUID

from contracts.spent import usd
from contracts.v1.parts import ModelName
from kit.models.base import Finished, InvestigationBrief, ModelError, Outcome, Retention, Submission
from kit.models.failures import price_unknown
from kit.models.recording import Recorder

RESEARCH_AT_ONCE = 8
ACKNOWLEDGED = json.dumps({"acknowledged": True})
ENOUGH = json.dumps({"ok": False, "error": "No more corrections are taken in this run. Come to an end."})


@dataclass(frozen=True, slots=True)
class Asked:
    """A function call of the model's, complete."""

    id: str
    name: str
    arguments: str


class Names:
    """Tells the calls of one run apart: the same call again has its id, another call under that id gets one of its own.

    Providers do give an id twice. A call that is dropped for it is a claim that is lost, or a model left waiting.
    """

    def __init__(self) -> None:
        self._known: dict[str, Asked] = {}

    def named(self, call: Asked) -> Asked:
        """The call under the id that is its alone."""
        asked, number = call, 1
        while self._known.setdefault(asked.id, asked) != asked:
            number += 1
            asked = replace(call, id=f"{call.id}-{number}")
        return asked


@dataclass(frozen=True, slots=True)
class Turn:
    """The end of one answer. `goes_on`: the provider paused and wants to be asked again, with nothing to add."""

    response_id: str | None
    version: str | None
    text: str
    goes_on: bool = False


class Conversation(Protocol):
    """One exchange with a provider, from the first question on."""

    def ask(self, answers: Mapping[str, str]) -> AsyncGenerator[Asked | Turn, None]:
        """Put the next question: the opening, later the answers to the calls of the turn before, by call id.

        Shapes: any number of Asked, each as soon as it is complete and different ones under different ids, then one
        Turn. Raises: ModelError, and whatever the client library raises.
        """
        ...


async def run(
    brief: InvestigationBrief, talk: Conversation, recorder: Recorder, model: ModelName
) -> AsyncGenerator[Outcome | Finished, None]:
    """Ask, answer the calls, ask again, until the model calls nothing. Raises: as `Conversation.ask`."""
    if brief.limits.cost_micro_usd is not None and recorder.usage.cost_micro_usd is None:
        raise price_unknown(model.model)
    answers: dict[str, str] = {}
    asked: dict[str, Asked] = {}
    outcomes = submissions = 0
    for left in reversed(range(brief.limits.rounds)):
        open_ids = list(asked)
        asked = {}
        turn: Turn | None = None
        async with aclosing(talk.ask({id_: answers[id_] for id_ in open_ids})) as events:
            async for event in events:
                if isinstance(event, Turn):
                    turn = event
                    continue
                asked[event.id] = event
                if event.id in answers or event.name in brief.research:
                    continue
                outcome = _decide(event, brief, answers)
                if isinstance(outcome, Submission):
                    submissions += 1
                    if brief.limits.submissions is not None and submissions > brief.limits.submissions:
                        answers[event.id] = ENOUGH
                        continue
                if outcome is not None:
                    outcomes += 1
                    yield outcome
        assert turn is not None
        if not asked and not turn.goes_on:
            if not outcomes and not turn.text.strip():
                # Nothing found is said in words; an empty answer after no outcome is not that.
                raise ModelError("NON_RETRYABLE", "The model ended without an answer.", name="EmptyAnswer")
            yield Finished(
                usage=recorder.own_usage,
                model=model.model_copy(update={"version": turn.version}),
                transcript=recorder.transcript(),
                response_id=turn.response_id,
                output_text=turn.text,
            )
            return
        _stay_within(brief, recorder)
        if not left:
            break
        if (advance := recorder.advance()) is not None:
            yield advance
        await _look_up([call for call in asked.values() if call.id not in answers], brief, recorder, answers)
    reason = f"The model still called tools after {brief.limits.rounds} rounds."
    raise ModelError("NON_RETRYABLE", reason, name="RoundLimit")


def _decide(call: Asked, brief: InvestigationBrief, answers: dict[str, str]) -> Submission | Retention | None:
    if all(tool.name != call.name for tool in brief.tools):
        answers[call.id] = json.dumps({"ok": False, "error": "There is no function of this name."})
        return None
    try:
        decided = brief.decide(call.name, call.arguments)
    except ValueError as error:
        answers[call.id] = json.dumps({"error": str(error)})
        return None
    answers[call.id] = ACKNOWLEDGED
    if isinstance(decided, UUID):
        return Retention(call_id=call.id, claim_id=decided)
    return Submission(call_id=call.id, claim=decided)


async def _look_up(calls: list[Asked], brief: InvestigationBrief, recorder: Recorder, answers: dict[str, str]) -> None:
    places = asyncio.Semaphore(RESEARCH_AT_ONCE)

    async def one(call: Asked) -> None:
        async with places:
            answers[call.id] = await recorder.research(call.id, call.name, call.arguments, brief.research[call.name])

    async with asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(one(call))


def _stay_within(brief: InvestigationBrief, recorder: Recorder) -> None:
    limits, usage = brief.limits, recorder.usage
    if limits.tokens is not None and usage.total_tokens >= limits.tokens:
        reason = f"The run used {usage.total_tokens} tokens and wanted more; its limit is {limits.tokens}."
        raise ModelError("NON_RETRYABLE", reason, name="TokenLimit")
    cost = usage.cost_micro_usd
    if limits.cost_micro_usd is not None and cost is not None and cost >= limits.cost_micro_usd:
        reason = f"The run cost {usd(cost)} and wanted more; its limit is {usd(limits.cost_micro_usd)}."
        raise ModelError("NON_RETRYABLE", reason, name="CostLimit")
