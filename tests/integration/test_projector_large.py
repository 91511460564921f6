"""A transcript of 5 MB is written like one of 5 kB: as many statements, one transaction, memory for one at a time.

Counted, not timed: a busy machine changes none of it.
"""

from __future__ import annotations

import tracemalloc
from typing import Any, Final, cast

import pytest
from psycopg.types.json import Json

from contracts.v1.parts import TextRef
from kit.database import Database
from services.projector.facts.reading import read
from services.projector.store.load import Connection
from services.projector.store.projection import projections
from services.projector.store.store import KEY_LOOKUP_OPTIONS, Store
from services.projector.transcripts.fetch import TOGETHER_BYTES
from tests.integration.readmodel_tables import ANALYSES, NoTexts, Session, owner, prepare
from tests.support import transcripts
from tests.support.servers import Prepare
from tests.unit.projector.histories import Page, Tape, digest

pytest_plugins = ["tests.support.servers"]

MOST_STATEMENTS: Final = 40
"""At most three for each table that the facts of a run touch, and a few around them; rows add none."""
MOST_COPIES: Final = 12
"""Of a transcript, in memory: its text, what is read from it, the rows and the document they are sent as."""
LARGE: Final = 1_000
"""Calls of 5 kB each in a large transcript."""


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


class Counted:
    """A session that counts statements, by transaction; the first count is of those before any."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.statements = [0]
        self.sent_bytes = [0]

    async def execute(self, query: Any, parameters: Any = None, **options: Any) -> Any:
        if query == "BEGIN":
            self.statements.append(0)
            self.sent_bytes.append(0)
        self.statements[-1] += 1
        given = parameters.values() if isinstance(parameters, dict) else []
        self.sent_bytes[-1] += sum(len(each.obj) for each in given if isinstance(each, Json))
        return await self._session.execute(query, parameters, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def said(calls: int, letter: str = "x") -> str:
    """A transcript with so many calls of 5 kB."""
    output = [
        {
            "type": "function_call",
            "id": f"fc_{n}",
            "call_id": f"c{n}",
            "status": "completed",
            "arguments": letter * 5_000,
        }
        for n in range(calls)
    ]
    return transcripts.run(output=output)


class World:
    """A read model that grows by batches."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._tape = Tape()

    async def written(self, *texts: str) -> tuple[Counted, int]:
        """A drafted run for each transcript, applied as one batch: the session that did it, and the peak of memory."""
        done = len(self._tape.records)
        for text in texts:
            page = Page(f"page {len(self._tape.records)}")
            drafted = page.drafted(transcript=TextRef(sha256=digest(text), size_bytes=len(text)))
            self._tape.add(page.registered(), page.requested(), page.started(), drafted)
        session = Counted(await Database(self._url, role="projector").session(options=KEY_LOOKUP_OPTIONS))

        async def connect() -> Connection:
            return cast(Connection, session)

        store = Store(connect, NoTexts(**{digest(text): text for text in texts}), projections(ANALYSES))
        batch = read(self._tape.records[done:])
        await store.connection()
        session.statements, session.sent_bytes = [0], [0]
        tracemalloc.start()
        try:
            await store.apply(batch)
            return session, tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            await store.close()

    async def calls(self) -> int:
        """Rows of calls that there are."""
        async with await owner(self._url) as db:
            found = await db.execute("SELECT count(*) FROM investigation_attempt_tool_call")
            (number,) = await found.fetchone() or (0,)
            return int(number)


@pytest.mark.requirement("2.12-04")
async def test_a_large_transcript_takes_as_many_statements_as_a_small_one(database_url: str) -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    world = World(database_url)
    await world.written(said(1, "w"))  # and with it the prompt, which later ones share
    small, _ = await world.written(said(1))
    assert await world.calls() == 2
    text = said(LARGE)
    assert len(text) > 5_000_000
    large, peak = await world.written(text)
    assert await world.calls() == 2 + LARGE
    assert large.statements == small.statements, "statements do not grow with rows"
    assert len(large.statements) == 2, "one transaction"
    assert sum(large.statements) <= MOST_STATEMENTS
    assert peak < MOST_COPIES * len(text)


@pytest.mark.requirement("2.12-04")
async def test_large_transcripts_are_written_one_at_a_time(database_url: str) -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    world = World(database_url)
    texts = [said(LARGE, letter) for letter in "abcdef"]
    _, peak_of_one = await world.written(texts[0])
    many, peak = await world.written(*texts[1:])
    assert await world.calls() == len(texts) * LARGE
    assert len(many.statements) == len(texts), "a transaction for each"
    assert max(many.statements) <= MOST_STATEMENTS
    assert 5_000_000 < max(many.sent_bytes) < 2 * TOGETHER_BYTES
    assert peak < 1.5 * peak_of_one, "no more than one of them is held"
