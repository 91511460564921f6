"""The events of a job, resumed after a connection was cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import httpx
from httpx_sse import EventSource, ServerSentEvent
from pydantic import JsonValue

from openerrata_client.documents import UnreadableAnswerError, parse_json
from openerrata_client.errors import ApiConnectionError, ApiError
from openerrata_client.exchanges import Call, RetryPolicy, job_path

LAST: Final = "ended"
EVENT_STREAM: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a job: `queued`, `fetched`, `extracted`, `planned`, `claim`, `assessing`, `ended`.

    `id`: after which a later stream resumes. `data`: as docs/audits.md lists it.
    """

    id: str
    name: str
    data: Mapping[str, JsonValue]


class EventCursor:
    """How far the events of a job were read. A connection that brought an event does not count as a failure."""

    def __init__(self, job_id: str, last_event_id: str, policy: RetryPolicy) -> None:
        self._path = f"{job_path(job_id)}/events"
        self._last_id = last_event_id
        self._policy = policy
        self._failures = 0
        self._retry_s: float | None = None
        self.has_ended = False

    def call(self) -> Call:
        """The request that opens the stream after the last event that was read."""
        resume = {"Last-Event-ID": self._last_id} if self._last_id else {}
        return Call("GET", self._path, headers={"Accept": EVENT_STREAM, **resume})

    def take(self, sent: ServerSentEvent) -> Event | None:
        """The event in a message; None if it has no data. Raises: ApiConnectionError: it cannot be read."""
        if sent.retry is not None:
            self._retry_s = min(max(0, sent.retry), 1000 * self._policy.longest_s) / 1000
        if not sent.data:
            return None
        try:
            data = parse_json(sent.data)
        except ValueError:
            data = None
        if not isinstance(data, dict):
            raise ApiConnectionError(f"The event {sent.id} cannot be read.")
        self._failures = 0
        self._last_id = sent.id or self._last_id
        self.has_ended = sent.event == LAST
        return Event(self._last_id, sent.event, data)

    def pause_after(self, error: ApiConnectionError | ApiError) -> float:
        """How long to wait before the stream is opened again. Raises: the error, when it failed too often."""
        self._failures += 1
        seconds = self._policy.pause_before(self._failures, error)
        if seconds is None:
            raise error
        stated = isinstance(error, ApiError) and error.retry_after_s is not None
        return seconds if stated or self._retry_s is None else self._retry_s


def open_stream(response: httpx.Response) -> EventSource:
    """The events of an answer. Raises: UnreadableAnswerError: the answer is something else, such as a proxy's page."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if kind != EVENT_STREAM:
        raise UnreadableAnswerError(
            f"The server's answer is not a stream of events, but {kind or 'of an unknown type'}."
        )
    return EventSource(response)


NOTHING_MORE: Final = 204
"""The status of the answer when no event follows."""
CUT: Final = "The stream of events ended before the job did."
