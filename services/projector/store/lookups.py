"""Queries that a batch needs before it can be folded; each runs once for the whole batch."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from contracts.v1 import Undecodable
from kit.ordered import StoredMessage
from services.projector.facts.fact import Fact, Need, content_refs, makes, page_refs
from services.projector.facts.reading import read_one
from services.projector.store.load import Connection


async def known_texts(db: Connection, facts: Collection[Fact]) -> set[str]:
    """The hashes of the texts that are stored wherever these facts need them: as a page, as content, or as both."""
    wanted = {("content", ref.sha256) for fact in facts for ref in content_refs(fact.event)}
    wanted |= {("page", ref.sha256) for fact in facts for ref in page_refs(fact.event)}
    if not wanted:
        return set()
    hashes = {hash_ for _, hash_ in wanted}
    found = await db.execute(
        """SELECT 'content', content_hash FROM content_blob WHERE content_hash = ANY (%(hashes)s)
        UNION ALL SELECT 'page', html_hash FROM html_blob WHERE html_hash = ANY (%(hashes)s)""",
        {"hashes": list(hashes)},
    )
    return hashes - {hash_ for _, hash_ in wanted.difference(await found.fetchall())}


async def waiting(db: Connection, stream: str, facts: Iterable[Fact]) -> dict[Need, list[Fact]]:
    """The parked facts that this batch may release, and those that these may release in turn."""
    waiting: dict[Need, list[Fact]] = {}
    made = {need for fact in facts for need in makes(fact.event)}
    while made:
        by_name = {str(need): need for need in made}
        found = await db.execute(
            """SELECT p.awaits, f.sequence, f.subject, f.envelope, f.stored_at
            FROM parked p JOIN ledger.fact f USING (stream, sequence)
            WHERE p.stream = %s AND p.awaits = ANY (%s) ORDER BY p.sequence""",
            (stream, list(by_name)),
        )
        made = set()
        for awaits, sequence, subject, envelope, stored_at in await found.fetchall():
            try:
                fact = read_one(StoredMessage(stream, sequence, subject, envelope, stored_at))
            except Undecodable:  # an older version of this program could read it
                continue
            waiting.setdefault(by_name[awaits], []).append(fact)
            made.update(makes(fact.event))
        made -= waiting.keys()
    return waiting


async def skipped(db: Connection, stream: str) -> dict[int, str]:
    """The sequences that an operator has skipped, each with the reason."""
    found = await db.execute("SELECT sequence, reason FROM ledger.skipped WHERE stream = %s", (stream,))
    return dict(await found.fetchall())
