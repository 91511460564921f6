"""What facts about audits do to rows: the first one of its kind counts, and repetitions change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.topology import JOBS, stream_of
from contracts.v1 import EVENTS, AssertionInvalidated, Event, JobEnded
from contracts.v1.assertion import InvalidationReason
from contracts.v1.ids import analysis_run_id
from services.projector.facts.arrange import arrange
from services.projector.facts.fact import Fact
from services.projector.facts.reading import read_one
from services.projector.projections import errata, jobs
from services.projector.projections.material import Material
from services.projector.rows.assertions import ANALYSES, ASSERTIONS, EVIDENCE, SAMPLES, SCENARIOS, VERDICTS
from services.projector.rows.catalogue import EDITS, ENTRIES, FLAGS
from services.projector.rows.jobs import JOBS as JOB_ROWS
from services.projector.rows.jobs import RUN_ATTEMPTS
from services.projector.rows.table import Tables
from tests.unit.projector.audit_histories import AuditTape, Instance, claim_id_of, one_job, strange_days
from tests.unit.projector.histories import uid


@pytest.mark.parametrize(("projection", "of_jobs"), [(errata, False), (jobs, True)], ids=["errata", "jobs"])
def test_every_event_is_projected_or_ignored_with_a_reason(projection: Any, of_jobs: bool) -> None:
    mine = {event for event in EVENTS if (stream_of(event) is JOBS) == of_jobs}
    assert mine == projection.PROJECTED | set(projection.IGNORED)
    assert not projection.PROJECTED & set(projection.IGNORED)
    assert all(projection.IGNORED.values())


def facts_of(tape: AuditTape) -> list[Fact]:
    """In the order in which they can be applied."""
    return list(arrange(map(read_one, tape.records), set(), {}).ordered)


def fold(tape: AuditTape, facts: Sequence[Fact] | None = None, *, with_words: bool = True) -> Tables:
    tables = Tables()
    jobs.fold(tables, facts_of(tape) if facts is None else facts, Material(words=tape.words if with_words else {}))
    return tables


def rows_of(tables: Tables) -> dict[str, set[str]]:
    return {table.name: {repr(row) for row in tables[table].current} for table in jobs.TABLES}


def _invalidates(fact: Fact) -> bool:
    return isinstance(fact.event, AssertionInvalidated)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.data())
def test_facts_that_come_twice_in_any_order_change_nothing(seed: int, data: st.DataObject) -> None:
    """The store drops repetitions, too, as long as the ledger knows them.

    An invalidation is about the analyses before it, which it would not tell from one that came since.
    """
    tape = strange_days(5, seed, disorder=False)
    facts = facts_of(tape)
    again = data.draw(st.lists(st.sampled_from([each for each in facts if not _invalidates(each)])))
    once = fold(tape, facts)
    assert rows_of(fold(tape, [*facts, *again])) == rows_of(once)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.data())
def test_facts_in_another_order_than_the_logs_settle_when_all_came_twice(seed: int, data: st.DataObject) -> None:
    """No log has an end before its start, but a second pass repairs what that left out, and a third changes nothing."""
    tape = strange_days(5, seed)
    facts = facts_of(tape)
    again = data.draw(st.lists(st.sampled_from(facts)))
    assert rows_of(fold(tape, [*facts, *facts, *again])) == rows_of(fold(tape, [*facts, *facts]))


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_words_decide_about_no_row_but_their_own(seed: int) -> None:
    """So a rebuild, which finds fewer of them, ends with the same rows."""
    tape = strange_days(5, seed)
    given_words, without = fold(tape), fold(tape, with_words=False)
    for tables in (given_words, without):
        for row in tables[ASSERTIONS].current:
            row.canonical = row.kept_until = None
        for analysis in tables[ANALYSES].current:
            analysis.kept_until = None
        for entry in tables[ENTRIES].current:
            entry.wording, entry.domain, entry.summary, entry.words_until = "", "", None, None
        for flag in tables[FLAGS].current:
            flag.description = flag.kept_until = flag.note = flag.note_until = None
    for table in jobs.TABLES:
        if table in (EVIDENCE, SAMPLES):
            assert not without[table].current
        elif table in (SCENARIOS, VERDICTS, EDITS):
            assert {table.key_of(row) for row in given_words[table].current} == {
                table.key_of(row) for row in without[table].current
            }
        else:
            assert rows_of(given_words)[table.name] == rows_of(without)[table.name]


def published(*events: Event) -> Instance:
    instance = one_job()
    for event in events:
        instance.publish(event)
        instance.tape.add(event, at=instance.now)
    return instance


def test_a_job_ends_once() -> None:
    late = JobEnded(job_id=uid("job"), outcome="CANCELED", charged_micro_usd=0)
    (row,) = fold(published(late).tape)[JOB_ROWS].current
    assert (row.status, row.charged_micro_usd) == ("SUCCEEDED", 195_000)


def test_a_run_that_failed_for_now_and_for_good_failed_once() -> None:
    instance, run = Instance(), uid("run")
    for event in (instance.started(run, "CLAIM_AUDIT/extract", uid("job")), instance.retried(run)):
        instance.publish(event)
        instance.tape.add(event)
    tables = fold(instance.tape)
    (row,) = tables[RUN_ATTEMPTS].current
    assert (row.outcome, row.reason, row.status_code, row.total_tokens) == ("FAILED", "rate_limited", 429, 1)
    assert row.retry_at is not None


def test_an_assertion_has_five_samples_of_its_newest_requests() -> None:
    instance = Instance()
    for number in range(7):
        event = instance.requested(uid(f"job {number}"), "Ships sail.", uid(f"run {number}"))
        instance.publish(event)
        instance.tape.add(event, at=instance.now)
    tables = fold(instance.tape)
    (row,) = tables[ASSERTIONS].current
    assert (row.requests, row.canonical) == (7, "ships sail.")
    assert {(sample.place, sample.text) for sample in tables[SAMPLES].current} == {
        (number % 5 + 1, f"Ships sail., says {uid(f'job {number}')}") for number in range(2, 7)
    }


@pytest.mark.parametrize(
    ("reasons", "kept"),
    [(("EDIT", "MODERATION"), "EDIT"), (("EDIT", "RIGHTS"), "RIGHTS"), (("RIGHTS", "EDIT"), "RIGHTS")],
)
@pytest.mark.parametrize("which", [None, analysis_run_id(claim_id_of("Ships sail."), 0)], ids=["all", "one"])
def test_what_was_withdrawn_stays_withdrawn(reasons: tuple[InvalidationReason, ...], kept: str, which: Any) -> None:
    asked = [
        AssertionInvalidated(assertion_id=claim_id_of("Ships sail."), analysis_id=which, why=reason)
        for reason in reasons
    ]
    found = {row.assertion_id: row.invalidated_why for row in fold(published(*asked).tape)[ANALYSES].current}
    assert found == {claim_id_of("Ships sail."): kept, claim_id_of("Lamps burn."): None}


@pytest.mark.parametrize("broken", ["", "{}", "no JSON", '{"scenarios": [], "families": 1}'])
def test_words_that_cannot_be_read_are_not_there(broken: str) -> None:
    tape = one_job().tape
    tape.words = dict.fromkeys(tape.words, broken)
    tables = fold(tape)
    assert len(tables[SCENARIOS].current) == 4
    assert {row.kept_until for row in tables[ANALYSES].current} == {None}
    assert not tables[EVIDENCE].current
