"""An investigation run again is the same to the byte, whichever provider answered; whatever changed since shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr

from analyses.evidence import Evidence
from analyses.gates import RULES
from contracts.transcript import Price, Transcript
from contracts.v1 import (
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    ClaimRetained,
    Envelope,
    Event,
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationStarted,
)
from contracts.v1.gates import GatePolicy
from contracts.v1.ids import claim_id
from contracts.v1.parts import PublishedClaim, Source, TextRef, Usage
from kit.blob_settings import BlobMissing
from kit.documents.reading import Reader
from kit.history import StoredFact
from kit.models.base import Limits, Model
from kit.models.provider import ProviderDeps
from kit.sources import Page, PageUnavailable
from lifecycle.conclusion import conclude
from services.commands.investigation.comparison import Comparison, Difference
from services.commands.investigation.replay import replay
from services.investigator.domain import Prior
from services.validator.handlers import Validator
from services.validator.sources import compare_with_page, read_words
from tests.support.factories import (
    INVESTIGATION_ID,
    NOW,
    OTHER_QUOTE,
    QUOTE,
    VERSION_ID,
    payload,
    rejected,
    requested,
    snapshot,
)
from tests.support.fakes import (
    FixedPriors,
    MemoryKeys,
    MemoryLog,
    MemoryTexts,
    StillClock,
    handled,
    investigator_over,
)
from tests.support.logged import entry
from tests.support.openai_server import Answer, HttpError, Turn, call, message
from tests.support.providers import APIS, FETCH, OPENAI, RETAIN, SUBMIT, USER_KEY, Api, provider

USAGE = {"input_tokens": 1000, "output_tokens": 500, "total_tokens": 1500}
SAYS_NO = Answer((message(json.dumps({"approved": False, "reason": "not airtight"})),), usage=USAGE)
FOUND = Answer(
    (
        call(FETCH, {"url": "https://example.org"}, "a"),
        call(SUBMIT, payload(QUOTE).model_dump(mode="json"), "b"),
        call(SUBMIT, payload("Nobody wrote this.").model_dump(mode="json"), "c"),
        call(SUBMIT, "{", "d"),
    ),
    usage=USAGE,
)
DONE = Answer((message("done"),), usage=USAGE)
ATTACHMENT = UUID(int=7)
CHEAP = Price(input=1, output=1, cached=1, cache_write=1)


class Shelf:
    """Pages that say what they are quoted for, or do not, kept as a validator keeps them."""

    def __init__(self, texts: MemoryTexts) -> None:
        self.html = "<title>A record</title><p>So: It is otherwise.</p>"
        self.gone = False
        self._texts = texts

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        if self.gone:
            return tuple(compare_with_page(source, PageUnavailable("http_404")) for source in sources)
        blob = await self._texts.put(self.html.encode("latin-1"), "text/html")
        kind = "text/html; charset=latin-1"
        text = await read_words(Reader(), self.html.encode("latin-1"), kind)
        return tuple(compare_with_page(source, Page(source.url, blob, NOW, text, kind)) for source in sources)


class World:
    """A log and texts, and an investigation in them as the services tell it."""

    def __init__(
        self, prior: Prior | None = None, *, unchecked_allowed: bool = False, readers_key: SecretStr | None = None
    ) -> None:
        self.unchecked_allowed = unchecked_allowed
        self.request = requested()
        self.keys = MemoryKeys()
        if readers_key is not None:
            self.request = requested(key_source="USER", attachment=ATTACHMENT)
            self.keys = MemoryKeys(**{str(ATTACHMENT): readers_key.get_secret_value()})
        self.log = MemoryLog(self.request, versions={VERSION_ID: snapshot()})
        self.texts = MemoryTexts()
        self.prior = prior
        self.shelf = Shelf(self.texts)

    def told(self, kind: str) -> list[Event]:
        """Facts by the last word of their subject."""
        return [event for event in self.log.events if event.SUBJECT.endswith(f".{kind}")]

    async def lives(self, model: Model, deliveries: Sequence[int] = (1,), reviews: int = 1) -> None:
        """All attempts, all verdicts and the end."""
        clock = StillClock()
        investigator = investigator_over(self.log, self.texts, model, self.keys, FixedPriors(self.prior), clock=clock)
        for delivery in deliveries:
            await handled(investigator.on_investigation_requested(self.request, delivery), self.log, clock)
        validator = Validator(
            self.log,
            self.texts,
            self.keys,
            model,
            self.shelf,
            clock,
            unchecked_allowed=self.unchecked_allowed,
        )
        for event in self.log.events:
            for delivery in range(1, 1 + reviews):
                if isinstance(event, ClaimProposed):
                    await handled(validator.on_claim_proposed(event, delivery), self.log, clock)
        found = await self.log.investigation(self.request.investigation_id)
        if found is not None and (end := conclude(found)) is not None:
            self.log.publish(end)

    def past(self, *changed: Event) -> Sequence[StoredFact]:
        """The log, with these facts in the place of those of their class."""
        kinds = {type(event): event for event in changed}
        return [
            StoredFact(
                entry.sequence,
                Envelope(
                    id=uuid4(), occurred_at=NOW, correlation=uuid4(), event=kinds.get(type(entry.event), entry.event)
                ),
            )
            for entry in self.log.entries
            if entry.event.key() == self.request.key()
        ]

    def the(self, kind: type[Event]) -> Event:
        """The one fact of a class."""
        (event,) = (each for each in self.log.events if isinstance(each, kind))
        return event

    async def again(self, *changed: Event) -> list[Comparison]:
        """Every step run again."""
        stored = dict(self.texts.stored)
        compared = [each async for each in replay(self.past(*changed), self.texts)]
        assert self.texts.stored == stored, "a replay stores nothing"
        return compared

    async def tampered(self, old: str, new: str) -> list[Comparison]:
        """The same, with other words in the transcript of the draft."""
        draft = self.the(InvestigationDrafted)
        assert isinstance(draft, InvestigationDrafted)
        text = await self.texts.get_text(draft.transcript)
        assert old in text
        other = TextRef(sha256=draft.transcript.sha256, size_bytes=1, inline=text.replace(old, new))
        return await self.again(draft.model_copy(update={"transcript": other}))


def all_same(compared: Sequence[Comparison]) -> bool:
    return all(each.same for each in compared)


@pytest.mark.requirement("2.12-04")
@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_a_run_its_review_and_its_end_are_the_same(api: Api) -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    world = World()
    async with provider(api, FOUND, DONE, SAYS_NO) as (model, server):
        await world.lives(model)
        assert len(server.requests) == 3
    assert isinstance(world.log.events[-1], InvestigationCompleted)
    compared = await world.again()
    assert [each.step.split(" of claim")[0] for each in compared] == [
        "attempt 1",
        "review",
        "review",
        "the end of round 1",
    ]
    assert [each.facts for each in compared] == [5, 1, 1, 1]
    assert all_same(compared), compared
    assert compared == await world.again()


def refuses(key: SecretStr) -> HttpError:
    """A provider that quotes the key it refuses."""
    said = f"Incorrect API key provided: {key.get_secret_value()}."
    return HttpError(401, {"error": {"message": said, "type": "invalid_request_error", "code": "invalid_api_key"}})


@pytest.mark.requirement("2.1-08", "2.12-04")
@pytest.mark.parametrize(
    ("turns", "steps"),
    [((FOUND, DONE, SAYS_NO), 4), ((FOUND, refuses(USER_KEY)), 2), ((FOUND, DONE, refuses(USER_KEY)), 4)],
    ids=["goes through", "key refused in the run", "key refused in a review"],
)
async def test_a_run_that_a_reader_paid_for_is_the_same_without_the_key(turns: tuple[Turn, ...], steps: int) -> None:
    """2.1-08: User OpenAI key path.
    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    world = World(readers_key=USER_KEY)
    async with provider(OPENAI, *turns) as (model, server):
        await world.lives(model)
    assert {request.headers["authorization"] for request in server.requests} == {
        f"Bearer {USER_KEY.get_secret_value()}"
    }
    begun = world.the(InvestigationStarted)
    assert isinstance(begun, InvestigationStarted)
    assert (begun.key_source, begun.attachment) == ("USER", ATTACHMENT)
    kept = repr([world.log.events, world.texts.stored])
    assert USER_KEY.get_secret_value() not in kept
    assert ("[key]" in kept) is (turns[-1] is not SAYS_NO)
    compared = await world.again()
    assert (len(compared), all_same(compared)) == (steps, True), compared
    assert not any(each.note or each.problem for each in compared)
    other = begun.model_copy(update={"attachment": uuid4()})
    assert not (await world.again(other))[0].same, "who paid is part of what is compared"


