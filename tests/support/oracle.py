"""Reads directly what a system holds: every row, every fact, and whether all work is done.

Two systems that were told the same hold the same rows, whatever happened on the way. Only where a fact stands in its
stream may differ, so those columns can be left out.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

import nats.errors
import psycopg
from nats.js.errors import KeyNotFoundError, NotFoundError, ServiceUnavailableError
from psycopg import sql

from contracts.topology import (
    CONCLUDE_MARK,
    CONCLUDED,
    CONSUMERS,
    DEAD,
    ERRATA,
    JOBS,
    MARKS,
    USER_KEYS,
    VIEWS,
    stream_of,
)
from contracts.v1 import RetentionPurged
from kit.bus import Bus, connect
from kit.database import Session, open_session
from kit.kv import Bucket
from kit.publisher import BusError
from tests.support.system import NotInTime, until

Rows = Mapping[str, tuple[str, ...]]
"""Every table's rows as JSON, in an order of their own."""

NOT_ROWS = ("alembic_version", "purge")
"""Tables that say nothing of posts: the pieces of the search index keep the count of what was forgotten.

What is purged is told soon after the start and at each full hour, so also while a test looks twice; `_table` leaves out
the position of its stream for the same reason.
"""

PLACES = ("requested_sequence",)
"""Columns that say where in its stream a fact stands."""

SHARED = ("content_blob", "html_blob", "image_occurrence_set", "prompt")
FIRSTS = ("created_at",)


@dataclass(frozen=True)
class Fact:
    """One fact of the ledger."""

    stream: str
    sequence: int
    subject: str
    data: bytes

    @property
    def envelope(self) -> dict[str, Any]:
        """Its envelope as JSON."""
        envelope: dict[str, Any] = json.loads(self.data)
        return envelope


