"""Finds the ledger's facts of a job, an assertion or an account, and the work on them that has not ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final
from uuid import UUID

from contracts.topology import JOBS
from contracts.v1 import AssertionAnalysisRequested, Event, FlagRaised, JobIdempotencyKeyBound, JobRequested
from contracts.v1.ids import entry_id, step_run_id
from lifecycle.audits.runs import ASSESS, EXTRACT
from services.projector.erasure.facts import StoredFact, read_facts, read_facts_of_keys
from services.projector.store.load import Connection

_OPEN_JOB: Final = "SELECT 'job ' || id FROM readmodel.job WHERE ended_at IS NULL AND "
_OPEN_RUN: Final = """SELECT 'run ' || run_id FROM readmodel.run_attempt
    WHERE completed_at IS NULL AND started_at > now() - interval '15 minutes' AND subject_id """
"""A run without an end after 15 minutes is lost. Source: lifecycle.audits.cache.LONGEST_RUN."""


async def find_open_job(db: Connection, job: UUID) -> str | None:
    """The job or one of its runs, if it has not ended."""
    return await _find_one(db, f"{_OPEN_JOB} id = %(id)s UNION ALL {_OPEN_RUN} = %(id)s", job)


async def find_open_assertion(db: Connection, assertion: UUID) -> str | None:
    """A job that makes the claim or a run about it, if one has not ended."""
    of = "id IN (SELECT job_id FROM readmodel.job_claim WHERE assertion_id = %(id)s)"
    return await _find_one(db, f"{_OPEN_JOB} {of} UNION ALL {_OPEN_RUN} = %(id)s", assertion)


async def find_open_account(db: Connection, account: UUID) -> str | None:
    """A job of the account or a run of such a job, if one has not ended."""
    of = "IN (SELECT id FROM readmodel.job WHERE account_id = %(id)s)"
    return await _find_one(db, f"{_OPEN_JOB} account_id = %(id)s UNION ALL {_OPEN_RUN} {of}", account)


async def read_job(db: Connection, job: UUID, names: set[str]) -> list[StoredFact]:
    """All facts of a job, of its idempotency keys and of its own steps. Credit and analyses stay: others use them."""
    bound = await _read_naming(db, job, lambda event: isinstance(event, JobIdempotencyKeyBound) and event.job_id == job)
    return _sort([*bound, *await read_facts_of_keys(db, JOBS.name, _list_keys([job]))])


async def read_assertion(db: Connection, assertion: UUID, names: set[str]) -> list[StoredFact]:
    """All facts of an assertion, of the runs that analysed it, of its entry, and of objections to either."""
    entry = entry_id(assertion)
    own = await read_facts_of_keys(db, JOBS.name, {str(assertion), str(entry)})
    flags = await _read_naming(db, entry, lambda event: getattr(event, "entity_id", None) == entry)
    requests = [fact.event for fact in own if isinstance(fact.event, AssertionAnalysisRequested)]
    keys = {str(request.run_id) for request in requests}
    for claim in {request.canonical_sha256 for request in requests}:
        objections = await _read_naming(db, claim, lambda event: isinstance(event, FlagRaised))
        keys |= {fact.event.key() for fact in objections}
    return _sort([*own, *flags, *await read_facts_of_keys(db, JOBS.name, keys)])


async def read_account(db: Connection, account: UUID, names: set[str]) -> list[StoredFact]:
    """All facts of an account, of its jobs, idempotency keys, credit and flags."""
    own = await _read_naming(db, account, lambda event: getattr(event, "account_id", None) == account)
    jobs = [fact.event.job_id for fact in own if isinstance(fact.event, JobRequested)]
    return _sort([*own, *await read_facts_of_keys(db, JOBS.name, _list_keys(jobs))])


def _list_keys(jobs: Iterable[UUID]) -> set[str]:
    return {str(key) for job in jobs for key in (job, step_run_id(job, EXTRACT), step_run_id(job, ASSESS))}


def _sort(facts: Iterable[StoredFact]) -> list[StoredFact]:
    return sorted({fact.sequence: fact for fact in facts}.values(), key=lambda fact: fact.sequence)


async def _read_naming(db: Connection, id_: UUID | str, wanted: Callable[[Event], bool]) -> list[StoredFact]:
    """Facts whose envelope contains the id and whose event is `wanted`."""
    needle: dict[str, object] = {"needle": str(id_).encode()}
    return await read_facts(db, JOBS.name, "position(%(needle)s::bytea IN envelope) > 0", needle, wanted)


async def _find_one(db: Connection, query: str, id_: UUID) -> str | None:
    row = await (await db.execute(query.encode(), {"id": id_})).fetchone()
    return None if row is None else row[0]