@pytest.mark.requirement("2.12-05")
async def test_an_update_run_is_the_same_without_what_was_found_before() -> None:
    """2.12-05: Update lineage stored."""
    old = claim_id(INVESTIGATION_ID, QUOTE, QUOTE)
    prior = Prior(uuid4(), "An older text.", (PublishedClaim(claim_id=old, payload=payload(QUOTE)),))
    keeps = Answer(
        (call(RETAIN, {"id": str(old)}, "a"), call(SUBMIT, payload(OTHER_QUOTE).model_dump(mode="json"), "b"))
    )
    world = World(prior)
    async with provider(OPENAI, keeps, DONE, SAYS_NO) as (model, _):
        await world.lives(model)
    assert world.the(ClaimRetained)
    compared = await world.again()
    assert compared[0].facts == 5
    assert all_same(compared), compared


@pytest.mark.requirement("3.7-01")
async def test_attempts_that_failed_fail_again_in_the_same_way() -> None:
    """3.7-01: Four attempts, then FAILED."""
    world = World()
    turns: tuple[Turn, ...] = (FOUND, HttpError(500), HttpError(429, headers={"retry-after": "30"}), HttpError(401))
    async with provider(OPENAI, *turns) as (model, _):
        await world.lives(model, deliveries=(1, 2, 3))
    compared = await world.again()
    assert [each.step for each in compared[:3]] == ["attempt 1", "attempt 2", "attempt 3"]
    assert all_same(compared), compared


