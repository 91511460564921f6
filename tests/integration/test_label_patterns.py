"""Labels by address among many: the right ones, and what a question reads depends on what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import pytest

from kit.database import Database
from services.gateway.record.labels import FEW
from services.gateway.record.repository import PublicRecord
from tests.integration.readmodel_tables import Session, owner, prepare
from tests.support.explained import plans, statements
from tests.support.servers import Prepare

pytest_plugins = ["tests.support.servers"]

LABELS: Final = 20_000
REPOSITORIES: Final = 500
LIMIT: Final = 250
NOW: Final = datetime(2026, 6, 1, tzinfo=UTC)
_FILL: Final = """
    INSERT INTO label (id, uri, cid, val, neg, cts, exp, post_id, investigation_id, why, sequence)
    SELECT md5('l' || n)::uuid, 'at://did:plc:' || md5((n %% %(repositories)s)::text) || '/app.bsky.feed.post/' || n,
        'bafy' || n, 'erratum', n %% 10 = 0, timestamptz '2026-05-01Z',
        timestamptz '2026-06-01Z' + CASE WHEN n %% 2 = 0 THEN interval '-1 day' ELSE interval '1 day' END,
        md5('p' || n)::uuid, md5('i' || n)::uuid, 'PUBLISHED', n
    FROM generate_series(1, %(labels)s) n
"""
_HELD: Final = (
    "SELECT uri, sequence FROM label WHERE NOT neg AND exp > %(now)s AND sequence > %(after)s ORDER BY sequence"
)
ONE: Final = "at://did:plc:c4ca4238a0b923820dcc509a6f75849b"
"""The repository of every five hundredth label."""
QUESTIONS: Final[dict[str, tuple[Sequence[str], int]]] = {
    "an address": ((f"{ONE}/app.bsky.feed.post/1",), 0),
    "an address that has none": ((f"{ONE}/app.bsky.feed.post/2",), 0),
    "a repository": ((f"{ONE}/*",), 0),
    "a repository, on": ((f"{ONE}/*",), 10_000),
    "a hundred addresses": ([f"{ONE}/app.bsky.feed.post/{n}" for n in range(100)], 0),
    "a hundred beginnings that have none": ([f"at://did:plc:{'z' * 500}{n}*" for n in range(100)], 0),
    "one thing in many ways": ((f"{ONE}*", f"{ONE}/*", f"{ONE}/app*", f"{ONE}/app.bsky.feed.post/1"), 0),
    "all": (("*",), 0),
    "all, and each": (("*", "at://*", f"{ONE}*", f"{ONE}/app.bsky.feed.post/1"), 0),
    "all, on": (("*",), 19_900),
    "many and few": (("at://did:plc:a*", "at://did:plc:b*", f"{ONE}/*"), 0),
    "many, and letters that stand for others elsewhere": (
        ("at://did:plc:a*", "at://did:plc:b*", "at://did_plc:c*", "at://did:plc:%*"),
        0,
    ),
    "letters that stand for others elsewhere": (("at://did:plc:%*", "at://did_plc*", "\\*", "%", "_"), 0),
}


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


async def _fill(db: Session) -> None:
    await db.execute("SET session_replication_role = replica")
    await db.execute(_FILL, {"labels": LABELS, "repositories": REPOSITORIES})
    await db.execute("VACUUM ANALYZE label")


def _fits(uri: str, patterns: Sequence[str]) -> bool:
    return any(uri.startswith(each[:-1]) if each.endswith("*") else uri == each for each in patterns)


async def test_what_a_question_reads_depends_on_what_it_finds(database_url: str) -> None:
    read = {}
    reader = Database(database_url, role="reader")
    async with await owner(database_url) as db, await reader.session() as explaining:
        await _fill(db)
        for name, (patterns, after) in QUESTIONS.items():
            held = await (await db.execute(_HELD, {"now": NOW, "after": after})).fetchall()
            fitting = [sequence for uri, sequence in held if _fits(uri, patterns)]
            async with statements() as taken, PublicRecord(reader).open() as session:
                found = await session.labels.holding(patterns, NOW, after=after, limit=LIMIT)
            assert [label.sequence for label in found] == fitting[:LIMIT], name
            plan = await plans(explaining, taken)
            assert [each.scanned for each in plan if each.scanned] == [], name
            allowed = 50 + 4 * len(patterns) + 6 * min(len(fitting), FEW)
            read[name] = sum(each.buffers for each in plan), allowed
    await reader.close()
    assert {name: each for name, each in read.items() if each[0] > each[1]} == {}
