"""The gates in the validator: what they refuse costs no review, and only what counts is published."""

from __future__ import annotations

from collections.abc import Sequence

from analyses.evidence import CitedText, Evidence
from analyses.gates import GATES, REASONS, RULES
from analyses.snippets import page_text
from contracts.v1 import ClaimApproved, ClaimHeld, ClaimProposed, ClaimRejected
from contracts.v1.gates import GatePolicy
from contracts.v1.parts import BlobRef, Source
from kit.sources import Page
from services.validator.sources import compare_with_page
from tests.support.factories import NOW, QUOTE, payload, proposed, requested, started
from tests.support.fakes import MemoryLog, verdict
from tests.support.judging import InMemory, Judge

POLICY = GatePolicy(rules=RULES)
PAGES = {
    "https://institute.example/everest": "In the archive: the first ascent was on 29 May 1953. So it is recorded.",
    "https://handbook.example/peaks": "Peaks in short. Everest was climbed for the first time in 1953, by two people.",
    "https://en.wikipedia.org/wiki/Everest": "An encyclopaedia says that the first ascent was in 1953, too.",
}
SNIPPETS = (
    "the first ascent was on 29 May 1953",
    "Everest was climbed for the first time in 1953",
    "the first ascent was in 1953",
)


class Pages:
    """The pages as they would be fetched."""

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        blob = BlobRef(sha256="0" * 64, size_bytes=1, media_type="text/html")
        return tuple(
            compare_with_page(each, Page(each.url, blob, NOW, CitedText(page_text(PAGES[each.url]))))
            for each in sources
        )


def claim(*cited: int) -> ClaimProposed:
    """A candidate that cites these pages."""
    urls = list(PAGES)
    sources = tuple(Source(url=urls[each], title="A page", snippet=SNIPPETS[each]) for each in cited)
    return proposed(QUOTE, payload=payload(QUOTE, summary="It was climbed in 1953.", sources=sources))


def judge(policy: GatePolicy | None = POLICY) -> Judge:
    """A validator whose reviewer approves."""
    log = InMemory(MemoryLog(requested(), started()))
    return Judge(log, verdict(approved=True), sources=Pages(), policy=policy)


async def test_only_sources_that_count_are_published_and_every_gate_is_on_record() -> None:
    (fact,) = (await judge().judge(claim(2, 0, 1))).facts
    assert isinstance(fact, ClaimApproved)
    assert [each.url for each in fact.payload.sources] == list(PAGES)[:2]
    assert len(fact.sources) == 3, "what was looked up is on record whether it counts or not"
    assert fact.policy == POLICY
    assert [(each.gate, each.outcome) for each in fact.gates] == [(gate, "PASS") for gate in GATES]


async def test_what_a_gate_refuses_is_not_reviewed() -> None:
    validator = judge()
    (fact,) = (await validator.judge(claim(0, 2))).facts
    assert isinstance(fact, ClaimRejected)
    assert (fact.gate, fact.reason) == ("families", REASONS["TOO_FEW_SOURCES"])
    assert (fact.gates[-1].gate, fact.gates[-1].code) == ("families", "TOO_FEW_SOURCES")
    assert (validator.model.reviews, validator.begun) == ([], [])


async def test_without_a_policy_no_gate_judges() -> None:
    (fact,) = (await judge(policy=None).judge(claim(2))).facts
    assert isinstance(fact, ClaimApproved)
    assert (fact.policy, fact.gates) == (None, ())


async def test_where_claims_are_held_the_approval_is_kept_back_and_asked_for_once() -> None:
    log = InMemory(MemoryLog(requested(), started()))
    validator = Judge(log, verdict(approved=True), sources=Pages(), policy=POLICY, hold=True)
    (fact,) = (await validator.judge(claim(0, 1))).facts
    assert isinstance(fact, ClaimHeld)
    (unheld,) = (await judge().judge(claim(0, 1))).facts
    assert fact.approval == unheld
    assert fact.held_at == validator.clock.now()
    assert (await validator.judge(claim(0, 1), 2)).facts == []
    assert len(validator.model.reviews) == 1


async def test_what_is_refused_is_not_held() -> None:
    validator = Judge(
        InMemory(MemoryLog(requested(), started())), verdict(approved=False), sources=Pages(), policy=POLICY, hold=True
    )
    (fact,) = (await validator.judge(claim(0, 1))).facts
    assert isinstance(fact, ClaimRejected)