@pytest.mark.requirement("2.12-04", "3.6-03")
@pytest.mark.parametrize("api", APIS, ids=repr)
@pytest.mark.parametrize("loses", ["its connection", "its life"])
async def test_a_run_that_went_on_from_another_attempt_is_the_same(api: Api, loses: str) -> None:
    """The first attempt fails in its third round, or its worker dies there.

    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    3.6-03: A run whose worker died is taken up again.
    """
    world = World()
    more = Answer((call(SUBMIT, payload(OTHER_QUOTE).model_dump(mode="json"), "e"),), usage=USAGE)
    fails = () if loses == "its life" else (HttpError(500),)
    async with provider(api, FOUND, more, *fails, DONE, SAYS_NO, SAYS_NO, SAYS_NO) as (model, server):
        if loses == "its life":
            run = investigator_over(world.log, world.texts, model).on_investigation_requested(world.request, 1)
            while len(world.told("advanced")) < 2:
                world.log.publish(await anext(run))
            await run.aclose()  # type: ignore[attr-defined]  # async generators have aclose
            await world.lives(model, deliveries=(2,))
        else:
            await world.lives(model, deliveries=(1, 2))
        asked = sum("tools" in request.body for request in server.requests)
    assert asked == (3 if loses == "its life" else 4), "no answer was asked for twice"
    assert isinstance(world.log.events[-1], InvestigationCompleted)
    first, second = world.told("advanced")
    assert isinstance(first, InvestigationAdvanced)
    assert isinstance(second, InvestigationAdvanced)
    assert (first.before, second.before) == (None, first.segment.sha256)
    draft = world.the(InvestigationDrafted)
    assert isinstance(draft, InvestigationDrafted)
    assert (draft.attempt, draft.usage.total_tokens, len(draft.claim_ids)) == (2, 1500, 3)
    compared = await world.again()
    assert [each.step for each in compared[:2]] == ["attempt 1", "attempt 2"]
    assert (compared[0].note, compared[0].facts >= 5) == (None, True)
    assert all_same(compared), compared
    assert not (await world.tampered("Mount Everest was", "Mount Nothing was"))[1].same