class Oracle:
    """Looks into one system."""

    def __init__(self, database_url: str, bus: Bus) -> None:
        self._url = database_url
        self._session: Session | None = None
        self.bus = bus

    async def close(self) -> None:
        """Leave the database."""
        if self._session is not None:
            await self._session.close()

    async def rows(self, *, without_places: bool = False, without_firsts: bool = False) -> Rows:
        """Every table of the read model.

        `without_places`: neither positions nor columns that hold one. `without_firsts`: nor when something that several
        posts share was needed first, which depends on which of them came first.
        """
        async with await open_session(self._url) as db:
            found = await db.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'readmodel' AND tablename <> ALL (%s)",
                (list(NOT_ROWS),),
            )
            tables = sorted(name for (name,) in await found.fetchall())
            return {
                table: await _table(
                    db,
                    table,
                    (*(PLACES if without_places else ()), *(FIRSTS if without_firsts and table in SHARED else ())),
                )
                for table in tables
                if not (without_places and table == "position")
            }

    async def value(self, query: LiteralString, *parameters: object) -> Any:
        """The first column of the first row. It is asked again and again while a test waits, and opening costs 6 ms."""
        try:
            row = await self._fetch_one(query, parameters)
        except psycopg.OperationalError:
            if self._session is None or not self._session.closed:
                raise
            row = await self._fetch_one(query, parameters)  # the server had been killed since
        return None if row is None else row[0]

    async def _fetch_one(self, query: LiteralString, parameters: tuple[object, ...]) -> tuple[Any, ...] | None:
        if self._session is None or self._session.closed:
            self._session = await open_session(self._url)
        return await (await self._session.execute(query, parameters)).fetchone()

    async def execute(self, statement: LiteralString, *parameters: object) -> int:
        """Change something that must not be changed; return the number of rows."""
        async with await open_session(self._url) as db:
            return (await db.execute(statement, parameters)).rowcount

    async def forge(self, statement: LiteralString, *parameters: object) -> int:
        """As `execute`, but as the owner of the database server, with its guards switched off."""
        async with await open_session(self._url, options="-c session_replication_role=replica") as db:
            return (await db.execute(statement, parameters)).rowcount

    async def facts(self, subject: str = "%") -> list[Fact]:
        """The ledger, in order; `subject` is a LIKE pattern."""
        async with await open_session(self._url) as db:
            found = await db.execute(
                "SELECT stream, sequence, subject, envelope FROM ledger.fact WHERE subject LIKE %s "
                "ORDER BY stream, sequence",
                (subject,),
            )
            return [Fact(*row) for row in await found.fetchall()]

    async def about(self, investigation_id: str | UUID) -> list[Fact]:
        """All facts of one investigation, in order, whatever their key is."""
        run = str(investigation_id)
        async with await open_session(self._url) as db:
            found = await db.execute(
                "SELECT stream, sequence, subject, envelope FROM ledger.fact "
                "WHERE stream = 'ERRATA' AND position(%s::bytea IN envelope) > 0 ORDER BY sequence",
                (run.encode(),),
            )
            facts = [Fact(*row) for row in await found.fetchall()]
        return [fact for fact in facts if fact.envelope["event"].get("investigation_id") == run]

    async def dump(self) -> str:
        """Everything in every schema of ours, for finding what must not be there."""
        async with await open_session(self._url) as db:
            found = await db.execute(
                "SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('readmodel', 'ledger', 'operator')"
            )
            texts: list[str] = []
            for schema, table in await found.fetchall():
                query = sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(schema, table))
                texts += [text for (text,) in await (await db.execute(query)).fetchall()]
        facts = await self.facts()
        return "\n".join([*texts, *(fact.data.decode() for fact in facts)])

    async def dead(self) -> list[str]:
        """Why messages were given up, if any were."""
        return [line for line in (await self.stream_text(DEAD.name)).splitlines() if line]

    async def readers_keys(self) -> list[str]:
        """The names of the readers' keys that are kept."""
        return await list_keys(self.bus, USER_KEYS.name)

    async def stream_text(self, stream: str) -> str:
        """All that a stream holds, headers too."""
        texts: list[str] = []
        state = (await self.bus.jetstream.stream_info(stream)).state
        for sequence in range(max(1, state.first_seq), state.last_seq + 1):
            with suppress(NotFoundError):
                message = await self.bus.jetstream.get_msg(stream, sequence)
                texts.append(f"{message.subject} {message.headers} {(message.data or b'').decode(errors='replace')}")
        return "\n".join(texts)

    async def heads(self) -> dict[str, int]:
        """The last sequence of each stream, without retention facts: one comes soon after the start and each hour."""
        purged = await self.bus.jetstream.stream_info(JOBS.name, subjects_filter=f"{RetentionPurged.SUBJECT}.>")
        heads = await self._heads()
        return heads | {JOBS.name: heads[JOBS.name] - sum((purged.state.subjects or {}).values())}

    async def _heads(self) -> dict[str, int]:
        return {stream.name: await self._head(stream.name) for stream in (ERRATA, JOBS, VIEWS)}

    async def _head(self, stream: str) -> int:
        head: int = (await self.bus.jetstream.stream_info(stream)).state.last_seq
        return head

    async def settled(self, *, within_s: float = 90.0, only_projector: bool = False) -> dict[str, int]:
        """Wait until nobody has anything left to do; where the streams end then."""

        busy: list[str] = []

        async def quiet() -> dict[str, int] | None:
            try:
                return await look()
            except (nats.errors.TimeoutError, ServiceUnavailableError, BusError) as error:
                busy[:] = [f"the broker: {error or type(error).__name__}"]
                return None

        async def look() -> dict[str, int] | None:
            heads = await self._heads()
            busy.clear()
            for stream, head in heads.items():
                if (position := await self._position(stream)) < head:
                    busy.append(f"projector: {stream} at {position} of {head}")
            if not only_projector:  # after the projector, since a broker counts a message a moment after it is stored
                busy.extend(await self._busy())
            return heads if not busy and heads == await self._heads() else None

        try:
            return await until(quiet, "all work is done", within_s=within_s)
        except NotInTime as late:
            raise NotInTime(f"not within {within_s:g} s; still to do: {busy}") from late

    async def _position(self, stream: str) -> int:
        found: int = await self.value(
            "SELECT coalesce(max(sequence), 0) FROM readmodel.position WHERE stream = %s", stream
        )
        return found

    async def _busy(self) -> list[str]:
        busy = []
        streams = {stream_of(consumer.event).name for consumer in CONSUMERS}
        listed = [await self.bus.jetstream.consumers_info(name) for name in streams]
        states = {info.name: info for infos in listed for info in infos}
        for consumer in CONSUMERS:
            info = states.get(consumer.name)
            if info is None:  # a list leaves out those whose leader did not answer in time
                busy.append(f"{consumer.name}: not listed")
            elif info.num_pending or info.num_ack_pending:
                busy.append(f"{consumer.name}: {info.num_pending} waiting, {info.num_ack_pending} in hand")
        head: int = await self.value(
            "SELECT coalesce(max(sequence), 0) FROM ledger.fact "
            "WHERE stream = 'ERRATA' AND regexp_replace(subject, '[^.]+$', '*') = ANY (%s)",
            list(CONCLUDED),
        )
        mark = int(await (await Bucket.open(self.bus, MARKS)).get(CONCLUDE_MARK) or b"0")
        return busy if mark >= head else [*busy, f"{CONCLUDE_MARK}: at {mark} of {head}"]

    async def once_each(self, investigation_id: str | UUID) -> list[str]:
        """Assert that an investigation has each fact once and each finding once; the findings' quotes in order."""
        facts = await self.about(investigation_id)
        ids = [fact.envelope["id"] for fact in facts]
        assert len(ids) == len(set(ids)), "a fact was stored twice"
        ends = [fact.subject for fact in facts if ".investigation.completed." in fact.subject]
        assert len(ends) == 1, f"{len(ends)} ends"
        async with await open_session(self._url) as db:
            found = await db.execute(
                "SELECT claim_id, ordinal, payload ->> 'text', state FROM readmodel.claim_candidate "
                "WHERE investigation_id = %s ORDER BY ordinal",
                (investigation_id,),
            )
            candidates = await found.fetchall()
            found = await db.execute(
                "SELECT id, ordinal, text FROM readmodel.claim WHERE investigation_id = %s ORDER BY ordinal",
                (investigation_id,),
            )
            claims = await found.fetchall()
        assert [row[1] for row in candidates] == list(range(len(candidates))), "candidates have a gap or a double"
        assert len({row[2] for row in candidates}) == len(candidates), "a sentence was proposed twice"
        assert all(row[3] in ("APPROVED", "REJECTED") for row in candidates), "a candidate has no verdict"
        assert [row[0] for row in claims] == [row[0] for row in candidates if row[3] == "APPROVED"]
        return [row[2] for row in claims]


