"""Reads what buckets hold: results that may be shown from the read model, decisions and openings from the log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from uuid import UUID

from analyses.fact_check import FactCheck
from contracts.lookup.documents import Change, Retractions
from kit.database import Session
from services.notary.domain import StoredCheckpoint
from services.notary.lookup.listing import FoundLeaf, ListedPost, ListedVersion, choose_leaf, group_posts
from tlog.leaf import Opening, parse_leaf
from tlog.note import Note, Signature

_VERSIONS: Final = """
    SELECT DISTINCT ON (d.post_version_id) s.post_id, p.platform, p.external_id, v.content_hash, m.document,
        d.investigation_id, d.checked_at, s.claim_count,
        ARRAY(SELECT claim_id FROM readmodel.finding_state f
            WHERE f.investigation_id = d.investigation_id AND f.state <> 'RELEASED')
    FROM readmodel.search_document s
    JOIN readmodel.investigation_doc d ON d.investigation_id = s.investigation_id AND d.analysis = %(analysis)s
    JOIN readmodel.post_version v ON v.id = d.post_version_id
    JOIN readmodel.post p ON p.id = s.post_id
    LEFT JOIN readmodel.version_metadata m ON m.post_version_id = v.id AND m.platform = p.platform
    WHERE s.post_id = ANY (%(posts)s)
        AND NOT EXISTS (SELECT FROM readmodel.author w WHERE w.id = p.author_id AND w.hidden_at IS NOT NULL)
    ORDER BY d.post_version_id, d.checked_at DESC, d.investigation_id DESC"""
_LEAVES: Final = """
    SELECT s.id, l.index, l.data FROM log.subject s JOIN log.leaf l ON l.index = s.index WHERE s.id = ANY (%s)"""
_OPENINGS: Final = "SELECT index, j, salt, document FROM log.opening WHERE index = ANY (%s) ORDER BY index, j"
_NOTE: Final = """
    SELECT c.size, c.root, c.note,
        ARRAY(SELECT line FROM log.cosignature s WHERE s.size = c.size ORDER BY s.key_id)
    FROM log.checkpoint c
    WHERE c.published_at IS NOT NULL AND (c.witnessed_at IS NOT NULL OR NOT %s) ORDER BY c.size DESC LIMIT 1"""
_CHANGES: Final = """
    SELECT claim_id, state, cause, changed_at FROM readmodel.finding_state
    WHERE changed_at >= %s AND changed_at < %s ORDER BY changed_at, claim_id"""
_BEHIND: Final = """
    SELECT (SELECT max(sequence) FROM ledger.fact WHERE stream = %s) > (SELECT max(sequence) FROM log.state)"""


async def read_posts(db: Session, ids: Collection[UUID]) -> dict[UUID, ListedPost]:
    """Those of these posts that have something to show; two queries for all of them."""
    if not ids:
        return {}
    found = await db.execute(_VERSIONS, {"analysis": FactCheck.name, "posts": list(ids)})
    versions = [
        ListedVersion(
            post_id=row[0],
            platform=row[1],
            external_id=row[2],
            content_hash=row[3],
            metadata=row[4],
            investigation_id=row[5],
            checked_at=row[6],
            findings=row[7],
            withdrawn=tuple(row[8]),
        )
        for row in await found.fetchall()
    ]
    leaves = await _read_leaves(db, [each.investigation_id for each in versions if each.findings])
    return group_posts(versions, leaves)


async def _read_leaves(db: Session, investigations: Sequence[UUID]) -> dict[UUID, FoundLeaf]:
    if not investigations:
        return {}
    of_subject: dict[UUID, list[FoundLeaf]] = defaultdict(list)
    for subject, index, data in await (await db.execute(_LEAVES, (investigations,), binary=True)).fetchall():
        of_subject[subject].append(FoundLeaf(index, bytes(data)))
    chosen = {
        subject: choose_leaf((each, parse_leaf(each.data)) for each in leaves) for subject, leaves in of_subject.items()
    }
    return {subject: leaf for subject, leaf in chosen.items() if leaf is not None}


async def read_openings(db: Session, indexes: Iterable[int]) -> Mapping[int, Sequence[Opening]]:
    """The openings of these leaves, by index, without erased ones."""
    openings: dict[int, list[Opening]] = defaultdict(list)
    found = await db.execute(_OPENINGS, (list(indexes),), binary=True)
    for index, j, salt, document in await found.fetchall():
        openings[index].append(Opening(j, bytes(salt), bytes(document)))
    return openings


async def read_note(db: Session, *, is_witnessed: bool) -> tuple[StoredCheckpoint, Note] | None:
    """The newest published note with its cosignatures; with `is_witnessed`, the newest that a quorum has cosigned."""
    row = await (await db.execute(_NOTE, (is_witnessed,), binary=True)).fetchone()
    if row is None:
        return None
    size, root, data, lines = row
    note = Note.parse(bytes(data)).with_signatures(*(Signature.parse(bytes(line).decode()) for line in lines))
    return StoredCheckpoint(size, bytes(root), bytes(data), is_published=True), note


async def read_retractions(db: Session, day: date) -> Retractions:
    """The findings whose state last changed on this day."""
    begin = datetime.combine(day, time(), UTC)
    found = await db.execute(_CHANGES, (begin, begin + timedelta(days=1)))
    changes = [Change(id=id_, state=state, cause=cause, at=at) for id_, state, cause, at in await found.fetchall()]
    return Retractions(day=day, claims=tuple(changes))


async def is_behind(db: Session, stream: str) -> bool:
    """Whether the ledger holds facts that the log has not looked at."""
    row = await (await db.execute(_BEHIND, (stream,))).fetchone()
    return row is not None and bool(row[0])


async def is_stopped(db: Session) -> bool:
    """Whether a breaker stops every finding."""
    found = await db.execute("SELECT FROM readmodel.breaker WHERE scope = 'ALL' AND state = 'OPEN'")
    return await found.fetchone() is not None
