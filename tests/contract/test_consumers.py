"""Every consumer eats every example of its fact, twice, with equal results: deliveries repeat."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

import pytest

from contracts.topology import CONSUMERS
from contracts.v1 import (
    EVENTS,
    AssertionAnalysisRequested,
    ClaimHeld,
    ClaimProposed,
    ClaimValidationStarted,
    Event,
    FlagRaised,
    FlagResolved,
    InvestigationRequested,
    InvestigationStarted,
    JobEnded,
    JobRequested,
    JobResolved,
    ObservationReceived,
    envelope_type,
)
from contracts.v1.investigation import KeySource
from contracts.v1.parts import Usage
from contracts.v1.run import RunEnd
from kit.delivery import Handler
from lifecycle.conclusion import conclude
from lifecycle.investigation import Investigation
from services.auditor.domain import Answered, RunRequest
from services.curator.rights import Withdrawals
from services.ingest.handlers import Ingest
from services.investigator.shares import filter_by_payer
from services.verifier.domain import Unavailable
from services.verifier.handlers import AuthorProofs, Verifier
from tests.contract.schemas import examples, name_of
from tests.support.analysing import CONFIDENT
from tests.support.analysing import World as AnalystWorld
from tests.support.assessing import EndWorld
from tests.support.auditing import World
from tests.support.audits import asked, hash_of
from tests.support.concluding_jobs import Texts
from tests.support.curating import HeldWorld, Receiver
from tests.support.factories import NOW, page, requested, snapshot, started, text_ref
from tests.support.fakes import (
    FixedPages,
    MemoryKeys,
    MemoryLog,
    MemoryTexts,
    ScriptedModel,
    StillClock,
    handled,
    investigator_over,
)
from tests.support.judging import InMemory, Judge
from tests.support.logged import logged
from tests.support.objections import cites, objection, requests

ARTICLE: Final = "Mount Everest stands on the border of Nepal and China. It is high."


def ingest_fetched(event: Event) -> Handler:
    """Ingest, with the page's HTML at hand where it is too large for the event."""
    texts = MemoryTexts()
    texts.stored = {ref.sha256: "<p>A wall.</p>" for ref in [event.page.html]}  # type: ignore[attr-defined]  # its own event
    return Ingest(texts, MemoryLog()).on_canonical_fetched


def ingest_observed(event: Event) -> Handler:
    return Ingest(MemoryTexts(), MemoryLog()).on_observation_unverifiable


def ingest_unavailable(event: Event) -> Handler:
    return Ingest(MemoryTexts(), MemoryLog()).on_canonical_unavailable


def investigator(payer: KeySource, event: Event) -> Handler:
    assert isinstance(event, InvestigationRequested)
    log = MemoryLog(versions={event.version_id: snapshot(ARTICLE)})
    log.publish(event.model_copy(update={"follows": 0}))
    keys = MemoryKeys(**{event.key(): "sk-of-a-reader"})
    return filter_by_payer(
        payer, investigator_over(log, MemoryTexts(), ScriptedModel(), keys).on_investigation_requested
    )


def validator(event: Event) -> Handler:
    assert isinstance(event, ClaimProposed)
    text = f"Before. {event.payload.context} After."
    begun = started(
        event.attempt, investigation_id=event.investigation_id, input=snapshot(text, content=text_ref(text))
    )
    return Judge(InMemory(MemoryLog(begun))).validator.on_claim_proposed


def verifier(event: Event) -> Handler:
    return Verifier(FixedPages(page())).on_observation_received


def proofs(event: Event) -> Handler:
    texts = MemoryTexts()
    return AuthorProofs(FixedPages(page()), texts, StillClock(NOW)).on_appeal_proof_offered


def auditor(event: Event) -> Handler:
    assert isinstance(event, JobRequested)
    return World(job=event).auditor.on_job_requested


def assessor(event: Event) -> Handler:
    assert isinstance(event, JobResolved)

    async def on_job_resolved(event: JobResolved, delivery_count: int) -> AsyncIterator[Event]:
        world = EndWorld()
        world.request = world.request.model_copy(update={"job_id": event.job_id})
        await world.resolved()
        async for fact in world.assessor.on_job_resolved(event, delivery_count):
            yield fact

    return on_job_resolved


class AnsweringRuns:
    """Runs whose model answers at once, and looks nothing up."""

    async def carry_out(self, wanted: RunRequest[Any, Any], delivery_count: int) -> AsyncIterator[Any]:
        end = RunEnd(run_id=wanted.run_id, attempt=1, model="gpt-5.4", usage=Usage())
        yield Answered(wanted.step.read(json.dumps(CONFIDENT), ()), end)


def analyst(event: Event) -> Handler:
    assert isinstance(event, AssertionAnalysisRequested)
    world = AnalystWorld()
    world.hold(event)
    return world.analyst(AnsweringRuns()).on_assertion_analysis_requested


def curator(event: Event) -> Handler:
    assert isinstance(event, JobEnded)
    return Receiver(asked(event.job_id), event).webhooks.on_job_ended


