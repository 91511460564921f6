"""A batch of facts becomes rows, ledger and position in one transaction, or nothing does.

Both streams take the same lock: a corroboration has one half in each, and a transaction that could not see the other's
half would lose the credit. The lock is taken by a statement of its own, so that every statement after it finds the
schema that a rebuild may just have switched in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final, Literal
from uuid import UUID

import psycopg
import structlog

from contracts.spent import transcript
from contracts.topology import VIEWS
from contracts.v1 import ErasureOrdered, InvestigationCompleted, InvestigationFailed, PostViewed
from contracts.v1.version import VersionEvent
from services.projector import audits, candidates, erase, ledger, lookups, reading, writes
from services.projector.arrange import arrange
from services.projector.chain import Hole
from services.projector.changes import Parked
from services.projector.facts import Fact, Need, makes
from services.projector.faults import of_a_fact, reason
from services.projector.lifecycle import fold, without_end
from services.projector.lookups import Connection, Standing
from services.projector.ports import Texts
from services.projector.prepare import Prepared, parts, prepare
from services.projector.project import plan
from services.projector.reading import Batch, Refusal, missing, refusal_of
from services.projector.rows import as_json
from services.projector.search import Listable, listable
from services.projector.views import VIEW_RULES, View, ViewRules, count

Connect = Callable[[], Awaitable[Connection]]
Outcome = Literal["applied", "duplicate", "parked", "released", "unknown", "erased", "forgotten"] | reading.Outcome

LOCK: Final = 0x70726F6A
CLAIM: Final = 0x70726F6B
BY_KEY: Final = (
    "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off "
    "-c random_page_cost=1 -c synchronous_commit=off"
)
"""Options of a store's connection. Everything here is found by its key, so plans are made once; one made while the
tables were empty must not be a scan that is kept when they have grown. The log is the truth and the position stands in
the same transaction: what a crash of the database takes back is applied again, so no commit waits for the disk."""
FOUND_DEAD_SOON: Final = "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"
"""A claim lasts as long as its session. A process that dies ends it at once; of a machine that is gone, the database
would otherwise hear only after hours."""
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Applied:
    """Where the stream's position is now, and what became of the messages of the batch."""

    position: int
    outcomes: Counter[Outcome] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Begun:
    """Where the projection is, and how things stand with what the batch speaks of, where it is no batch of views.

    Shapes: `repeated` has the first sequence of each event the ledger knows already.
    """

    position: int
    hash: bytes | None
    held_until: int
    parked: bool
    forgets: bool
    repeated: dict[UUID, int]
    standing: Standing | None


@dataclass(frozen=True, slots=True)
class _Work:
    """What is to be written: rows by name, and the posts and investigations whose candidates may have changed."""

    writer: writes.Writer
    rows: Mapping[str, Any]
    posts: Sequence[UUID] = ()
    investigations: Sequence[UUID] = ()


