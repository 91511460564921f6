"""A replay asks the gates that were asked then, with their policy and at their time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from analyses.evidence import CitedText, Evidence
from analyses.gates import RULES
from analyses.snippets import page_text
from contracts.v1 import ClaimHeld, ClaimRejected
from contracts.v1.gates import GatePolicy
from contracts.v1.parts import Source
from kit.sources import Page
from services.commands.investigation.comparison import Comparison
from services.commands.investigation.replay import replay
from services.commands.investigation.review_replay import replay_review
from services.validator.sources import compare_with_page
from tests.support.factories import NOW, payload, proposed, requested, started
from tests.support.fakes import MemoryLog, MemoryTexts, verdict
from tests.support.judging import InMemory, Judge

PAGE = b"In the archive: the first ascent was on 29 May 1953. So it is recorded."
SOURCE = Source(url="https://institute.example/everest", title="A page", snippet="the first ascent was on 29 May 1953")


class Archived:
    """The page, in the archive."""

    def __init__(self, blobs: MemoryTexts) -> None:
        self._blobs = blobs

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        blob = await self._blobs.put(PAGE, "text/plain")
        page = Page(SOURCE.url, blob, NOW, CitedText(page_text(PAGE.decode())), "text/plain")
        return tuple(compare_with_page(each, page) for each in sources)


async def replayed(policy: GatePolicy) -> tuple[ClaimRejected, Comparison]:
    """A rejection, and its replay."""
    log, blobs = MemoryLog(requested(), started()), MemoryTexts()
    judge = Judge(InMemory(log), verdict(approved=True), sources=Archived(blobs), policy=policy)
    log.publish(claim := proposed(payload=payload(summary="It was in 1953.", sources=(SOURCE,))))
    (fact,) = (await judge.judge(claim)).facts
    assert isinstance(fact, ClaimRejected)
    return fact, await replay_review(log.entries[-1].sequence, fact, log.entries, blobs)


@pytest.mark.parametrize(
    ("policy", "gate"),
    [
        (GatePolicy(rules=RULES), "families"),
        (GatePolicy(rules="gates-1"), "families"),
        (GatePolicy(rules=RULES, off=("families",), families=2), "contradiction"),
        (GatePolicy(rules=RULES, ugc_hosts=("institute.example",)), "independence"),
    ],
    ids=[
        "as they are",
        "as the first version was",
        "one was off, and the page was young then",
        "the operator's own host",
    ],
)
async def test_a_replay_asks_the_gates_of_then(policy: GatePolicy, gate: str) -> None:
    fact, comparison = await replayed(policy)
    assert fact.gate == gate
    assert comparison.same, comparison


async def test_a_held_approval_is_replayed_as_it_was_made_and_its_verdict_is_no_second_review() -> None:
    log, blobs = MemoryLog(requested(), started()), MemoryTexts()
    held_by = GatePolicy(rules=RULES, families=1)
    judge = Judge(InMemory(log), verdict(approved=True), sources=Archived(blobs), policy=held_by, hold=True)
    log.publish(claim := proposed(payload=payload(summary="It was in 1953.", sources=(SOURCE,))))
    (fact,) = (await judge.judge(claim)).facts
    assert isinstance(fact, ClaimHeld)
    log.publish(fact.approval)
    held, verdict_ = [each async for each in replay(log.entries, blobs) if each.step.startswith("review")]
    assert held.note is None
    assert verdict_.note == "the claim had a verdict before; the first one counts"