@pytest.mark.requirement("2.12-04")
@pytest.mark.parametrize("advances", [1, 2])
async def test_a_run_that_its_reviews_made_too_dear_leaves_what_was_said_and_fails_again(advances: int) -> None:
    """Its reviews cost what was left when the model had answered so many times.

    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    world = World()
    limits = Limits(cost_micro_usd=1_000_000)
    more = Answer((call(SUBMIT, payload(OTHER_QUOTE).model_dump(mode="json"), "e"),), usage=USAGE)
    async with provider(OPENAI, FOUND, more, deps=ProviderDeps(price=lambda _: CHEAP)) as (model, server):
        run = investigator_over(world.log, world.texts, model, limits=limits)
        async for event in run.on_investigation_requested(world.request, 1):
            world.log.publish(event)
            if isinstance(event, InvestigationAdvanced) and event.calls == advances:
                world.log.publish(rejected(QUOTE, usage=Usage(total_tokens=1, cost_micro_usd=1_000_000)))
        assert len(server.requests) == advances
    end = world.the(InvestigationFailed)
    assert isinstance(end, InvestigationFailed)
    assert end.error_name == "CostLimit"
    assert end.transcript is not None
    transcript = Transcript.model_validate_json(await world.texts.get_text(end.transcript))
    assert (len(transcript.calls), transcript.taken_over) == (advances, 0)
    assert transcript.error is not None
    assert (transcript.error.name, transcript.error.reason) == (end.error_name, end.reason)
    compared = await world.again()
    assert compared[0].facts == len(world.log.events) - 2
    assert compared[0].same, compared


@pytest.mark.requirement("2.12-04")
async def test_words_changed_in_a_transcript_show() -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    world = World()
    async with provider(OPENAI, FOUND, DONE, SAYS_NO) as (model, _):
        await world.lives(model)
    compared = await world.tampered("It is otherwise.", "It is not so at all.")
    assert not compared[0].same
    assert (
        Difference("claim.proposed.payload.summary", "It is otherwise.", "It is not so at all.")
        in compared[0].differences
    )
    assert all_same(compared[1:])
    assert not (await world.tampered("Mount Everest was", "Mount Nothing was"))[0].same


@pytest.mark.requirement("2.12-04")
@pytest.mark.parametrize("rules", [None, "fact-check-rules-0"], ids=["before they had numbers", "earlier ones"])
async def test_what_was_made_under_other_rules_and_differs_is_named_so(rules: str | None) -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    world = World()
    async with provider(OPENAI, ONE, DONE, SAYS_YES) as (model, _):
        await world.lives(model)
    begun, verdict = world.the(InvestigationStarted), world.the(ClaimApproved)
    other = [event.model_copy(update={"rules": rules}) for event in (begun, verdict)]
    compared = await world.again(*other)
    assert all_same(compared), "the same facts come of today's rules"
    (page,) = world.texts.objects
    world.texts.objects[page] = b"<p>It is no record.</p>"
    attempt, review, _ = await world.again(*other)
    assert (attempt.same, review.same, review.explained) == (True, False, True)
    assert review.differences
    assert review.made_under == f"{rules or 'rules that had no number yet'}, today's are {begun.model_dump()['rules']}"
    (_, review, _) = await world.again()
    assert (review.same, review.explained) == (False, False), "today's rules must give the same"
    del world.texts.objects[page]
    (_, review, _) = await world.again(*other)
    assert (review.same, review.explained) == (False, False), "a record that is gone is no rule's doing"


@pytest.mark.requirement("2.12-02", "2.12-04")
async def test_so_is_what_was_asked_with_another_prompt() -> None:
    """2.12-02: Prompt version/hash/text persisted.
    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    world = World()
    async with provider(OPENAI, DONE) as (model, _):
        await world.lives(model)
    begun = world.the(InvestigationStarted)
    assert isinstance(begun, InvestigationStarted)
    version = begun.prompt.version
    before = begun.model_copy(update={"prompt": begun.prompt.model_copy(update={"version": "fact-check-0"})})
    compared = (await world.again(before))[0]
    assert compared.explained
    assert compared.made_under == f"fact-check-0, today's is {version}"


