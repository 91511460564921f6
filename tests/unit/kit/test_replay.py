"""Which facts a replay selects."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from contracts.topology import CONSUMERS, Consumer
from contracts.v1 import ClaimProposed, Envelope, Event, ObservationReceived, envelope_type
from kit.replay import Selection
from tests.contract.schemas import examples

AT = datetime(2026, 12, 1, tzinfo=UTC)


def envelope_of(event: type[Event]) -> Envelope:
    return envelope_type(event).model_validate(examples(event)["full"])


@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda consumer: consumer.name)
def test_a_fact_of_any_consumer_is_selected_by_the_aggregate_of_its_subject(consumer: Consumer) -> None:
    envelope = envelope_of(consumer.event)
    assert Selection(aggregate=UUID(envelope.event.key())).matches(AT, envelope)
    assert not Selection(aggregate=UUID(int=7)).matches(AT, envelope)


def test_a_time_is_selected_from_its_beginning_and_up_to_its_end() -> None:
    envelope, hour = envelope_of(ObservationReceived), timedelta(hours=1)
    selection = Selection(since=AT, until=AT + hour)
    moments = (AT - hour, AT, AT + hour / 2, AT + hour)
    assert [selection.matches(moment, envelope) for moment in moments] == [False, True, True, False]


def test_a_site_is_selected_by_the_fact_itself_or_by_what_is_known_of_its_post() -> None:
    observed = envelope_of(ObservationReceived)
    assert isinstance(observed.event, ObservationReceived)
    platform = observed.event.observation.post.platform
    assert Selection(platform=platform).matches(AT, observed)
    assert not Selection(platform="NOWHERE").matches(AT, observed)
    proposed = envelope_of(ClaimProposed)
    assert isinstance(proposed.event, ClaimProposed)
    version = proposed.event.version_id
    assert Selection(platform="WIKIPEDIA", platforms={version: "WIKIPEDIA"}).matches(AT, proposed)
    assert not Selection(platform="X", platforms={version: "WIKIPEDIA"}).matches(AT, proposed)
