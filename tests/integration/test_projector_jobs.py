"""The tables of audits: every row of a whole job, in any batches, and words that leave by a fact."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from contracts.v1 import AssertionInvalidated, PublisherEpochClosed, PublisherRated
from contracts.v1.ids import analysis_run_id, evidence_id, period_id, publisher_id, scenario_id, step_run_id
from services.projector.rebuild.rebuild import rebuild
from services.projector.rebuild.shadow import shadow
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, fill, owner, prepare, store_at, total
from tests.support.servers import Prepare, Servers
from tests.unit.projector.audit_histories import (
    CANARY,
    OPTIONS,
    PRICES,
    AuditTape,
    Instance,
    claim_id_of,
    one_job,
    scored,
    strange_days,
)
from tests.unit.projector.histories import START, Page, Tape, digest, uid

pytest_plugins = ["tests.support.servers"]

Tables = dict[str, list[dict[str, Any]]]  # rows as JSON
JOB, ACCOUNT = uid("job"), uid("account")
SHIPS, LAMPS = claim_id_of("Ships sail."), claim_id_of("Lamps burn.")
RUN = analysis_run_id(SHIPS, 0)
PURGES = {
    "assertion",
    "assertion_sample",
    "analysis",
    "scenario",
    "verdict",
    "evidence",
    "purge",
    "entry",
    "edit",
    "flag",
}


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


def only(rows: list[dict[str, Any]], **wanted: object) -> dict[str, Any]:
    (row,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return row


def seconds(row: dict[str, Any], *names: str) -> list[str | None]:
    """Their minutes and seconds."""
    return [None if row[name] is None else str(row[name])[14:19] for name in names]


async def test_every_row_of_a_job(database_url: str) -> None:
    tape = one_job().tape
    store = store_at(database_url, texts=NoTexts(**tape.words))
    outcomes = total(await fill(store, tape.records))
    await store.close()
    assert outcomes == {"applied": len(tape.records)}
    found = await everything(database_url)
    (job,) = found["job"]
    assert (job["id"], job["account_id"], job["mode"], job["status"]) == (
        str(JOB),
        str(ACCOUNT),
        "CREDIT",
        "SUCCEEDED",
    )
    assert job["period_id"] == str(period_id(ACCOUNT, "2026-01"))
    assert (job["options"], job["prices"]) == (OPTIONS.model_dump(), PRICES.model_dump())
    assert (job["content_sha256"], job["characters"], job["language"]) == (digest(CANARY), len(CANARY), "en")
    assert (job["reference_day"], job["score_epoch"], len(job["stages"])) == ("2026-01-05", 3, 3)
    assert (job["reserved_micro_usd"], job["charged_micro_usd"]) == (276_000, 195_000)
    assert (job["overall_verdict"], job["credibility_score"], job["risk_tier"]) == ("UNCERTAIN", 0.5, "B")
    assert (job["publication_mode"], job["requires_review"], job["complete"]) == ("DRAFT_ONLY", True, True)
    assert (job["newly_analysed"], job["from_cache"], job["stages_cached"]) == (2, 0, ["ANALYSE"])
    assert (job["code"], job["memo_of"], job["has_webhook"]) == (None, None, False)
    assert job["result"]["sha256"] == digest(f"Result: {CANARY} {JOB}")
    assert job["result"]["until"] == "2026-01-06T10:00:00Z"
    assert job["extraction"]["sha256"] == digest(f"Extraction: {CANARY} {JOB}")
    assert seconds(job, "created_at", "fetched_at", "extracted_at", "planned_at", "resolved_at", "ended_at") == [
        *("00:03", "00:04", "00:07", "00:10", "00:15", "00:17")
    ]

    claim = only(found["job_claim"], number=1)
    assert (claim["job_id"], claim["assertion_id"], claim["claim_hash"]) == (
        str(JOB),
        str(SHIPS),
        digest("Ships sail."),
    )
    assert (claim["outcome"], claim["run_id"], claim["analysis_id"]) == ("OWN", str(RUN), str(RUN))
    assert (claim["central"], claim["claim_type"], claim["domain"]) == (True, "event", "harbours")
    assert (claim["stale"], claim["failure"], claim["anchor"]) == (False, None, None)

    extract, assess = (step_run_id(JOB, step) for step in ("CLAIM_AUDIT/extract", "CLAIM_AUDIT/assess"))
    run = only(found["run_attempt"], run_id=str(extract))
    assert (run["attempt"], run["step"], run["subject_id"]) == (1, "CLAIM_AUDIT/extract", str(JOB))
    assert (run["outcome"], run["calls"], run["total_tokens"], run["cost_micro_usd"]) == ("SUCCEEDED", 1, 10, 400)
    assert (run["model"], run["answered_by"], run["prompt_hash"]) == ("demo-1", "demo-1-2026", digest("prompt"))
    assert only(found["run_attempt"], run_id=str(assess))["outcome"] == "SUCCEEDED"
    assert only(found["run_attempt"], run_id=str(RUN))["subject_id"] == str(SHIPS)
    assert len(found["run_attempt"]) == 4

    (period,) = found["credit_period"]
    assert (period["account_id"], period["month"], period["hard"]) == (str(ACCOUNT), "2026-01", True)
    assert (period["limit_micro_usd"], period["used_micro_usd"], period["reserved_micro_usd"]) == (
        2_000_000,
        195_000,
        0,
    )
    assert (period["open_jobs"], period["extractions"], period["sequence"]) == (0, 0, len(tape.records))
    entries = {
        row["entry"]: (row["micro_usd"], row["used_micro_usd"], row["cause_id"]) for row in found["credit_entry"]
    }
    assert entries == {"RESERVED": (276_000, 0, str(JOB)), "SETTLED": (195_000, 195_000, str(JOB))}

    assertion = only(found["assertion"], id=str(SHIPS))
    assert (assertion["canonical"], assertion["requests"], assertion["volatility"]) == ("ships sail.", 1, "SLOW")
    assert assertion["published_key"] == f"claim:v1norm1:en:{digest('Ships sail.')}"
    assert assertion["kept_until"] == "2026-04-05T10:00:00+00:00"
    sample = only(found["assertion_sample"], assertion_id=str(SHIPS))
    assert (sample["place"], sample["text"]) == (1, f"Ships sail., says {JOB}")

    analysis = only(found["analysis"], id=str(RUN))
    assert (analysis["assertion_id"], analysis["rollup"], analysis["recommended"]) == (str(SHIPS), "SUPPORTED", 1)
    assert (analysis["scenarios"], analysis["evidence"], analysis["depth"]) == (2, 6, "STANDARD")
    assert (analysis["missing"], analysis["unavailable"], analysis["not_looked_up"]) == (0, 0, 0)
    assert (analysis["model"], analysis["score_epoch"], analysis["invalidated_why"]) == ("demo-1-2026", 3, None)
    assert analysis["kept_until"] == assertion["kept_until"]
    reading = only(found["scenario"], analysis_id=str(RUN), ordinal=2)
    assert reading["id"] == str(scenario_id(RUN, 2))
    assert (reading["description"], reading["assumptions"]) == (
        f"Reading 2 of Ships sail. {RUN}",
        ["it is meant literally"],
    )
    verdict = only(found["verdict"], scenario_id=reading["id"])
    assert (verdict["label"], verdict["probability"], verdict["confidence"]) == ("LIKELY", 0.7, 0.6)
    assert (verdict["explanation"], verdict["uncertainty_factors"]) == (
        f"Explained: Ships sail. {RUN} 2",
        ["few sources"],
    )
    evidence = only(found["evidence"], id=str(evidence_id(scenario_id(RUN, 2), 2)))
    assert (evidence["supports"], evidence["source_url"]) == (False, f"https://against.example/Ships%20sail.%20{RUN}")
    assert [len(quote.split()) for quote in evidence["quotes"]] == [22, 1]
    assert (evidence["analysis_id"], evidence["relevance"], evidence["family"]) == (str(RUN), 0.9, 1)
    assert len(found["evidence"]) == 8
    cited = only(found["citation"], analysis_id=str(RUN), place=4)
    assert (cited["domain"], cited["supports"], cited["scenario"]) == ("against.example", False, 2)
    assert (cited["publisher_id"], cited["score"], cited["outcome"]) == (
        str(publisher_id("against.example")),
        0.3,
        "FOUND",
    )

    others = {"position", "purge", "stage_config", *(name for name, rows in found.items() if not rows)}
    assert found["position"] == [{"stream": "JOBS", "sequence": len(tape.records)}]
    assert set(found) - others == {
        *("job", "job_claim", "run_attempt", "credit_period", "credit_entry", "assertion", "assertion_sample"),
        *("analysis", "scenario", "verdict", "evidence", "citation"),
    }


@pytest.mark.parametrize("seed", range(3))
async def test_batches_repetitions_and_a_rebuild_do_not_matter(database_url: str, stack: Servers, seed: int) -> None:
    tape = strange_days(40, seed)
    texts = NoTexts(**tape.words)
    whole = store_at(database_url, texts=texts)
    outcomes = total(await fill(whole, tape.records))
    assert set(outcomes) <= {"applied", "duplicate", "parked", "released"}
    assert outcomes["duplicate"]
    expected = await everything(database_url)
    assert not expected["parked"]
    assert not expected["refused_fact"]
    draw = random.Random(seed)
    with stack.database(prepare) as other:
        cut = store_at(other, texts=texts)
        await fill(cut, tape.records, [draw.choice((1, 2, 3, 50)) for _ in tape.records])
        await cut.close()
        assert await everything(other) == expected
    assert await shadow(database_url, texts, analyses=ANALYSES) == []
    await rebuild(database_url, texts, analyses=ANALYSES)
    assert await everything(database_url) == expected
    await whole.close()


async def fill_and_purge(url: str, seed: int = 1) -> tuple[Tape, Tables]:
    """Strange days, and at their end the purge of all that they kept."""
    tape = strange_days(30, seed)
    store = store_at(url, texts=NoTexts(**tape.words))
    await fill(store, tape.records, [20] * 1000)
    before = await everything(url)
    assert before["evidence"]
    assert any(row["canonical"] for row in before["assertion"])
    tape.add(Instance().purged(before=START + timedelta(days=3_650)))
    await fill(store, tape.records[-1:])
    await store.close()
    return tape, before


@pytest.mark.requirement("FH-176")
async def test_words_leave_by_a_fact_and_a_rebuild_without_them_ends_the_same(database_url: str) -> None:
    """FH-176: Words with an expiry are in no backup"""
    _, before = await fill_and_purge(database_url)
    after = await everything(database_url)
    assert not after["evidence"]
    assert not after["assertion_sample"]
    assert {row["canonical"] for row in after["assertion"]} == {None}
    assert {row["kept_until"] for row in after["analysis"]} == {None}
    assert {row["description"] for row in after["scenario"]} == {None}
    assert {row["explanation"] for row in after["verdict"]} == {None}
    assert any(row["after_state"] for row in before["edit"])
    assert {(row["reason"], row["before_state"], row["after_state"]) for row in after["edit"]} == {(None,) * 3}
    assert {(row["description"], row["note"]) for row in after["flag"]} == {(None, None)}
    assert {row["wording"] == row["published_wording"] for row in after["entry"]} == {True}
    assert {(row["evidence_summary"], row["scenario_summary"]) for row in after["entry"]} == {(None, None)}
    for name in set(before) - PURGES - {"position"}:
        assert after[name] == before[name], name
    assert await shadow(database_url, NoTexts(), analyses=ANALYSES) == []
    await rebuild(database_url, NoTexts(), analyses=ANALYSES)
    assert await everything(database_url) == after


async def test_words_that_come_after_their_purge_are_not_shown(database_url: str) -> None:
    """A fact that waited may come late, and a live projector may still find its words where a rebuild does not."""
    instance = one_job()
    purge = instance.purged(before=instance.now + timedelta(days=91))
    tape = instance.tape
    late = Tape("JOBS")
    late.add(purge)
    for record in tape.records:
        late.raw(record.subject, record.data)
    store = store_at(database_url, texts=NoTexts(**tape.words))
    await fill(store, late.records, [1] * len(late.records))
    await store.close()
    found = await everything(database_url)
    assert not found["evidence"]
    assert {row["canonical"] for row in found["assertion"]} == {None}
    assert {row["explanation"] for row in found["verdict"]} == {None}


async def test_an_earlier_purge_takes_nothing_that_is_kept(database_url: str) -> None:
    instance = one_job()
    tape = instance.tape
    tape.add(instance.purged(before=instance.now + timedelta(days=89)))
    store = store_at(database_url, texts=NoTexts(**tape.words))
    await fill(store, tape.records)
    await store.close()
    found = await everything(database_url)
    assert len(found["evidence"]) == 8
    assert found["purge"][0]["before"] == "2026-04-04T09:00:00+00:00"


@pytest.mark.parametrize("which", [None, RUN], ids=["all of the claim", "one"])
async def test_what_is_withdrawn_keeps_its_verdict_and_loses_its_words(database_url: str, which: Any) -> None:
    tape = one_job().tape
    tape.add(AssertionInvalidated(assertion_id=SHIPS, analysis_id=which, why="RIGHTS"))
    store = store_at(database_url, texts=NoTexts(**tape.words))
    await fill(store, tape.records, [len(tape.records) - 1])
    await store.close()
    found = await everything(database_url)
    assert {row["analysis_id"] for row in found["evidence"]} == {str(analysis_run_id(LAMPS, 0))}
    gone = only(found["analysis"], id=str(RUN))
    assert (gone["invalidated_why"], gone["kept_until"], gone["rollup"]) == ("RIGHTS", None, "SUPPORTED")
    verdict = only(found["verdict"], scenario_id=str(scenario_id(RUN, 1)))
    assert (verdict["label"], verdict["explanation"]) == ("LIKELY", None)
    assert len(found["citation"]) == 8


@pytest.mark.requirement("FH-167")
async def test_a_sentence_of_the_article_is_in_no_table(database_url: str) -> None:
    """FH-167: Facts hold no words"""
    tape = one_job().tape
    assert any(CANARY in text for text in tape.words.values())
    store = store_at(database_url, texts=NoTexts(**tape.words))
    await fill(store, tape.records)
    await store.close()
    assert CANARY not in str(await everything(database_url))
    async with await owner(database_url) as db:
        found = await (await db.execute("SELECT convert_from(envelope, 'UTF8') FROM ledger.fact")).fetchall()
    assert CANARY not in str(found)


@pytest.mark.requirement("FH-137")
@pytest.mark.parametrize(
    ("quotes", "refused"),
    [
        (["word " * 25], False),
        (["a" * 500, "word\n" * 24 + "\tword", "word"], False),
        (["word " * 25, "word " * 25, "word " * 25], False),
        (["word " * 26], True),
        (["short", "word\t" * 25 + "word"], True),
        (["one", "two", "three", "four"], True),
    ],
)
async def test_the_database_refuses_long_quotes(database_url: str, quotes: list[str], refused: bool) -> None:
    """FH-137: A stored quote has at most 25 words, an item at most three quotes"""
    tape = one_job().tape
    store = store_at(database_url, texts=NoTexts(**tape.words))
    await fill(store, tape.records)
    await store.close()
    async with await owner(database_url) as db:
        if refused:
            with pytest.raises(psycopg.errors.CheckViolation, match="evidence_quote"):
                await db.execute("UPDATE evidence SET quotes = %s", (quotes,))
        else:
            await db.execute("UPDATE evidence SET quotes = %s", (quotes,))


async def test_a_fact_that_the_database_refuses_leaves_the_others_alone(database_url: str) -> None:
    instance = one_job()
    tape, run = instance.tape, uid("strange run")
    started = instance.started(run, "CLAIM_AUDIT/extract", JOB)
    tape.add(started.model_copy(update={"attempt": 2**40}))
    tape.raw("errata.v1.job.resolved.x", b"{")
    tape.add(instance.advanced(uid("unknown run")), instance.purged())
    store = store_at(database_url, texts=NoTexts(**tape.words))
    outcomes = total(await fill(store, tape.records))
    await store.close()
    assert outcomes == {"applied": len(tape.records) - 3, "refused": 1, "undecodable": 1, "parked": 1}
    found = await everything(database_url)
    assert {row["outcome"] for row in found["refused_fact"]} == {"refused", "undecodable"}
    assert [row["awaits"] for row in found["parked"]] == [f"run:{uid('unknown run')}"]
    assert found["job"][0]["status"] == "SUCCEEDED"
    assert await shadow(database_url, NoTexts(**tape.words), analyses=ANALYSES) == []


@pytest.mark.requirement("FH-168")
async def test_audits_add_no_row_for_posts(database_url: str) -> None:
    """FH-168: Audits cost the first system nothing"""
    page, errata = Page("a"), Tape()
    errata.add(page.registered(), *page.investigated())
    store = store_at(database_url)
    await fill(store, errata.records)
    before = await everything(database_url)
    await fill(store, one_job().tape.records)
    await store.close()
    after = await everything(database_url)
    for name in ("candidate", "investigation", "claim", "search_document", "expense", "prompt"):
        assert after[name] == before[name]


@pytest.mark.requirement("FH-168")
async def test_a_post_takes_the_same_statements_beside_audits(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FH-168: Audits cost the first system nothing."""
    statements: list[str] = []
    execute = psycopg.AsyncCursor.execute

    def record(cursor: psycopg.AsyncCursor[Any], query: Any, *given: Any, **named: Any) -> Any:
        statements.append(query if isinstance(query, str) else repr(query))
        return execute(cursor, query, *given, **named)

    errata, taken = Tape(), []
    store = store_at(database_url)
    for number in range(3):
        page, before = Page(str(number)), len(errata.records)
        errata.add(page.registered(), *page.investigated())
        if number == 2:
            await fill(store, one_job().tape.records)
        with monkeypatch.context() as patched:
            patched.setattr(psycopg.AsyncCursor, "execute", record)
            await fill(store, errata.records[before:])
        taken.append(tuple(statements))
        statements.clear()
    await store.close()
    assert len(taken[1]) > 5
    assert taken[2] == taken[1]