@pytest.mark.requirement("2.12-04", "2.12-06")
async def test_a_claim_that_today_s_rules_let_through_shows() -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    2.12-06: Source snapshots with hash and retrieval time.
    """
    world = World()
    async with provider(OPENAI, ONE, DONE, SAYS_NO) as (model, _):
        await world.lives(model)
    verdict = world.the(ClaimRejected)
    by_rule = verdict.model_copy(update={"gate": "rule", "transcript": None, "prompt": None})
    assert [(each.same, each.explained) for each in await world.again(by_rule)][1] == (False, False)
    by_older_rules = by_rule.model_copy(update={"rules": None})
    assert [(each.same, each.explained) for each in await world.again(by_older_rules)][1] == (False, True)
    by_older_gates = by_rule.model_copy(update={"policy": GatePolicy(rules="gates-1")})
    (_, review, *_) = await world.again(by_older_gates)
    assert (review.same, review.explained) == (False, True)
    assert review.made_under == f"gates-1, today's are {RULES}"


async def test_an_end_that_does_not_follow_shows() -> None:
    world = World()
    async with provider(OPENAI, FOUND, DONE, SAYS_NO) as (model, _):
        await world.lives(model)
    end = world.the(InvestigationCompleted)
    claim = PublishedClaim(claim_id=uuid4(), payload=payload(QUOTE))
    compared = await world.again(end.model_copy(update={"claims": (claim,)}))
    assert [each.same for each in compared] == [True, True, True, False]


async def test_a_transcript_that_is_gone_is_said_to_be() -> None:
    world = World()
    async with provider(OPENAI, DONE) as (model, _):
        await world.lives(model)

    class Emptied(MemoryTexts):
        async def get_text(self, ref: TextRef) -> str:
            raise BlobMissing("no object")

    compared = [each async for each in replay(world.past(), Emptied())]
    assert compared[0].problem == "its transcript cannot be read: no object"
    assert not compared[0].same


async def test_a_run_whose_worker_was_lost_has_nothing_to_replay() -> None:
    world = World()
    async with provider(OPENAI, DONE) as (model, _):
        await world.lives(model)
    del world.log.entries[2:]
    (compared,) = await world.again()
    assert (compared.same, compared.note) == (True, "no exchange with a model is on record")


async def test_the_record_that_is_replayed_is_the_one_that_was_made() -> None:
    world = World()
    async with provider(OPENAI, DONE) as (model, _):
        await world.lives(model)
    draft = world.the(InvestigationDrafted)
    assert isinstance(draft, InvestigationDrafted)
    assert Transcript.model_validate_json(await world.texts.get_text(draft.transcript)).calls


SAYS_YES = Answer((message(json.dumps({"approved": True, "reason": "ok"})),), usage=USAGE)
ONE = Answer((call(SUBMIT, payload(QUOTE).model_dump(mode="json"), "b"),), usage=USAGE)


@pytest.mark.requirement("2.12-04", "2.12-06")
@pytest.mark.parametrize("html", ["<p>Fran\xe7ois: It is otherwise.</p>", "<p>It is so.</p>"], ids=["found", "missing"])
async def test_verdicts_are_reached_again_over_the_pages_that_were_kept(html: str) -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    2.12-06: Source snapshots with hash and retrieval time.
    """
    world = World()
    world.shelf.html = html
    async with provider(OPENAI, ONE, DONE, SAYS_YES) as (model, _):
        await world.lives(model)
    compared = await world.again()
    assert len(compared) == 3
    assert all_same(compared), compared
    (page,) = world.texts.objects
    world.texts.objects[page] = b"<p>It is no record.</p>" if "other" in html else b"<p>It is otherwise.</p>"
    assert [each.same for each in await world.again()] == [True, False, True]
    del world.texts.objects[page]
    assert [each.same for each in await world.again()] == [True, False, True]


