"""A measure of verdicts, from the operator's command to the page of a claim."""

from __future__ import annotations

from math import comb
from typing import Any
from uuid import UUID

import click
import pytest

from contracts.v1 import MetricSampled
from kit.database import Database
from services.commands.claims import Measured, publish_measure
from tests.integration.readmodel_tables import NoTexts, everything, fill, prepare, store_at
from tests.support.fakes import StillClock
from tests.support.public_claims import SHIPS, tell_claims
from tests.support.servers import Prepare
from tests.support.site_client import BASE, TAG, client_of
from tests.support.site_server import pages_of

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


class Published:
    """A broker that keeps what is published."""

    def __init__(self) -> None:
        self.events: list[MetricSampled] = []

    async def publish_if_first(self, event: MetricSampled, _: UUID) -> bool:
        self.events.append(event)
        return True


@pytest.mark.requirement("FH-164")
async def test_a_measure_is_shown_with_its_bound_number_and_date(database_url: str) -> None:
    """FH-164: Catalogue pages look unlike corrections and show measured correctness"""
    instance = await tell_claims(database_url)
    shown = next(row for row in (await everything(database_url))["entry"] if row["id"] == str(SHIPS))
    analysis, bus = UUID(shown["analysis_id"]), Published()
    broker: Any = bus
    database, clock = Database(database_url, role="reader"), StillClock(instance.now)
    with pytest.raises(click.ClickException, match="no analysis"):
        await publish_measure(broker, database, clock, UUID(int=7), Measured(1, 1))
    await publish_measure(broker, database, clock, analysis, Measured(41, 50))
    await database.close()
    (sample,) = bus.events
    elsewhere = sample.model_copy(update={"category": "VOTHER", "value": 0.1})
    earlier = sample.model_copy(update={"slot": "2026-01-01T00", "value": 0.2})
    for event in (elsewhere, sample, earlier):
        instance.tape.add(event, at=instance.now)
    store = store_at(database_url, texts=NoTexts(**instance.tape.words))
    await fill(store, instance.tape.records[-3:])
    await store.close()
    async with (
        pages_of(database_url, instance.now, catalogue=True, jobs=True, public_url=BASE) as router,
        client_of(router) as client,
    ):
        page = " ".join(TAG.sub(" ", (await client.get(f"/claims/{SHIPS}")).text).split())
    assert "right in 82 % of 50 cases with known answers, at least 71 % with 95 % confidence, as measured on" in page
    assert "not measured" not in page
    assert at_least_41(0.70) < 0.05 < at_least_41(0.715)


def at_least_41(rate: float) -> float:
    """The chance of 41 right verdicts or more, of 50."""
    return sum(comb(50, right) * rate**right * (1 - rate) ** (50 - right) for right in range(41, 51))
