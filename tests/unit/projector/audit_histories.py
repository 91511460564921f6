"""The stream JOBS for tests: audits as the services publish them, decided by `lifecycle.audits`, with their words."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import quote
from uuid import UUID

from contracts.jobs.result import AnalysisBody, Evidence, EvidenceItem, Scenario, Verdict
from contracts.jobs.words import ClaimWords, EntryWords, FlagWords, Remark
from contracts.steps import StepName
from contracts.topology import JOBS
from contracts.v1 import (
    AssertionAnalysed,
    AssertionAnalysisRequested,
    AssertionInvalidated,
    CreditPosted,
    EditMade,
    EntryPublished,
    EntryStaled,
    Event,
    FlagRaised,
    FlagResolved,
    JobEnded,
    JobExtracted,
    JobFetched,
    JobIdempotencyKeyBound,
    JobPlanned,
    JobRequested,
    JobResolved,
    LlmStageConfigured,
    PublisherEpochClosed,
    PublisherRated,
    PublisherScored,
    RetentionPurged,
    RunAdvanced,
    RunFailed,
    RunRetryScheduled,
    RunStarted,
)
from contracts.v1.assertion import AnalysedScenario, Citation, InvalidationReason
from contracts.v1.edit import EditType
from contracts.v1.entry import STALE_PARTS
from contracts.v1.ids import (
    assertion_id,
    entry_id,
    idempotency_id,
    memo_id,
    period_id,
    publisher_id,
    step_run_id,
)
from contracts.v1.job import AuditOptions, AuditPrices, ExtractedClaim, PlannedClaim
from contracts.v1.llm_stage import StageName
from contracts.v1.parts import EphemeralRef, Usage
from contracts.v1.run import RunEnd, StageModel
from lifecycle.audits.cache import (
    LIFETIME,
    Analysed,
    Asked,
    Cached,
    Hit,
    Invalidated,
    Join,
    Miss,
    Request,
    Requested,
    look,
    shape_of,
)
from lifecycle.audits.charges import compute_least, compute_most, count_affordable
from lifecycle.audits.conclusion import resolve
from lifecycle.audits.credits import Period, Terms, extract, release, reserve, settle
from lifecycle.audits.jobs import Job
from lifecycle.audits.runs import ANALYSE, ASSESS, EXTRACT
from tests.unit.projector.histories import START, Tape, digest, uid

CANARY: Final = "The harbour master has sold the lighthouse"
"""A sentence of an article that stands in no fact and no table."""
OPTIONS: Final = AuditOptions(max_claims=3)
PRICES: Final = AuditPrices(extract_micro_usd=3_000, analyse_micro_usd=81_000, assess_micro_usd=30_000)
TERMS: Final = Terms(2_000_000, hard=True, max_open_jobs=5)
REASONS: Final[tuple[InvalidationReason, ...]] = ("RIGHTS", "MODERATION", "EDIT")
STAGES: Final[tuple[StageName, ...]] = ("extract", "analyse", "assess")
USED: Final = Usage(input_tokens=9, output_tokens=1, total_tokens=10, cost_micro_usd=400)


def model_of(step: StepName) -> StageModel:
    return StageModel(step=step, provider="demo", model="demo-1", max_tokens=4_096, temperature=0.0)


def claim_id_of(name: str) -> UUID:
    return assertion_id("v1norm1", "en", digest(name), digest(""))


def body_of(name: str, scenarios: int = 2) -> AnalysisBody:
    """The words of an analysis."""
    return AnalysisBody(families=1, scenarios=tuple(_reading(name, ordinal) for ordinal in range(1, scenarios + 1)))


def _reading(name: str, ordinal: int) -> Scenario:
    verdict = Verdict(
        label="Likely",
        truth_label="PARTIALLY_TRUE",
        probability=0.7,
        confidence=0.6,
        model_confidence=0.8,
        explanation=f"Explained: {name} {ordinal}",
        caps_applied=(),
        uncertainty_factors=("few sources",),
    )
    items = tuple(
        EvidenceItem(
            text=f"Evidence of {name}",
            source_url=f"https://{side}.example/{quote(name)}",
            source_title="A page \u202e of two",
            credibility_score=0.3,
            quotes=(f"quoted {side} " + "word " * 20, "another"),
            summary=None,
            relevance=0.9,
            published_at="2026-01-01",
            family=1,
            looked_up="found",
        )
        for side in ("for", "against")
    )
    return Scenario(
        scenario_id=f"s{ordinal}",
        description=f"Reading {ordinal} of {name}",
        assumptions=("it is meant literally",),
        verdict=verdict,
        evidence=Evidence(supporting=items[:1], opposing=items[1:]),
    )


class AuditTape(Tape):
    """The stream, and the words that its facts refer to, by hash."""

    def __init__(self) -> None:
        super().__init__(JOBS.name)
        self.words: dict[str, str] = {}

    def keep(self, text: str, at: datetime, days: int = 1) -> EphemeralRef:
        """A text that is kept until the hour after so many days."""
        self.words[digest(text)] = text
        until = at.replace(minute=0, second=0, microsecond=0) + timedelta(days=days, hours=1)
        return EphemeralRef(sha256=digest(text), size_bytes=len(text.encode()), until=until)


@dataclass
class Instance:
    """All jobs of an instance together: what was published, in order, with what is decided from it."""

    tape: AuditTape = field(default_factory=AuditTape)
    events: list[tuple[Event, datetime]] = field(default_factory=list)
    now: datetime = START
    periods: dict[UUID, Period] = field(default_factory=dict)
    cached: dict[UUID, Cached] = field(default_factory=dict)
    jobs: dict[UUID, Job] = field(default_factory=dict)
    words_of: dict[UUID, str] = field(default_factory=dict)
    entries: dict[UUID, EntryWords] = field(default_factory=dict)
    edits: dict[UUID, list[EditMade]] = field(default_factory=dict)

    @property
    def sequence(self) -> int:
        """Of the fact published last."""
        return len(self.events)

    def publish(self, event: Event) -> None:
        """Store a fact, and keep what later ones are decided from."""
        self.now += timedelta(seconds=1)
        self.events.append((event, self.now))
        for job in self.jobs.values():
            job.apply(event)
        match event:
            case CreditPosted():
                self.periods[event.account_id] = Period(event.account_id, event.month, event, self.sequence)
            case AssertionAnalysisRequested(assertion_id=id_):
                self.cached[id_] = replace(self._look_up(id_), requested=Requested(self.sequence, self.now, event))
            case AssertionAnalysed(assertion_id=id_):
                self.cached[id_] = replace(self._look_up(id_), analysed=Analysed(self.sequence, self.now, event))
            case AssertionInvalidated(assertion_id=id_):
                self.cached[id_] = replace(self._look_up(id_), invalidated=Invalidated(self.sequence, event))
            case RunFailed():
                for id_, cached in self.cached.items():
                    if cached.requested is not None and cached.requested.event.run_id == event.run_id:
                        self.cached[id_] = replace(cached, requested=replace(cached.requested, failed=True))
            case _:
                pass

    def _look_up(self, id_: UUID) -> Cached:
        return self.cached.get(id_, Cached())

    def period(self, account: UUID) -> Period:
        return self.periods.get(account, Period(account, "2026-01"))

    def intake(self, job: UUID, account: UUID, key: str = "key") -> Iterator[Event]:
        """Key, credit and request; without credit the cache alone is asked."""
        posted = reserve(
            self.period(account),
            TERMS,
            job,
            most=compute_most(PRICES, OPTIONS),
            least=compute_least(PRICES),
        )
        cache_only = not isinstance(posted, CreditPosted)
        if cache_only:
            posted = extract(self.period(account), TERMS, job, self.now.date())
        assert isinstance(posted, CreditPosted)
        yield JobIdempotencyKeyBound(
            key_id=idempotency_id(account, f"{key} {job}"),
            account_id=account,
            job_id=job,
            body_sha256=digest(CANARY),
            expires_at=self.now + timedelta(days=1),
        )
        yield posted
        request = JobRequested(
            job_id=job,
            account_id=account,
            period_id=None if cache_only else period_id(account, posted.month),
            mode="CACHE_ONLY" if cache_only else "CREDIT",
            options=OPTIONS,
            options_hash=digest("options"),
            input_type="TEXT",
            input=self.tape.keep(CANARY, self.now),
            content_sha256=digest(CANARY),
            reserved_micro_usd=0 if cache_only else posted.micro_usd,
            prices=PRICES,
            deadline_at=self.now + timedelta(minutes=15),
        )
        self.jobs[job] = Job(job)
        yield request

    def fetched(self, job: UUID) -> JobFetched:
        return JobFetched(
            job_id=job,
            content_sha256=digest(CANARY),
            characters=len(CANARY),
            language="en",
            reference_day=self.now.date(),
            article=self.tape.keep(f"Title: {CANARY}", self.now),
            stages=tuple(map(model_of, (EXTRACT, ANALYSE, ASSESS))),
            score_epoch=3,
        )

    def extracted(self, job: UUID, names: Sequence[str]) -> JobExtracted:
        claims = tuple(
            ExtractedClaim(
                number=number,
                assertion_id=claim_id_of(name),
                claim_hash=digest(name),
                central=number == 1,
                claim_type="event",
                evaluability="EVALUABLE",
                risk_tier="B",
                domain="harbours",
                volatility="SLOW",
            )
            for number, name in enumerate(names, 1)
        )
        self.words_of.update((claim_id_of(name), name) for name in names)
        return JobExtracted(
            job_id=job,
            extraction=self.tape.keep(f"Extraction: {CANARY} {job}", self.now),
            memo_id=memo_id(uid("account"), digest(CANARY), digest("options"), "p-1"),
            claims=claims,
            end=self.end(step_run_id(job, EXTRACT), 1),
        )

    def end(self, run: UUID, attempt: int) -> RunEnd:
        transcript = self.tape.keep(f"Transcript: {CANARY} {run}", self.now)
        return RunEnd(run_id=run, attempt=attempt, model="demo-1-2026", usage=USED, transcript=transcript)

    def started(self, run: UUID, step: StepName, subject: UUID, attempt: int = 1) -> RunStarted:
        return RunStarted(
            run_id=run,
            step=step,
            subject_id=subject,
            attempt=attempt,
            worker="auditor-1",
            delivery_count=attempt,
            prompt_version="p-1",
            prompt_sha256=digest("prompt"),
            provider="demo",
            model="demo-1",
            rules="r-1",
        )

    def advanced(self, run: UUID, attempt: int = 1, calls: int = 1) -> RunAdvanced:
        segment = self.tape.keep(f"Segment {calls}: {CANARY} {run}", self.now)
        used = Usage(input_tokens=calls, total_tokens=calls)
        return RunAdvanced(run_id=run, attempt=attempt, calls=calls, segment=segment, usage=used)

    def retried(self, run: UUID, attempt: int = 1) -> RunRetryScheduled:
        return RunRetryScheduled(
            run_id=run,
            attempt=attempt,
            failure="TRANSIENT",
            reason="rate_limited",
            status_code=429,
            error_name="RateLimitError",
            usage=Usage(input_tokens=1, total_tokens=1),
            retry_at=self.now + timedelta(seconds=10),
        )

    def requested(self, job: UUID, name: str, run: UUID, follows: int = 0) -> AssertionAnalysisRequested:
        words = ClaimWords(text=f"{name}, says {job}", canonical=name.lower(), reference_day=self.now.date())
        return AssertionAnalysisRequested(
            follows=follows,
            assertion_id=claim_id_of(name),
            run_id=run,
            published_key=f"claim:v1norm1:en:{digest(name)}",
            norm_version="v1norm1",
            language="en",
            canonical_sha256=digest(name),
            guard_sha256=digest(""),
            volatility="SLOW",
            words=self.tape.keep(words.model_dump_json(), self.now, 90),
            shape=shape_of(OPTIONS),
            model=model_of(ANALYSE),
            requested_by=job,
        )

    def analysed(self, name: str, run: UUID, attempt: int = 1) -> AssertionAnalysed:
        estimates = tuple(
            AnalysedScenario(
                ordinal=ordinal, probability=0.7, confidence=0.6, supporting=1, opposing=1, families=1, label="LIKELY"
            )
            for ordinal in (1, 2)
        )
        citations = tuple(
            Citation(
                publisher_id=publisher_id(f"{side}.example"),
                domain=f"{side}.example",
                url_sha256=digest(f"https://{side}.example/{quote(name)}"),
                scenario=ordinal,
                supports=side == "for",
                relevance=0.9,
                outcome="FOUND",
                score=0.3,
                family=1 if side == "for" else 2,
            )
            for ordinal in (1, 2)
            for side in ("for", "against")
        )
        return AssertionAnalysed(
            assertion_id=claim_id_of(name),
            analysis_id=run,
            shape=shape_of(OPTIONS),
            volatility="SLOW",
            expires_at=self.now + LIFETIME,
            body=self.tape.keep(body_of(f"{name} {run}").model_dump_json(), self.now, 90),
            scenarios=estimates,
            recommended=1,
            rollup="SUPPORTED",
            citations=citations,
            score_epoch=3,
            end=self.end(run, attempt),
        )

    def entry(self, name: str) -> EntryPublished:
        """A claim gets its page."""
        id_ = entry_id(claim_id_of(name))
        self.entries[id_] = EntryWords(entry_id=id_, wording=name, domain="harbours")
        self.edits[id_] = []
        return EntryPublished(
            entry_id=id_, assertion_id=claim_id_of(name), wording=name, domain="harbours", by=uid("moderator")
        )

    def edited(
        self, id_: UUID, wording: str, *, hidden: bool = False, kind: EditType = "CONTENT_CORRECTION", days: int = 1_826
    ) -> EditMade:
        """The next edit of an entry."""
        edits, before = self.edits[id_], self.entries[id_]
        self.entries[id_] = after = before.model_copy(update={"wording": wording, "summary": f"So: {wording}"})
        edit = uid(f"edit {len(edits)} {id_}")
        made = EditMade(
            follows=len(edits),
            entry_id=id_,
            edit_id=edit,
            entity_id=id_,
            version=len(edits) + 2,
            edit_type=kind,
            fields=("wording",),
            hidden=hidden,
            reworded=True,
            reason=self.tape.keep(Remark(about=edit, text=f"Why {wording}").model_dump_json(), self.now, days),
            before=self.tape.keep(before.model_dump_json(), self.now, days),
            after=self.tape.keep(after.model_dump_json(), self.now, days),
            by=uid("editor"),
        )
        edits.append(made)
        return made

    def flagged(
        self, id_: UUID, account: UUID, days: int = 1_826, *, issue: str = "WRONG_SOURCE", text: str = "Not so."
    ) -> FlagRaised:
        """Somebody objects to an entry."""
        flag = uid(f"flag {self.sequence}")
        return FlagRaised(
            flag_id=flag,
            entity_type="ENTRY",
            entity_id=id_,
            issue_type=issue,
            description=self.tape.keep(Remark(about=flag, text=text).model_dump_json(), self.now, days),
            account_id=account,
        )

    def resolved_flag(self, raised: FlagRaised, days: int = 1_826) -> FlagResolved:
        """A moderator agrees."""
        note = Remark(about=raised.flag_id, text="Agreed.").model_dump_json()
        return FlagResolved(
            flag_id=raised.flag_id,
            entity_type=raised.entity_type,
            entity_id=raised.entity_id,
            status="ACCEPTED",
            note=self.tape.keep(note, self.now, days),
            by=uid("moderator"),
        )

    def purged(self, what: str = "QUARTER", before: datetime | None = None) -> RetentionPurged:
        hour = (before or self.now).replace(minute=0, second=0, microsecond=0)
        return RetentionPurged(slot=f"{hour:%Y-%m-%dT%H}", what=what, before=hour)

    def look(self, job: UUID, number: int, id_: UUID, *, may_buy: bool) -> PlannedClaim | Request:
        asked = Asked(id_, job, 0, shape_of(OPTIONS), "SLOW", "PREFER_CACHE", may_buy)
        match look(self.now, asked, self.cached.get(id_, Cached())):
            case Hit(analysis, stale):
                return PlannedClaim(number=number, outcome="HIT", analysis_id=analysis, stale=stale)
            case Join(run, own):
                return PlannedClaim(number=number, outcome="OWN" if own else "JOINED", run_id=run)
            case Request() as wanted:
                return wanted
            case Miss():
                return PlannedClaim(number=number, outcome="MISS")
        return PlannedClaim(number=number, outcome="UNUSABLE")

    def planned(self, job: UUID) -> Iterator[Event]:
        """Each claim looked up; what is in no cache is requested."""
        request, extracted = self.jobs[job].requested, self.jobs[job].extracted
        assert request is not None
        assert extracted is not None
        left, plans = count_affordable(request), []
        for claim in extracted.claims:
            found = self.look(job, claim.number, claim.assertion_id, may_buy=left > 0)
            if isinstance(found, Request):
                left -= 1
                yield self.requested(job, self.words_of[claim.assertion_id], found.run_id, found.follows)
                found = PlannedClaim(number=claim.number, outcome="OWN", run_id=found.run_id)
            plans.append(found)
        yield JobPlanned(job_id=job, claims=tuple(plans))

    def succeeded(self, job: UUID) -> JobEnded:
        state = self.jobs[job]
        return JobEnded(
            job_id=job,
            outcome="SUCCEEDED",
            result=self.tape.keep(f"Result: {CANARY} {job}", self.now),
            overall_verdict="UNCERTAIN",
            credibility_score=0.5,
            risk_tier="B",
            publication_mode="DRAFT_ONLY",
            requires_review=True,
            charged_micro_usd=state.charge("SUCCEEDED", assessed=True),
            newly_analysed=len(state.awaited),
            stages_cached=("ANALYSE",),
            end=self.end(step_run_id(job, ASSESS), 1),
        )

    def settled(self, account: UUID, job: UUID) -> Iterator[Event]:
        over = self.jobs[job].over
        charged = 0 if over is None else over.charged_micro_usd
        posted = settle(self.period(account), job, charged) if charged else None
        posted = posted or release(self.period(account), job)
        if posted is not None:
            yield posted

    def whole(self, job: UUID, account: UUID, names: Sequence[str]) -> Iterator[Event]:
        """A job from its intake to its settlement, where nothing goes wrong."""
        yield from self.intake(job, account)
        yield self.fetched(job)
        yield self.started(step_run_id(job, EXTRACT), EXTRACT, job)
        yield self.advanced(step_run_id(job, EXTRACT))
        yield self.extracted(job, names)
        yield from self.planned(job)
        for claim in self._own(job):
            assert claim.run_id is not None
            name = self._name(job, claim.number)
            yield self.started(claim.run_id, ANALYSE, claim_id_of(name))
            yield self.analysed(name, claim.run_id)
        resolved = resolve(self.jobs[job])
        assert isinstance(resolved, JobResolved)
        yield resolved
        yield self.started(step_run_id(job, ASSESS), ASSESS, job)
        yield self.succeeded(job)
        yield from self.settled(account, job)

    def strange(self, draw: random.Random, job: UUID, account: UUID, names: Sequence[str]) -> Iterator[Event]:
        """A job of which anything may go wrong."""
        yield from self.intake(job, account)
        if draw.random() < 0.1:
            yield self._cancelled(job)
        yield self.fetched(job)
        run = step_run_id(job, EXTRACT)
        yield self.started(run, EXTRACT, job)
        if draw.random() < 0.3:
            yield self.retried(run)
            yield self.started(run, EXTRACT, job, 2)
        yield self.extracted(job, names)
        yield from self.planned(job)
        for claim in self._own(job):
            assert claim.run_id is not None
            name = self._name(job, claim.number)
            if draw.random() < 0.2:
                yield RunFailed(run_id=claim.run_id, attempt=0, failure="NON_RETRYABLE", reason="cut_short")
                continue
            yield self.started(claim.run_id, ANALYSE, claim_id_of(name))
            for calls in range(draw.randrange(3)):
                yield self.advanced(claim.run_id, calls=calls + 1)
            if draw.random() < 0.2:
                yield RunFailed(run_id=claim.run_id, attempt=1, failure="TRANSIENT", reason="timeout", usage=USED)
            else:
                yield self.analysed(name, claim.run_id)
                if draw.random() < 0.2:
                    which = draw.choice([None, claim.run_id])
                    why = draw.choice(REASONS)
                    yield AssertionInvalidated(assertion_id=claim_id_of(name), analysis_id=which, why=why)
        ended = resolve(self.jobs[job])
        if ended is not None:
            yield ended
        if self.jobs[job].over is None:
            yield self.succeeded(job) if isinstance(ended, JobResolved) else self._cancelled(job)
        yield from self.settled(account, job)

    def _cancelled(self, job: UUID) -> JobEnded:
        over = self.jobs[job].cancel()
        assert over is not None
        return over

    def _own(self, job: UUID) -> list[PlannedClaim]:
        planned = self.jobs[job].planned
        return [each for each in (planned.claims if planned else ()) if each.outcome == "OWN"]

    def _name(self, job: UUID, number: int) -> str:
        extracted = self.jobs[job].extracted
        assert extracted is not None
        return self.words_of[extracted.claims[number - 1].assertion_id]


def one_job(account: UUID | None = None) -> Instance:
    """A job with two claims, both new."""
    instance = Instance()
    for event in instance.whole(uid("job"), account or uid("account"), ("Ships sail.", "Lamps burn.")):
        instance.publish(event)
    write(instance)
    return instance


def write(instance: Instance) -> None:
    """Put what was published on the tape."""
    for event, at in instance.events:
        instance.tape.add(event, at=at)


def strange_days(jobs: int, seed: int, *, disorder: bool = True) -> AuditTape:
    """Jobs that share claims and accounts, each other's facts between theirs; repetitions, disorder, purges.

    Without `disorder` what follows from a fact comes after it, as in the log.
    """
    draw, instance = random.Random(seed), Instance()
    lives = [
        instance.strange(
            draw,
            uid(f"job {seed} {number}"),
            uid(f"account {number % 3}"),
            [f"Claim {draw.randrange(6)}." for _ in range(draw.randrange(1, 4))],
        )
        for number in range(jobs)
    ]
    while lives:
        life = draw.choice(lives[:4])
        event = next(life, None)
        if event is None:
            lives.remove(life)
            continue
        instance.publish(event)
        if draw.random() < 0.05:
            instance.now += timedelta(days=draw.randrange(40))
        if draw.random() < 0.05:
            instance.publish(instance.purged(draw.choice(["DAY", "QUARTER"])))
        if draw.random() < 0.05:
            instance.publish(_configured(draw, instance.sequence))
        if draw.random() < 0.02:
            instance.publish(objected(instance, draw.choice(["Ships sail.", "Lamps burn."])))
        if draw.random() < 0.05:
            instance.publish(_publisher(draw, instance.sequence))
        for event in _of_catalogue(draw, instance):
            instance.publish(event)
    for place in range(len(instance.events) - 1):
        if disorder and draw.random() < 0.05:
            events = instance.events
            events[place], events[place + 1] = events[place + 1], events[place]
    for place in range(len(instance.events), 1, -1):
        if draw.random() < 0.1:
            instance.events.insert(draw.randrange(place, len(instance.events) + 1), instance.events[place - 1])
    write(instance)
    return instance.tape


def _configured(draw: random.Random, follows: int) -> LlmStageConfigured:
    return LlmStageConfigured(
        follows=follows,
        stage=draw.choice(STAGES),
        provider="demo",
        model=f"demo-{follows}",
        max_tokens=4_096,
        temperature=0.3,
        by=uid("admin"),
    )


def _publisher(draw: random.Random, follows: int) -> Event:
    """What becomes of a publisher: scored, rated, or one of the scored when an epoch closes."""
    domain, epoch = draw.choice(["for.example", "against.example"]), 202601 + follows % 50
    id_ = publisher_id(domain)
    match draw.randrange(3):
        case 0:
            return PublisherEpochClosed(follows=follows, epoch=epoch, publishers=2)
        case 1:
            return PublisherRated(
                follows=follows,
                publisher_id=id_,
                domain=domain,
                longevity=follows % 100,
                by=uid("admin"),
                reason="MISTAKE",
            )
        case _:
            return scored(domain, epoch, follows)


def scored(domain: str, epoch: int, follows: int = 0) -> PublisherScored:
    return PublisherScored(
        follows=follows,
        publisher_id=publisher_id(domain),
        domain=domain,
        epoch=epoch,
        score=72.5,
        accuracy=0.75,
        correct=3,
        total=4,
        correct_weight=4,
        total_weight=5,
        citations=follows + 9,
        claims=6,
        why="COMPUTED",
    )


def _of_catalogue(draw: random.Random, instance: Instance) -> Iterator[Event]:
    """What people may do to entries at any time."""
    known = sorted({name for id_, name in instance.words_of.items() if id_ in instance.cached})
    if known and draw.random() < 0.1:
        name = draw.choice(known)
        if entry_id(claim_id_of(name)) not in instance.entries:
            yield instance.entry(name)
    if not instance.entries or draw.random() > 0.2:
        return
    id_ = draw.choice(sorted(instance.entries))
    hidden, days = draw.random() < 0.2, draw.choice((10, 100))
    yield instance.edited(id_, f"Reworded {draw.randrange(9)}.", hidden=hidden, days=days)
    if draw.random() < 0.5:
        edit = instance.edits[id_][-1]
        yield EntryStaled(
            entry_id=id_, parts=STALE_PARTS[: draw.randrange(1, 6)], trigger="EDIT", cause_id=edit.edit_id
        )
    if draw.random() < 0.5:
        raised = instance.flagged(id_, uid(f"account {draw.randrange(3)}"), days)
        yield raised
        if draw.random() < 0.5:
            yield instance.resolved_flag(raised)


def objected(instance: Instance, name: str) -> FlagRaised:
    """Somebody objects to a claim, for a right of theirs."""
    claim = digest(name)
    words = FlagWords(claim_hash=f"sha256:{claim}", reason="Not mine.", contact="me@example.org")
    return FlagRaised(
        flag_id=uid(f"objection {instance.sequence} {name}"),
        entity_type="CLAIM",
        issue_type="RIGHTS",
        description=instance.tape.keep(words.model_dump_json(), instance.now),
        claim_sha256=claim,
    )