@pytest.mark.requirement("2.12-04", "2.12-06")
@pytest.mark.parametrize("allowed", [False, True], ids=["refuse", "allow"])
async def test_a_verdict_is_reached_again_under_the_setting_of_then(allowed: bool) -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    2.12-06: Source snapshots with hash and retrieval time.
    """
    world = World(unchecked_allowed=allowed)
    world.shelf.gone = True
    async with provider(OPENAI, ONE, DONE, SAYS_YES) as (model, _):
        await world.lives(model)
    verdict = world.the(ClaimApproved if allowed else ClaimRejected)
    assert verdict.model_dump()["unchecked_allowed"] is allowed
    assert all_same(await world.again())
    before = verdict.model_copy(update={"unchecked_allowed": None})
    assert all_same(await world.again(before)), "facts of before do not say"
    other = await world.again(verdict.model_copy(update={"unchecked_allowed": not allowed}))
    assert [each.same for each in other] == [True, False, True]


@pytest.mark.requirement("2.12-04")
async def test_a_claim_that_a_rule_refused_is_refused_again() -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    world = World()
    nowhere = Answer((call(SUBMIT, payload("Nobody wrote this.").model_dump(mode="json"), "b"),), usage=USAGE)
    async with provider(OPENAI, nowhere, DONE) as (model, _):
        await world.lives(model)
    compared = await world.again()
    assert (len(compared), all_same(compared)) == (3, True)
    refused = world.the(ClaimRejected)
    assert not (await world.again(refused.model_copy(update={"reason": "It is a joke."})))[1].same


@pytest.mark.requirement("2.12-04")
async def test_reviews_that_failed_for_now_fail_again() -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    world = World()
    async with provider(OPENAI, ONE, DONE, HttpError(503), HttpError(429), SAYS_YES) as (model, _):
        await world.lives(model, reviews=3)
    compared = await world.again()
    assert [each.step.rpartition(", ")[2] for each in compared[1:3]] == ["review attempt 1", "review attempt 2"]
    assert (len(compared), all_same(compared)) == (5, True), compared


@pytest.mark.requirement("2.12-04")
async def test_a_forged_verdict_shows() -> None:
    """Its end follows from it, so only the verdict itself can give it away.

    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    world = World()
    async with provider(OPENAI, ONE, DONE, SAYS_YES) as (model, _):
        await world.lives(model)
    verdict, end = world.the(ClaimApproved), world.the(InvestigationCompleted)
    assert isinstance(verdict, ClaimApproved)
    forged = verdict.payload.model_copy(update={"summary": "Words that nobody ever said.", "text": "That is all."})
    claims = (PublishedClaim(claim_id=verdict.claim_id, payload=forged),)
    for changed in ({"payload": forged}, {"payload": forged, "sources": ()}, {"sources": ()}, {"usage": Usage()}):
        compared = await world.again(verdict.model_copy(update=changed), end.model_copy(update={"claims": claims}))
        assert not compared[1].same, changed
    without = await world.again(verdict.model_copy(update={"transcript": None}))
    assert [each.replayed for each in without[1].differences] == ["a model is called now; no call was recorded"]


@pytest.mark.requirement("2.12-04")
async def test_a_refusal_made_an_approval_shows() -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    world = World()
    async with provider(OPENAI, ONE, DONE, SAYS_NO) as (model, _):
        await world.lives(model)
    said = world.the(ClaimRejected)
    assert isinstance(said, ClaimRejected)
    proposed = world.the(ClaimProposed)
    assert isinstance(proposed, ClaimProposed)
    forged = ClaimApproved(
        version_id=proposed.version_id,
        payload=proposed.payload,
        **said.model_dump(exclude={"gate", "reason"}),
    )
    place = next(number for number, entry in enumerate(world.log.entries) if entry.event is said)
    world.log.entries[place] = entry(world.log.entries[place].sequence, forged)
    compared = await world.again()
    assert not compared[1].same