async def _table(db: psycopg.AsyncConnection[tuple[Any, ...]], table: str, without: tuple[str, ...]) -> tuple[str, ...]:
    query = sql.SQL('SELECT (to_jsonb(t) - %s::text[])::text COLLATE "C" AS row FROM {} t {} ORDER BY row').format(
        sql.Identifier("readmodel", table),
        sql.SQL("WHERE stream <> {}").format(JOBS.name) if table == "position" else sql.SQL(""),
    )
    return tuple(row for (row,) in await (await db.execute(query, (list(without),))).fetchall())


def differences(ours: Rows, theirs: Rows) -> list[str]:
    """What one has and the other lacks, for people; empty if both hold the same."""
    assert ours.keys() == theirs.keys()
    found = []
    for table in ours:
        found += [f"{table}: only in the first: {row}" for row in sorted(set(ours[table]) - set(theirs[table]))]
        found += [f"{table}: only in the second: {row}" for row in sorted(set(theirs[table]) - set(ours[table]))]
        if len(ours[table]) != len(theirs[table]):
            found.append(f"{table}: {len(ours[table])} rows against {len(theirs[table])}")
    return found


@asynccontextmanager
async def oracle(database_url: str, nats_url: str) -> AsyncIterator[Oracle]:
    """Look into a system for as long as the context lasts."""
    async with connect(nats_url, name="test-oracle") as bus:
        found = Oracle(database_url, bus)
        try:
            yield found
        finally:
            await found.close()


async def list_keys(bus: Bus, bucket: str) -> list[str]:
    """The keys of a bucket that have a value; nats-py's own list misses what is on its way when it looks."""
    store, prefix = await bus.jetstream.key_value(bucket), f"$KV.{bucket}."
    state = (await bus.jetstream.stream_info(f"KV_{bucket}", subjects_filter=f"{prefix}>")).state
    found = []
    for subject in state.subjects or ():
        with suppress(KeyNotFoundError):  # it was removed
            found.append((await store.get(subject.removeprefix(prefix))).key or "")
    return found
