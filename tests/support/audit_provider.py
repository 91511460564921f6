"""A provider for all three stages of an audit, which writes a bill for every call: each costs money, however it ends.

An article's claims are its lines, but for those that begin with a number sign. For each claim two pages are opened.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from services.auditor.domain import CLAIM_AUDIT
from tests.support.analysing import CONFIDENT, OFFICE, PAPER
from tests.support.assessing import ASSESSED
from tests.support.openai_server import Answer, Broken, Json, OpenAIServer, Request, Turn, call, message

Step = Literal["extract", "analyse", "assess"]
_STEPS: Final[Mapping[str, Step]] = {
    CLAIM_AUDIT.extract.prompt.text: "extract",
    CLAIM_AUDIT.analyse.prompt.text: "analyse",
    CLAIM_AUDIT.assess.prompt.text: "assess",
}
CALLS: Final[Mapping[Step, int]] = {"extract": 1, "analyse": 3, "assess": 1}
"""The calls of an undisturbed step."""
_BLOCK: Final = re.compile(r"<<<BEGIN (ARTICLE|CLAIM) ([0-9a-f]+)>>>\n(.*?)\n<<<END \1 \2>>>", re.DOTALL)


@dataclass(frozen=True)
class Bill:
    """One call that was begun, with how many answers of each run were stored by then."""

    payer: str
    step: Step
    subject: str
    turn: int
    stored: Mapping[str, int]


@dataclass
class AuditProvider(OpenAIServer):
    """Answers by the step that a request is about.

    `troubles` are what the next calls about a claim or an article are answered with instead. `hold` leaves the next
    call of a step hanging, paid. Units: `seconds` that a call of a step takes.
    """

    bills: list[Bill] = field(default_factory=list)
    troubles: dict[tuple[Step, str], list[Turn]] = field(default_factory=dict)
    gates: dict[tuple[Step, str], asyncio.Event] = field(default_factory=dict)
    seconds: Mapping[Step, float] = field(default_factory=dict)
    count_answers: Callable[[], Mapping[str, int]] = Counter
    opened: tuple[str, ...] = (OFFICE, PAPER)
    held: asyncio.Event = field(default_factory=asyncio.Event)
    most_at_once: Counter[Step] = field(default_factory=Counter)
    _thinking: Counter[Step] = field(default_factory=Counter)
    caught: list[Bill] = field(default_factory=list)
    _holding: set[tuple[Step, int]] = field(default_factory=set)
    _asked: dict[str, tuple[Step, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    def hold(self, step: Step, turn: int = 0) -> None:
        """Charge the next such call and never answer it; `caught` has its bill."""
        self._holding.add((step, turn))
        self.held.clear()

    def paid(self, step: Step, subject: str | None = None) -> list[Bill]:
        """The calls of a step, about everything or about one claim or article."""
        return [each for each in self.bills if each.step == step and subject in (None, each.subject)]

    def turn(self, request: Request) -> Turn:
        """Write a bill and answer."""
        before = request.body.get("previous_response_id")
        step, subject = self._asked[before] if before else _read(request)
        self._asked[f"resp_{len(self.requests)}"] = step, subject
        turn = max((int(each) + 1 for each in re.findall(r"'page-(\d+)'", str(request.body))), default=0)
        payer = request.headers["authorization"].removeprefix("Bearer ")
        self.bills.append(Bill(payer, step, subject, turn, self.count_answers()))
        if (step, turn) in self._holding:
            self._holding.remove((step, turn))
            self.caught.append(self.bills[-1])
            self.held.set()
            return Broken("silence")
        if self.troubles.get((step, subject)):
            return self.troubles[step, subject].pop(0)
        return Answer((self._answer(step, subject, turn),), gate=self._find_gate(step, subject))

    def _find_gate(self, step: Step, subject: str) -> asyncio.Event | None:
        if step in self.seconds:
            thought = asyncio.Event()
            self._thinking[step] += 1
            self.most_at_once[step] = max(self.most_at_once[step], self._thinking[step])
            asyncio.get_running_loop().call_later(self.seconds[step], self._end_thought, step, thought)
            return thought
        return self.gates.get((step, subject))

    def _end_thought(self, step: Step, thought: asyncio.Event) -> None:
        self._thinking[step] -= 1
        thought.set()

    def _answer(self, step: Step, subject: str, turn: int) -> Json:
        match step:
            case "extract":
                lines = [line for line in subject.splitlines() if not line.startswith("#")]
                claims = [{"text": line, "is_central": True, "volatility": "TIMELESS"} for line in lines]
                return message(json.dumps({"language": "en", "thesis": "It is so.", "claims": claims}))
            case "analyse" if turn < len(self.opened):
                return call("fetch_url", {"url": self.opened[turn]}, f"page-{turn}")
            case "analyse":
                return message(json.dumps(CONFIDENT))
            case _:
                return message(json.dumps(ASSESSED))


def _read(request: Request) -> tuple[Step, str]:
    """The step, and the claim or the article that it is about."""
    shown = "\n".join(_texts(request.body["input"]))
    found = _BLOCK.search(shown)
    assert found is not None, shown
    return _STEPS[request.body["instructions"]], found[3]


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for each in value.values():
                yield from _texts(each)
        case list():
            for each in value:
                yield from _texts(each)
