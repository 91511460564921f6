"""Events as the gateway writes them, read by the client."""

from __future__ import annotations

import httpx
from httpx_sse import EventSource

from contracts.jobs.events import ClaimEnded, Extracted, Planned, PlannedClaim
from openerrata_client import RetryPolicy
from openerrata_client.events import Event, EventCursor
from services.gateway.jobs.events import encode_events

EXTRACTED = encode_events(7, [Extracted(claims_total=1, cached_extraction=False)])
PLANNED = encode_events(
    9,
    [
        Planned(claims=(PlannedClaim(claim_id="C1", outcome="joined"),)),
        ClaimEnded(claim_id="C1", state="done", rollup_verdict="Refuted"),
    ],
)


def read(stream: bytes, last_event_id: str = "") -> list[tuple[str, str]]:
    """The ids and names of events."""
    answer = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=stream)
    cursor = EventCursor("01ARZ3NDEKTSV4RRFFQ69G5FAV", last_event_id, RetryPolicy())
    taken = [cursor.take(sent) for sent in EventSource(answer).iter_sse()]
    return [(event.id, event.name) for event in taken if isinstance(event, Event)]


def test_of_one_fact_all_events_are_read() -> None:
    assert read(EXTRACTED + PLANNED) == [("7", "extracted"), ("7", "planned"), ("9", "claim")]


def test_an_event_without_an_id_goes_on_behind_the_one_before() -> None:
    assert read(PLANNED, last_event_id="7") == [("7", "planned"), ("9", "claim")]