def withdrawing(event: Event) -> Handler:
    assert isinstance(event, FlagRaised)
    return Withdrawals(Objections(event), Texts(), StillClock(NOW)).on_flag_raised


def deciding(event: Event) -> Handler:
    assert isinstance(event, FlagResolved)
    flag = objection(1, claim="canonical").model_copy(update={"flag_id": event.flag_id})
    return Withdrawals(Objections(flag), Texts(), StillClock(NOW)).on_flag_resolved


def holding(event: Event) -> Handler:
    assert isinstance(event, ClaimHeld)
    world = HeldWorld(event)
    world.clock.time = event.held_at
    return world.curator().on_claim_held


@dataclass(frozen=True)
class Objections:
    """A log with an objection, and one analysis that it is about."""

    flag: FlagRaised

    async def find_flag(self, flag_id: UUID) -> FlagRaised | None:
        return self.flag

    async def read(self, kinds: Sequence[type[Event]], since: datetime) -> AsyncIterator[Event]:
        page = {"url_sha256": self.flag.url_sha256 or hash_of("page")}
        analysis = cites(1, "page")
        yield requests(1)
        yield analysis.model_copy(update={"citations": (analysis.citations[0].model_copy(update=page),)})


HANDLERS: Final[dict[str, Callable[[Any], Handler]]] = {
    "verifier-observation-received": verifier,
    "verifier-appeal-proof_offered": proofs,
    "ingest-observation-unverifiable": ingest_observed,
    "ingest-canonical-fetched": ingest_fetched,
    "ingest-canonical-unavailable": ingest_unavailable,
    "investigator-investigation-requested": partial(investigator, "INSTANCE"),
    "investigator-investigation-requested-readers": partial(investigator, "USER"),
    "validator-claim-proposed": validator,
    "auditor-job-requested": auditor,
    "auditor-assertion-analysis_requested": analyst,
    "auditor-job-resolved": assessor,
    "curator-job-ended": curator,
    "curator-flag-raised": withdrawing,
    "curator-flag-resolved": deciding,
    "curator-claim-held": holding,
}
FED = [
    pytest.param(
        consumer.name, envelope_type(consumer.event).model_validate(example).event, id=f"{consumer.name}-{name}"
    )
    for consumer in CONSUMERS
    for name, example in examples(consumer.event).items()
]
EVERY_EXAMPLE = [
    pytest.param(envelope_type(event).model_validate(example).event, id=f"{name_of(event)}-{name}")
    for event in EVENTS
    for name, example in examples(event).items()
]
WITHOUT_TEXT = {"ingest-canonical-unavailable-minimal", "ingest-observation-unverifiable-minimal"}
WITHOUT_FACTS = {"curator-job-ended"}
"""What follows from these events is no fact."""
LEFT_TO_ANOTHER = {
    "curator-flag-raised-minimal",  # to a moderator
    "curator-flag-raised-claim",
    "curator-flag-resolved-minimal",  # dismissed
    "investigator-investigation-requested-full",
    "investigator-investigation-requested-readers-minimal",
}


def as_told(facts: Sequence[Event]) -> list[Event]:
    """The facts without the number of the delivery that led to them; a review is announced anew by each delivery."""
    return [
        fact.model_copy(update={"delivery_count": None}) if isinstance(fact, InvestigationStarted) else fact
        for fact in facts
        if not isinstance(fact, ClaimValidationStarted)
    ]


def test_every_consumer_is_fed() -> None:
    assert set(HANDLERS) == {consumer.name for consumer in CONSUMERS}


@pytest.mark.parametrize(("consumer", "event"), FED)
async def test_a_consumer_eats_its_examples_twice(consumer: str, event: Event, request: pytest.FixtureRequest) -> None:
    handler = HANDLERS[consumer](event)
    first = await handled(handler(event, 1))
    second = await handled(handler(event, 2))
    assert as_told(first.facts) == as_told(second.facts)
    assert [each.event_id() for each in as_told(first.facts)] == [each.event_id() for each in as_told(second.facts)]
    if request.node.callspec.id in WITHOUT_TEXT:
        assert "no text" in str(first.gave_up)
    else:
        assert first.gave_up is None
        leads_nowhere = consumer in WITHOUT_FACTS or request.node.callspec.id in LEFT_TO_ANOTHER
        assert bool(first.facts) is not leads_nowhere


async def test_the_verifier_eats_failures_too() -> None:
    event = envelope_type(ObservationReceived).model_validate(examples(ObservationReceived)["full"]).event
    assert isinstance(event, ObservationReceived)
    handler = Verifier(FixedPages(Unavailable("timeout"))).on_observation_received
    first, second = [await handled(handler(event, attempt)) for attempt in (1, 2)]
    assert first.facts == second.facts
    assert len(first.facts) == 1


@pytest.mark.parametrize("event", EVERY_EXAMPLE)
def test_the_concluding_fold_eats_every_fact_twice(event: Event) -> None:
    once, twice = (Investigation.fold(logged(requested(), *([event] * times))) for times in (1, 2))
    assert once is not None
    assert twice is not None
    assert conclude(once) is conclude(twice) is None
