"""A stream's part of the read model: what its facts mean, and what follows from its rows.

Streams whose rows depend on each other share a lock: a corroboration has one half in ERRATA and one in VIEWS, and a
transaction that could not see the other's half would lose the credit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from contracts.topology import ERRATA, JOBS, VIEWS
from services.projector.erasure.root import ACCOUNT, ASSERTION, JOB, POST, Root
from services.projector.facts.fact import Fact, Need
from services.projector.projections import errata, jobs, views
from services.projector.projections.material import Material
from services.projector.projections.views import VIEW_RULES, ViewRules
from services.projector.rows.assertions import ANALYSES, ASSERTIONS
from services.projector.rows.catalogue import CATALOGUE_TABLES, ENTRIES
from services.projector.rows.findings import FINDING_STATES
from services.projector.rows.investigations import INPUTS, INVESTIGATIONS, RESULTS
from services.projector.rows.jobs import PURGES
from services.projector.rows.table import AnyTable, RowKey, Tables
from services.projector.rows.versions import HEADINGS, POSTS
from services.projector.rows.views import CREDITS, REPORTERS, VIEW_TABLES, VIEWED_VERSIONS
from services.projector.store import candidates, derived, expired
from services.projector.store.load import Connection

LOCK: Final = 0x70726F6A
JOBS_LOCK: Final = 0x6A6F6273
"""Nothing of audits depends on a row of posts, or the other way, so neither waits for the other's transactions."""


@dataclass(frozen=True, slots=True)
class Projection:
    """How one stream is projected.

    Shapes: `tables` are what it writes, in the order that references demand. `find_row_keys`: the rows that a
    fact needs; `find_met_needs`: the needs that loaded rows meet; `fold` applies facts to the rows and returns how many
    are about something unknown; `derive` writes derived rows, and on request the candidates of the selector.
    `roots` are what its facts may be about that can be erased. `after`: the stream that brings the versions which these
    facts speak of.
    """

    stream: str
    lock: int
    tables: Sequence[AnyTable]
    find_row_keys: Callable[[Fact], Sequence[RowKey]]
    find_met_needs: Callable[[Tables], set[Need]]
    fold: Callable[[Tables, Sequence[Fact], Material], int]
    derive: Callable[[Connection, Tables, bool], Awaitable[None]]
    roots: Sequence[Root]
    after: str | None = None


def projections(analyses: Sequence[str], view_rules: ViewRules = VIEW_RULES) -> tuple[Projection, ...]:
    """The projections of all streams, in the order in which a rebuild applies them."""
    return errata_projection(analyses), views_projection(analyses, view_rules), jobs_projection()


def errata_projection(analyses: Sequence[str]) -> Projection:
    """Posts, versions, investigations, claims."""

    async def derive(db: Connection, tables: Tables, selectable: bool) -> None:
        await derived.follow_findings(db, {row.investigation_id for row in tables[FINDING_STATES].written})
        await derived.add_documents(db, tables.listable)
        headings = [row.post_version_id for row in tables[HEADINGS].written if row.confirmed]
        await derived.correct_documents(db, headings)
        await derived.put_priors(db, [row.investigation_id for row in tables[RESULTS].new])
        await derived.credit_earlier_reporters(db, [row.investigation_id for row in tables[INPUTS].new])
        if selectable:
            posts = [post.id for post in tables[POSTS].written]
            await candidates.derive(db, posts, [row.id for row in tables[INVESTIGATIONS].written], analyses)

    return Projection(
        ERRATA.name, LOCK, errata.TABLES, errata.find_row_keys, errata.find_met_needs, errata.fold, derive, (POST,)
    )


def views_projection(analyses: Sequence[str], rules: ViewRules = VIEW_RULES) -> Projection:
    """Views. A view of an unknown version does not wait: it is dropped."""

    async def derive(db: Connection, tables: Tables, selectable: bool) -> None:
        reporters = [(row.post_version_id, row.reporter_key) for row in tables[REPORTERS].written]
        await derived.credit_reporters(db, reporters)
        await derived.add_documents(db, tables.listable)
        if selectable:
            posts = {credit.post_id for credit in tables[CREDITS].new}
            posts |= {version.post_id for version in tables[VIEWED_VERSIONS].changed}
            await candidates.derive(db, list(posts), (), analyses)

    def fold(tables: Tables, facts: Sequence[Fact], material: Material) -> int:
        return views.fold(tables, facts, rules)

    return Projection(
        VIEWS.name, LOCK, VIEW_TABLES, views.find_row_keys, lambda _: set(), fold, derive, (POST,), after=ERRATA.name
    )


def jobs_projection() -> Projection:
    """Audits: jobs, credit, assertions and their analyses."""

    async def derive(db: Connection, tables: Tables, selectable: bool) -> None:
        analyses = tables[ANALYSES].written
        if analyses or tables[ASSERTIONS].written or tables[PURGES].written:
            await expired.remove_words(db, [row.id for row in analyses if row.invalidated_why == "RIGHTS"])
            await derived.summarise_purged(db)
        if tables[PURGES].written:
            await expired.aggregate_metrics(db)
        if any(tables[table].written for table in (PURGES, *CATALOGUE_TABLES)):
            await expired.remove_catalogue_words(db)
        entries = tables[ENTRIES].written
        await derived.summarise(db, {*(row.assertion_id for row in analyses), *(row.assertion_id for row in entries)})

    return Projection(
        JOBS.name,
        JOBS_LOCK,
        jobs.TABLES,
        jobs.find_row_keys,
        jobs.find_met_needs,
        jobs.fold,
        derive,
        (JOB, ASSERTION, ACCOUNT),
    )
