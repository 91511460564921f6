"""Applies facts one by one, each in a savepoint, so that only those that fail are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict

import structlog

from contracts.spent import find_transcript
from contracts.v1 import EntityErasureOrdered, ErasureOrdered, InvestigationCompleted, InvestigationFailed
from services.projector.erasure import tables as erasure
from services.projector.facts.fact import Fact, Need, makes
from services.projector.facts.faults import describe_error, is_fault_of_fact
from services.projector.facts.reading import Batch, make_refusal
from services.projector.projections.investigations import fail_visibly
from services.projector.rows.log import Outcome, Refusal, RefusalOutcome
from services.projector.store import lookups
from services.projector.store.load import Connection
from services.projector.store.prepare import prepare
from services.projector.store.transaction import Transaction

log = structlog.get_logger(__name__)


class _Refused(Exception):
    """The fact that is being applied is refused."""

    def __init__(self, outcome: RefusalOutcome, why: str) -> None:
        super().__init__(why)
        self.outcome: RefusalOutcome = outcome
        self.reason = why


async def apply_one_by_one(
    transaction: Transaction, facts: Iterable[Fact], outcomes: Counter[Outcome], *, released: bool = False
) -> list[Refusal]:
    """Apply facts, and after each those that waited for what it makes; returns those that were refused."""
    refusals: list[Refusal] = []
    for fact in facts:
        counted: Counter[Outcome] = Counter()
        made = await _apply_or_refuse(transaction, fact, counted)
        if isinstance(made, Refusal):
            refusals.append(made)
            continue
        if released:
            del counted["applied"]
        outcomes += counted
        db, stream = transaction.db, transaction.projection.stream
        waiting = await lookups.waiting(db, stream, [fact]) if made else {}
        for need in made:
            for waited in waiting.get(need, ()):
                await db.execute("DELETE FROM parked WHERE stream = %s AND sequence = %s", (stream, waited.sequence))
                outcomes["released"] += 1
                refusals += await apply_one_by_one(transaction, [waited], outcomes, released=True)
    return refusals


async def _apply_or_refuse(transaction: Transaction, fact: Fact, outcomes: Counter[Outcome]) -> list[Need] | Refusal:
    """Apply a fact, if need be without its transcript's content; what it makes, or why it was refused."""
    stream = transaction.projection.stream
    for skip_transcripts in (False, True) if find_transcript(fact.event) else (False,):
        outcomes.clear()
        try:
            async with transaction.db.transaction():
                return await _apply(transaction, fact, outcomes, skip_transcripts=skip_transcripts)
        except _Refused as error:
            refusal = make_refusal(stream, fact, error.outcome, error.reason)
        except Exception as error:
            if not is_fault_of_fact(error):
                raise
            refusal = make_refusal(stream, fact, "refused", describe_error(error))
        again = find_transcript(fact.event) is not None and not skip_transcripts
        log.error("transcript refused" if again else "fact refused", **asdict(refusal))
    await _fail_visibly(transaction, fact)
    return refusal


async def _apply(
    transaction: Transaction, fact: Fact, outcomes: Counter[Outcome], *, skip_transcripts: bool
) -> list[Need]:
    """Apply one fact; what exists because of it and did not before. Raises: _Refused."""
    db = transaction.db
    batch = Batch(transaction.projection.stream, (), (fact,), {})
    prepared = await prepare(db, batch, transaction.texts, skip_transcripts=skip_transcripts)
    if prepared.fault is not None:
        raise prepared.fault
    for lost in (await transaction.without_text(prepared)).values():
        raise _Refused("textless", lost)
    tables = await transaction.load([fact])
    known = transaction.projection.find_met_needs(tables)
    await transaction.fold(tables, prepared, [fact], outcomes)
    await transaction.write(tables)
    if isinstance(fact.event, ErasureOrdered | EntityErasureOrdered):
        await erasure.erase(db, fact, fact.event)
    await _check_constraints(db)
    return [] if outcomes["parked"] else [need for need in makes(fact.event) if need not in known]


async def _fail_visibly(transaction: Transaction, fact: Fact) -> None:
    """Fail an investigation whose end was refused, so that it does not stay open."""
    if not isinstance(fact.event, InvestigationCompleted | InvestigationFailed):
        return
    try:
        async with transaction.db.transaction():
            tables = await transaction.load([fact])
            fail_visibly(tables, fact)
            await transaction.write(tables)
            await _check_constraints(transaction.db)
    except Exception as error:
        if not is_fault_of_fact(error):
            raise
        log.error("an investigation cannot be ended", sequence=fact.sequence, error=describe_error(error))


async def _check_constraints(db: Connection) -> None:
    """Check deferred constraints now."""
    await db.execute("SET CONSTRAINTS ALL IMMEDIATE")
    await db.execute("SET CONSTRAINTS ALL DEFERRED")
