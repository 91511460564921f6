"""A rebuild ends with the tables that follow the log, before and after each purge, with the texts of that moment."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import pytest

from contracts.v1 import RetentionPurged, decode
from services.projector.rebuild.shadow import shadow
from tests.integration.readmodel_tables import ANALYSES, NoTexts, fill, prepare, store_at
from tests.support.servers import Prepare
from tests.unit.projector.audit_histories import strange_days

pytest_plugins = ["tests.support.servers"]

MOST: Final = 4
"""Purges of each history: a rebuild takes a second."""


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


def list_kept(value: Any) -> Iterator[tuple[str, datetime]]:
    """The texts that a fact refers to, and until when each is kept."""
    if isinstance(value, dict) and {"until", "sha256"} <= {*value}:
        yield value["sha256"], value["until"]
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from list_kept(each)


@pytest.mark.requirement("FH-121")
@pytest.mark.parametrize("seed", [1, 2])
async def test_a_rebuild_ends_equal_before_and_after_each_purge(database_url: str, seed: int) -> None:
    """FH-121: Words of edits are deleted after five years."""
    tape = strange_days(24, seed)
    events = [decode(each.subject, each.data).event for each in tape.records]
    purges = [place for place, event in enumerate(events) if isinstance(event, RetentionPurged)][-MOST:]
    assert purges
    hours: dict[str, datetime] = {}
    for sha256, until in (kept for event in events for kept in list_kept(event.model_dump())):
        hours[sha256] = max(until, hours.get(sha256, until))
    texts = NoTexts(**tape.words)
    store = store_at(database_url, texts=texts)
    written = 0
    for place in purges:
        await fill(store, tape.records[written:place])
        assert await shadow(database_url, texts, analyses=ANALYSES) == []
        await fill(store, tape.records[place : place + 1])
        purge = events[place]
        assert isinstance(purge, RetentionPurged)
        for sha256 in [sha256 for sha256, until in hours.items() if until <= purge.before]:
            texts.texts.pop(sha256, None)
        assert await shadow(database_url, texts, analyses=ANALYSES) == []
        written = place + 1
    await store.close()