class _Refused(Exception):
    """The fact that is being applied cannot be."""

    def __init__(self, outcome: reading.Outcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome: reading.Outcome = outcome
        self.reason = reason


class Store:
    """The read model as one stream's projector writes it, over one connection."""

    def __init__(
        self,
        connect: Connect,
        texts: Texts,
        *,
        analyses: Sequence[str],
        view_rules: ViewRules = VIEW_RULES,
        appends: bool = True,
    ) -> None:
        """`appends`: facts are new to the ledger; a rebuild takes them from there."""
        self._connect = connect
        self._texts = texts
        self._analyses = list(analyses)
        self._view_rules = view_rules
        self._appends = appends
        self.derives = True
        """Whether candidates are kept up to date with every batch, or derived later, all at once."""
        self._connection: Connection | None = None

    async def connection(self) -> Connection:
        """The connection, opened again if it was lost."""
        if self._connection is None or self._connection.closed:
            self._connection = await self._connect()
            for writer in (writes.ERRATA, writes.VIEWS):
                await self._connection.execute(writer.definition)
        return self._connection

    async def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def claim(self, stream: str) -> bool:
        """Whether this session alone may follow the stream into this schema; it may until it ends.

        Whoever loses the session fails at the next statement, and has to claim again before it reads where to go on.
        """
        db = await self.connection()
        query = "SELECT pg_try_advisory_lock(%s, hashtext(current_schema() || ' ' || %s))"
        row = await (await db.execute(query, (CLAIM, stream))).fetchone()
        return row is not None and bool(row[0])

    async def position(self, stream: str) -> int:
        """The last sequence of the stream that the tables hold."""
        db = await self.connection()
        row = await (await db.execute("SELECT sequence FROM position WHERE stream = %s", (stream,))).fetchone()
        return row[0] if row else 0

    async def skipped(self, stream: str) -> dict[int, str]:
        """What an operator has left out of the stream, by sequence, with the reason."""
        return await lookups.skipped(await self.connection(), stream)

    async def knows(self, versions: Iterable[UUID]) -> bool:
        """Whether all these versions have a row."""
        wanted = set(versions)
        db = await self.connection()
        found = await db.execute("SELECT count(*) FROM post_version WHERE id = ANY (%s)", (list(wanted),))
        row = await found.fetchone()
        return row is not None and row[0] == len(wanted)

    async def apply(self, batch: Batch) -> Applied:
        """Apply messages of one stream that follow each other; those already applied are skipped.

        Raises: chain.LedgerBroken: one is missing, or is not what the ledger says it was.
        """
        outcomes: Counter[Outcome] = Counter()
        position = 0
        for part in parts(batch):
            applied = await self.apply_prepared(await prepare(await self.connection(), part, self._texts))
            position = applied.position
            outcomes += applied.outcomes
        return Applied(position, outcomes)

    async def apply_prepared(self, prepared: Prepared) -> Applied:
        """The same for one part of a batch; a failure is one fact's fault: the others get through."""
        try:
            return await self._apply(prepared)
        except Exception as error:
            if not of_a_fact(error):
                raise
        return await self._apply_without_fault(prepared.batch)

    async def derive_candidates(self, posts: Sequence[UUID]) -> None:
        """Bring what the selector may take up to date for these posts."""
        db = await self.connection()
        async with db.transaction():
            await candidates.derive(db, posts, (), self._analyses)

    async def _apply_without_fault(self, batch: Batch) -> Applied:
        """Find the fact that fails, and leave it out."""
        db = await self.connection()
        size = len(batch.records)
        if size == 1:
            return await self._apply(Prepared(batch, {}, {}, ()), singly=True)
        head = await self.apply_prepared(await prepare(db, batch.part(0, size // 2), self._texts))
        tail = await self.apply_prepared(await prepare(db, batch.part(size // 2, size), self._texts))
        return Applied(tail.position, head.outcomes + tail.outcomes)

    async def _apply(self, prepared: Prepared, *, singly: bool = False) -> Applied:
        """Nothing of it stays if anything goes wrong. `singly`: each fact stands or falls by itself."""
        if prepared.fault is not None:
            raise prepared.fault
        db = await self.connection()
        try:
            return await self._apply_whole(db, prepared, singly)
        except BaseException:
            await _undo(db)
            raise

    async def _apply_whole(self, db: Connection, prepared: Prepared, singly: bool) -> Applied:
        """One transaction. Its beginning travels with the first questions and its end with the rows."""
        batch = prepared.batch
        outcomes: Counter[Outcome] = Counter()
        begun = await self._begin(db, batch)
        start = next((n for n, record in enumerate(batch.records) if record.sequence > begun.position), None)
        if start is None:
            await db.execute("COMMIT")
            return Applied(begun.position)
        if start:
            batch = batch.part(start, len(batch.records))
        _expect_no_hole(batch, begun.position)
        fresh = await ledger.fresh(db, batch, begun.hash, begun.held_until) if self._appends else []
        outcomes["erased"] = sum(not record.data for record in batch.records)
        refusals = list(batch.refusals)
        without_text = await self._without_text(db, prepared)
        gone = await erase.forgotten(db, batch.facts) if begun.forgets else set()
        facts: list[Fact] = []
        seen: set[UUID] = set()
        for fact in batch.facts:
            if fact.id in seen or fact.sequence > begun.repeated.get(fact.id, fact.sequence):
                outcomes["duplicate"] += 1
            elif fact.sequence in gone:
                outcomes["forgotten"] += 1
            elif (lost := without_text.get(fact.sequence)) is not None:
                log.error("text of a fact is gone", stream=batch.stream, sequence=fact.sequence)
                refusals.append(refusal_of(batch.stream, fact, "textless", lost))
            else:
                facts.append(fact)
            seen.add(fact.id)
        last = facts[-1] if facts and not singly else None
        if singly:
            work = _Work(writes.VIEWS, {})
            for fact in facts:
                refusals += await self._apply_singly(db, batch.stream, fact, outcomes)
        elif batch.stream == VIEWS.name:
            work = await self._views(db, facts, outcomes)
        else:
            waiting = await lookups.waiting(db, batch.stream, facts) if begun.parked else {}
            work = await self._errata(db, prepared, facts, outcomes, waiting, begun.standing)
        outcomes += Counter(refusal.outcome for refusal in refusals)
        order = last.event if last is not None and isinstance(last.event, ErasureOrdered) else None
        async with db.pipeline():
            if fresh:
                await ledger.append(db, fresh)
            await self._write(db, replace(work, rows={**work.rows, "refusals": refusals}))
            await db.execute(writes.POSITION, (batch.stream, batch.records[-1].sequence))
            if order is None:
                await db.execute("COMMIT")
        if last is not None and order is not None:
            await erase.erase(db, last, order)
            await db.execute("COMMIT")
        return Applied(batch.records[-1].sequence, +outcomes)

    async def _apply_singly(
        self, db: Connection, stream: str, fact: Fact, outcomes: Counter[Outcome], *, released: bool = False
    ) -> list[Refusal]:
        """One fact, and then each that waited for what it makes, every one in a savepoint; those that were refused."""
        for deaf in (False, True) if transcript(fact.event) else (False,):
            counted: Counter[Outcome] = Counter()
            try:
                async with db.transaction():
                    made = await self._apply_one(db, stream, fact, counted, deaf=deaf)
                break
            except _Refused as error:
                refusal = refusal_of(stream, fact, error.outcome, error.reason)
            except Exception as error:
                if not of_a_fact(error):
                    raise
                refusal = refusal_of(stream, fact, "refused", reason(error))
            log.error(
                "transcript refused" if transcript(fact.event) and not deaf else "fact refused", **asdict(refusal)
            )
        else:
            await self._end_visibly(db, fact)
            return [refusal]
        if released:
            del counted["applied"]
        outcomes += counted
        refusals: list[Refusal] = []
        waiting = await lookups.waiting(db, stream, [fact]) if made else {}
        for need in made:
            for waited in waiting.get(need, ()):
                await db.execute("DELETE FROM parked WHERE stream = %s AND sequence = %s", (stream, waited.sequence))
                outcomes["released"] += 1
                refusals += await self._apply_singly(db, stream, waited, outcomes, released=True)
        return refusals

    async def _end_visibly(self, db: Connection, fact: Fact) -> None:
        """An investigation whose end was refused must not look as if it were still at work."""
        if not isinstance(fact.event, InvestigationCompleted | InvestigationFailed):
            return
        try:
            async with db.transaction():
                standing = await lookups.standing(db, (fact,))
                lives = without_end(standing.states, fact)
                rows = {"investigations": lives.changed.values()}
                await self._write(db, _Work(writes.ERRATA, rows, (), tuple(lives.changed)))
                await db.execute("SET CONSTRAINTS ALL IMMEDIATE")
                await db.execute("SET CONSTRAINTS ALL DEFERRED")
        except Exception as error:
            if not of_a_fact(error):
                raise
            log.error("an investigation cannot be ended", sequence=fact.sequence, error=reason(error))

    async def _apply_one(
        self, db: Connection, stream: str, fact: Fact, outcomes: Counter[Outcome], *, deaf: bool
    ) -> list[Need]:
        """Everything that one fact does; what exists because of it and did not before. Raises: _Refused."""
        prepared = await prepare(db, Batch(stream, (), (fact,), {}), self._texts, deaf=deaf)
        if prepared.fault is not None:
            raise prepared.fault
        for lost in (await self._without_text(db, prepared)).values():
            raise _Refused("textless", lost)
        made: list[Need] = []
        if stream == VIEWS.name:
            work = await self._views(db, (fact,), outcomes)
        else:
            standing = await lookups.standing(db, (fact,))
            work = await self._errata(db, prepared, (fact,), outcomes, {}, standing)
            if not outcomes["parked"]:
                made = [need for need in makes(fact.event) if need not in standing.known]
        await self._write(db, work)
        if isinstance(fact.event, ErasureOrdered):
            await erase.erase(db, fact, fact.event)
        await db.execute("SET CONSTRAINTS ALL IMMEDIATE")  # what is checked at the end is checked now
        await db.execute("SET CONSTRAINTS ALL DEFERRED")
        return made

    async def _without_text(self, db: Connection, prepared: Prepared) -> dict[int, str]:
        """The facts that lack a text still, which may have come since they were prepared; by sequence, and which."""
        if not prepared.lacking:
            return {}
        known = await lookups.known_texts(db, prepared.lacking)
        return {
            fact.sequence: f"the text {lost} is not in the blob store"
            for fact in prepared.lacking
            if (lost := next(missing(fact, known, prepared.texts), None))
        }

    async def _begin(self, db: Connection, batch: Batch) -> _Begun:
        """Begin, lock, then look where we are."""
        async with db.pipeline():
            await db.execute("BEGIN")
            await db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            place = await db.execute(
                """SELECT coalesce(p.sequence, 0), f.hash,
                    coalesce((SELECT max(sequence) FROM ledger.fact WHERE stream = given.stream), 0),
                    EXISTS (SELECT FROM parked WHERE stream = given.stream), EXISTS (SELECT FROM forgotten)
                FROM (SELECT %(stream)s::text) given(stream)
                LEFT JOIN position p USING (stream)
                LEFT JOIN LATERAL (SELECT hash FROM ledger.fact
                    WHERE stream = p.stream AND sequence = p.sequence OFFSET 0) f ON true""",
                {"stream": batch.stream},
                binary=True,
            )
            repeated = await db.execute(
                # OFFSET 0: by the event and by nothing else; the place of a batch has every fact before it.
                """SELECT event_id, min(sequence)
                FROM (SELECT event_id, stream, sequence FROM ledger.fact WHERE event_id = ANY (%b) OFFSET 0) known
                WHERE stream = %b AND sequence < %b GROUP BY event_id""",
                (list(batch.ids.values()), batch.stream, batch.records[-1].sequence),
                binary=True,
            )
            asked = None if batch.stream == VIEWS.name else await lookups.ask_standing(db, batch.facts)
        row = await place.fetchone()
        assert row is not None
        position, hash_, held_until, parked, forgets = row
        standing = None if asked is None else await asked.answer()
        return _Begun(position, hash_, held_until, parked, forgets, dict(await repeated.fetchall()), standing)

    async def _errata(
        self,
        db: Connection,
        prepared: Prepared,
        facts: Sequence[Fact],
        outcomes: Counter[Outcome],
        waiting: Mapping[Need, Sequence[Fact]],
        standing: Standing | None,
    ) -> _Work:
        """`standing` is that of the facts alone, if it is known."""
        stream = prepared.batch.stream
        all_facts = [*facts, *(fact for earlier in waiting.values() for fact in earlier)]
        asked = None if waiting else standing
        known, states = asked or await lookups.standing(db, all_facts)
        arranged = arrange(facts, known, waiting)
        if arranged.released:
            prepared = await prepared.joined(db, arranged.released, self._texts)
        changes = plan(arranged.ordered, prepared.texts)
        lives = fold(states, changes.investigations, prepared.texts)
        outcomes["parked"] += len(arranged.parked)
        outcomes["released"] += len(arranged.released)
        outcomes["applied"] += len(arranged.ordered) - len(arranged.released)
        rows: dict[str, Any] = {
            **{name.name: getattr(changes, name.name) for name in fields(changes)},
            **{name.name: _values(getattr(lives, name.name)) for name in fields(lives)},
            **changes.metas,
            **audits.attempt_rows(lives.heard.values(), prepared.heard),
            "prompts": [*lives.prompts.values(), *changes.review_prompts],
            "reviews": list(audits.review_rows(changes.reviews, prepared.heard)),
            "investigations": lives.changed.values(),
        }
        rows["listable"] = [Listable(version) for version in listable(arranged.ordered)]
        rows["released"] = [Parked(stream, fact.sequence) for fact in arranged.released]
        rows["parked"] = [Parked(stream, fact.sequence, str(need)) for fact, need in arranged.parked]
        posts = {fact.event.post_id for fact in arranged.ordered if isinstance(fact.event, VersionEvent)}
        return _Work(writes.ERRATA, rows, tuple(posts), tuple(lives.changed))

    async def _write(self, db: Connection, work: _Work) -> None:
        documents = [as_json(rows) if (rows := work.rows.get(name)) else None for name in work.writer.takes]
        if any(documents):
            await db.execute(work.writer.call, documents)
        if self.derives:
            await candidates.derive(db, work.posts, work.investigations, self._analyses)

    async def _views(self, db: Connection, facts: Iterable[Fact], outcomes: Counter[Outcome]) -> _Work:
        given = [(fact, fact.event) for fact in facts if isinstance(fact.event, PostViewed)]
        found = await db.execute(
            "SELECT id, post_id FROM post_version WHERE id = ANY (%s)",
            (list({event.version_id for _, event in given}),),
            binary=True,
        )
        posts: dict[UUID, UUID] = dict(await found.fetchall())
        views = [
            View(event.post_id, event.version_id, event.viewer_key, event.ip_range_key, event.reporter_key, fact.at)
            for fact, event in given
            if posts.get(event.version_id) == event.post_id
        ]
        outcomes["applied"] += len(views)
        outcomes["unknown"] += len(given) - len(views)
        if not views:
            return _Work(writes.VIEWS, {})
        credited, spent, known_ranges = await lookups.spent(db, views)
        counted = count(views, credited=credited, spent=spent, known_ranges=known_ranges, rules=self._view_rules)
        rows = {name.name: getattr(counted, name.name) for name in fields(counted)}
        rows["listable"] = [Listable(row.id) for row in counted.corroborated]
        scored = {post.id for post in counted.posts if post.unique_view_score}
        return _Work(writes.VIEWS, rows, tuple(scored | {posts[row.id] for row in counted.corroborated}))


async def _undo(db: Connection) -> None:
    """Leave no transaction open; a connection that cannot even do that is of no use any more."""
    try:
        await db.rollback()
    except psycopg.Error:
        await db.close()


def _expect_no_hole(batch: Batch, position: int) -> None:
    for expected, record in enumerate(batch.records, position + 1):
        if record.sequence != expected:
            raise Hole(batch.stream, expected, record.sequence)


def _values(rows: Any) -> Iterable[Any]:
    return rows.values() if isinstance(rows, dict) else rows
