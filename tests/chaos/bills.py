"""A provider that counts what it is asked to do, and by whom: every call costs money, however it ends."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from contracts.v1 import ClaimApproved, ClaimProposed, ClaimRejected, InvestigationAdvanced, InvestigationDrafted
from kit.history import StoredFact
from tests.e2e.posts import BRAIN, GOLDFISH, WALL
from tests.support.openai_server import Answer, Broken, HttpError, OpenAIServer, Request, Turn, call, message
from tests.support.providers import RETAIN

INVENTED: Final = "Nobody wrote this."
APPROVED: Final = (BRAIN, WALL)
FIRST, SECOND = "round 1", "round 2"
LONG: Final = " Really." * 2_500
"""So much is said that no answer travels inside a fact: it is in the blob store before anybody can be told."""
STEPS: Final = frozenset({FIRST, SECOND, *(f"review: {text}" for text in (BRAIN, GOLDFISH, WALL))})
"""What an undisturbed run pays for, each once; the invented sentence costs nothing."""
OF_AN_UPDATE: Final = frozenset({FIRST, SECOND, f"review: {GOLDFISH}"})
"""The same of an update run; what it keeps was judged before."""


@dataclass(frozen=True)
class Bill:
    """One call that was begun."""

    payer: str
    step: str
    at: datetime


@dataclass
class Till(OpenAIServer):
    """Submits four sentences in two rounds, approves two on review; of an update run it keeps what may be kept.

    `hold` leaves the next call for a step hanging; `slow` keeps first rounds from ending until it is set. `failing` are
    the answers to the next calls for a step that cost nothing, and `refused` those that were given.
    """

    page: str
    bills: list[Bill] = field(default_factory=list)
    refused: list[Bill] = field(default_factory=list)
    failing: dict[str, list[HttpError]] = field(default_factory=dict)
    holding: str | None = None
    held: asyncio.Event = field(default_factory=asyncio.Event)
    slow: asyncio.Event | None = None

    def __post_init__(self) -> None:
        super().__init__()

    def hold(self, step: str) -> None:
        """Take the money for this step and say nothing."""
        self.holding = step
        self.held.clear()

    def turn(self, request: Request) -> Turn:
        """Write a bill and answer by what is asked."""
        step = _step(request)
        bill = Bill(request.headers["authorization"].removeprefix("Bearer "), step, datetime.now(UTC))
        if failing := self.failing.get(step):
            self.refused.append(bill)
            return failing.pop(0)
        self.bills.append(bill)
        if step == self.holding:
            self.holding = None
            self.held.set()
            return Broken("silence")
        if step == FIRST:
            kept = [call(RETAIN, {"id": id_}, f"keep_{number}") for number, id_ in enumerate(_old_claims(request))]
            texts = (GOLDFISH,) if kept else (BRAIN, GOLDFISH, INVENTED, WALL)
            said = [self._correction(number, text) for number, text in enumerate(texts)]
            return Answer((message("Let me see." + LONG), *kept, *said), gate=self.slow)
        if step == SECOND:
            return Answer((message("Done." + LONG),))
        approved = step.removeprefix("review: ") in APPROVED
        return Answer((message(json.dumps({"approved": approved, "reason": "looked" + LONG})),))

    def _correction(self, number: int, text: str) -> dict[str, object]:
        claim = {
            "text": text,
            "context": text,
            "summary": "It is not so.",
            "reasoning": "The source says otherwise.",
            "sources": [{"url": self.page, "title": "A source", "snippet": "It is otherwise."}],
        }
        return call("submit_correction", claim, f"call_{number}")

    def paid_twice(self) -> list[Bill]:
        """What one and the same worker paid for more than once."""
        count = Counter((bill.payer, bill.step) for bill in self.bills)
        return [bill for bill in self.bills if count[bill.payer, bill.step] > 1]

    def paid_though_stored(self, facts: Iterable[StoredFact]) -> list[Bill]:
        """What was paid for after its result was published and stored."""
        stored = _results(facts)
        return [bill for bill in self.bills if bill.step in stored and bill.at > stored[bill.step]]


def _step(request: Request) -> str:
    if "tools" in request.body:
        return SECOND if request.body.get("previous_response_id") else FIRST
    return _review(json.dumps(request.body["input"]))


def _old_claims(request: Request) -> list[str]:
    """What may be kept of an earlier version."""
    tools = [tool for tool in request.body["tools"] if tool.get("name") == RETAIN]
    return [id_ for tool in tools for id_ in tool["parameters"]["properties"]["id"]["enum"]]


def _review(asked: str) -> str:
    return next(f"review: {text}" for text in (BRAIN, GOLDFISH, WALL) if json.dumps(f'"text": "{text}"')[1:-1] in asked)


def step_of(kept: bytes) -> str | None:
    """The paid step whose result is this object of the blob store, None if it is something else."""
    try:
        record = json.loads(kept)
    except ValueError:
        return None
    if not isinstance(record, dict) or not record.get("calls") or record.get("error"):
        return None
    if record.get("step") == "FACT_CHECK/review":
        return _review(json.dumps(record["input"]))
    return SECOND if record.get("step") else FIRST


def _results(facts: Iterable[StoredFact]) -> dict[str, datetime]:
    """When the result of each paid step was published, of those in the log."""
    quotes: dict[object, str] = {}
    found: dict[str, datetime] = {}
    for fact in facts:
        event, at = fact.envelope.event, fact.envelope.occurred_at
        match event:
            case ClaimProposed():
                quotes[event.claim_id] = event.payload.text
            case ClaimApproved() | ClaimRejected():
                found.setdefault(f"review: {quotes[event.claim_id]}", at)
            case InvestigationAdvanced():
                found.setdefault(FIRST, at)
            case InvestigationDrafted():
                found.setdefault(SECOND, at)
            case _:
                pass
    return found