@pytest.mark.requirement("FH-111")
@pytest.mark.requirement("FH-120")
async def test_a_publishers_rows(database_url: str) -> None:
    """FH-111: A source has a track record.

    FH-120: Sources, users, metrics and patterns have no versions.
    """
    tape, id_ = AuditTape(), publisher_id("for.example")
    rated = PublisherRated(
        publisher_id=id_,
        domain="for.example",
        name="The Harbour Post",
        type="news",
        correction_policy=80,
        editorial_standards=60,
        bias_transparency=40,
        longevity=100,
        corrections_count=12,
        correction_frequency=1.5,
        score=65,
        by=uid("moderator"),
        reason="MONTHLY_AUDIT",
    )
    events = (
        scored("for.example", 202601),
        rated,
        scored("for.example", 202602, 1),
        PublisherEpochClosed(epoch=202602, publishers=1),
    )
    for second, event in enumerate(events):
        tape.add(event, at=START + timedelta(seconds=second))
    store = store_at(database_url)
    await fill(store, tape.records)
    await store.close()
    found = await everything(database_url)
    (row,) = found["publisher"]
    assert (row["id"], row["domain"], row["name"], row["type"]) == (str(id_), "for.example", "The Harbour Post", "news")
    assert (row["track_record_score"], row["accuracy"], row["correct"], row["total"]) == (72.5, 0.75, 3, 4)
    assert (row["correct_weight"], row["total_weight"]) == (4, 5)
    assert (row["total_citations"], row["claim_count"], row["epoch"], row["sequence"]) == (10, 6, 202602, 3)
    assert (row["corrections_count"], row["correction_frequency"], row["set_score"]) == (12, 1.5, 65)
    assert (row["correction_policy"], row["editorial_standards"]) == (80, 60)
    assert (row["bias_transparency"], row["longevity"], row["rated_sequence"]) == (40, 100, 2)
    assert seconds(row, "last_updated") == ["00:02"]
    assert [(each["epoch"], each["score"], each["why"]) for each in found["publisher_score"]] == [
        (202601, 72.5, "COMPUTED"),
        (202602, 72.5, "COMPUTED"),
    ]
    (rating,) = found["publisher_rating"]
    assert (rating["sequence"], rating["score"], rating["reason"]) == (2, 65, "MONTHLY_AUDIT")
    assert rating["rated_by"] == str(uid("moderator"))
    (epoch,) = found["score_epoch"]
    assert (epoch["epoch"], epoch["publishers"], epoch["sequence"]) == (202602, 1, 4)
