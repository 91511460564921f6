"""Events as the gateway writes them, read by the client."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from httpx_sse import EventSource, ServerSentEvent

from contracts.jobs.events import ClaimEnded, Extracted, Planned, PlannedClaim
from openerrata_client import ApiConnectionError, RetryPolicy
from openerrata_client.calls import build_request
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


def events_of(stream: bytes) -> Iterator[ServerSentEvent]:
    """What a server sent."""
    answer = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=stream)
    return EventSource(answer).iter_sse()


def read(stream: bytes, last_event_id: str = "") -> list[tuple[str, str]]:
    """The ids and names of events."""
    cursor = EventCursor("01ARZ3NDEKTSV4RRFFQ69G5FAV", last_event_id, RetryPolicy())
    taken = [cursor.take(sent) for sent in events_of(stream)]
    return [(event.id, event.name) for event in taken if isinstance(event, Event)]


def test_of_one_fact_all_events_are_read() -> None:
    assert read(EXTRACTED + PLANNED) == [("7", "extracted"), ("7", "planned"), ("9", "claim")]


def test_an_event_without_an_id_goes_on_behind_the_one_before() -> None:
    assert read(PLANNED, last_event_id="7") == [("7", "planned"), ("9", "claim")]


@pytest.mark.parametrize("data", ["[1]", "null", '{"a', "[" * 100_000])
def test_an_event_that_is_no_object_is_named(data: str) -> None:
    with pytest.raises(ApiConnectionError, match="The event 7 cannot be read"):
        read(f"id: 7\nevent: claim\ndata: {data}\n\n".encode())


@pytest.mark.parametrize(("stated", "waited_s"), [("1500", 1.5), ("-5", 0), ("9" * 400, 60)])
def test_a_stream_says_how_long_to_wait_within_what_is_allowed(stated: str, waited_s: float) -> None:
    cursor = EventCursor("A", "", RetryPolicy())
    for sent in events_of(f"retry: {stated}\n\n".encode()):
        cursor.take(sent)
    assert cursor.pause_after(ApiConnectionError("cut")) == waited_s


def test_a_connection_that_brought_an_event_does_not_count_as_a_failure() -> None:
    cursor = EventCursor("A", "", RetryPolicy(retries=1))
    for _ in range(3):
        cursor.pause_after(ApiConnectionError("cut"))
        for sent in events_of(EXTRACTED):
            cursor.take(sent)
    cursor.pause_after(ApiConnectionError("cut"))
    with pytest.raises(ApiConnectionError):
        cursor.pause_after(ApiConnectionError("cut"))


def test_an_id_outside_ascii_is_sent_back_as_it_came() -> None:
    cursor = EventCursor("A", "", RetryPolicy())
    for sent in events_of("id: é\ndata: {}\n\n".encode()):
        cursor.take(sent)
    with httpx.Client(base_url="http://a.example") as http:
        request = build_request(http, cursor.call(), 1)
    assert (b"Last-Event-ID", "é".encode()) in request.headers.raw
