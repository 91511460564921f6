"""Record one run: requests, response bytes and cost, without any key.

Responses are recorded below the provider's client library, so that our own code can be replayed over them. Without this
record a claim could not be explained later, since an investigation is paid for only once.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from pydantic import JsonValue

from contracts.transcript import (
    Call,
    Ending,
    Failed,
    MessagePicture,
    MessageText,
    Research,
    Transcript,
    TranscriptSegment,
    shorten,
)
from contracts.v1.parts import Usage, Value
from kit.models.base import Checkpoint, Image, ModelError, Published
from kit.models.call_cap import CallCap
from kit.models.failures import SHORTEST_KEY
from kit.models.prices import Bill, Spent
from kit.models.stamps import Stamps

NOTHING: Final = Published()
RECORDED_HEADERS = frozenset({"content-type", "date", "retry-after", "retry-after-ms", "request-id", "x-request-id"})


class Recorder:
    """Grows call by call; `transcript()` may be taken at any point, also after a failure.

    The exchange of earlier attempts is recorded again as it is played back. The part of it that is `published` counts
    as theirs, the rest as this attempt's.
    """

    def __init__(
        self, head: Transcript, secret: str, stamps: Stamps, published: Published = NOTHING, cap: CallCap | None = None
    ) -> None:
        self._taken_over, self._published_lookups = published
        self._published_calls = self._taken_over
        self._begins = not self._published_calls
        self._cap = cap
        self._head = head.model_copy(update={"taken_over": self._taken_over})
        self._own_bill = Bill(head.price)
        self._secret = secret
        self._stamps = stamps
        self._bill = Bill(head.price)
        self._calls: list[Call] = []
        self._bodies: list[bytearray] = []
        self._research: dict[int, Research] = {}
        self._places = 0
        self._before: dict[str, JsonValue] = {}

    @property
    def usage(self) -> Usage:
        """The usage of the run so far, in all attempts."""
        return self._bill.usage

    @property
    def own_usage(self) -> Usage:
        """The usage of this attempt so far."""
        return self._own_bill.usage

    @property
    def last(self) -> Call | None:
        """The call made last, without its body."""
        return self._calls[-1] if self._calls else None

    @property
    def last_body(self) -> bytes:
        """The body of the call made last, as far as it was received."""
        return bytes(self._bodies[-1]) if self._bodies else b""

    def begin_call(self, body: Mapping[str, JsonValue]) -> None:
        """Record a call before it is made, so that a failed one is recorded too.

        Raises: ModelError: the call could cost more than is allowed, and must not be made.
        """
        if self._cap is not None and len(self._calls) >= self._taken_over:
            self._cap.require_room(body, self.usage)
        now: dict[str, JsonValue] = json.loads(json.dumps(body))
        call = shorten(now, self._before)
        started_at = self._stamps.time_of("call asked", len(self._calls))
        self._calls.append(call.model_copy(update={"started_at": started_at}))
        self._bodies.append(bytearray())
        self._before = now

    def status(self, status: int, headers: Mapping[str, str]) -> None:
        """Record the start of a response."""
        recorded = {name.lower(): value for name, value in headers.items() if name.lower() in RECORDED_HEADERS}
        self._update(status=status, headers=recorded)

    def chunk(self, data: bytes) -> None:
        """Record a piece of the response."""
        self._bodies[-1] += data

    def end_call(self, how: Ending) -> None:
        """Record the end of a call; only the first report counts."""
        if self._calls and self._calls[-1].ending is None:
            self._update(ending=how, completed_at=self._stamps.time_of("call answered", len(self._calls) - 1))

    def spend(self, spent: Spent) -> None:
        """Add the usage of a call."""
        self._bill.add(spent)
        if len(self._calls) > self._taken_over:
            self._own_bill.add(spent)

    async def research(self, call_id: str, name: str, arguments: str, answer: Callable[[str], Awaitable[str]]) -> str:
        """Answer a look-up of the model, and record it."""
        place = self._places
        self._places += 1
        begun = self._stamps.time_of("research begun", place)
        output = await answer(arguments)
        self._research[place] = Research(
            call_id=call_id,
            name=name,
            arguments=arguments,
            output=output,
            started_at=begun,
            completed_at=self._stamps.time_of("research ended", place),
        )
        return output

    @property
    def lookups(self) -> tuple[Research, ...]:
        """The look-ups so far, in the order of their requests."""
        return tuple(self._research[place] for place in sorted(self._research))

    def checkpoint(self) -> Checkpoint | None:
        """The exchange since the last checkpoint, None if nothing was exchanged."""
        calls = self._recorded()[self._published_calls :]
        if not calls:
            return None
        lookups = self.lookups
        segment = TranscriptSegment(
            head=self._head if self._begins else None, calls=calls, research=lookups[self._published_lookups :]
        )
        step = Checkpoint(serialize(segment, self._redact), self._begins, len(self._calls), self.own_usage)
        self._begins = False
        self._published_calls, self._published_lookups = len(self._calls), len(lookups)
        return step

    def transcript(self, failed: ModelError | None = None) -> bytes:
        """Everything so far as UTF-8 JSON."""
        whole = self._head.model_copy(
            update={
                "calls": self._recorded(),
                "research": self.lookups,
                "error": describe_failure(failed) if failed else None,
            }
        )
        return serialize(whole, self._redact)

    def _recorded(self) -> tuple[Call, ...]:
        return tuple(self._with_body(call, bytes(body)) for call, body in zip(self._calls, self._bodies, strict=True))

    def _with_body(self, call: Call, body: bytes) -> Call:
        try:
            return call.model_copy(update={"body": body.decode()})
        except UnicodeDecodeError:
            if len(self._secret) >= SHORTEST_KEY:  # `_redact` would not find it inside base64
                body = body.replace(self._secret.encode(), b"[key]")
            return call.model_copy(update={"body": b64encode(body).decode(), "encoding": "base64"})

    def redact(self, text: str) -> str:
        """`text` from a server without the key, which the server may quote."""
        return text if len(self._secret) < SHORTEST_KEY else self._redact(text).replace(self._secret, "[key]")

    def _redact(self, text: str) -> str:
        if len(self._secret) < SHORTEST_KEY:
            return text
        quoted = json.dumps(self._secret)[1:-1]
        return text.replace(json.dumps(quoted)[1:-1], "[key]").replace(quoted, "[key]")

    def _update(self, **fields: object) -> None:
        self._calls[-1] = self._calls[-1].model_copy(update=fields)


def serialize(record: Value, redact: Callable[[str], str] = str) -> bytes:
    """A record as UTF-8 JSON; surrogates, which a provider's JSON may contain, are replaced."""
    text = json.dumps(record.model_dump(mode="json", warnings=False), ensure_ascii=False)
    return redact(text).encode("utf-8", "replace")


def describe_failure(error: ModelError) -> Failed:
    """A failure for the record."""
    return Failed(
        failure=error.failure,
        name=error.name,
        reason=error.reason,
        status_code=error.status_code,
        retry_after_s=error.retry_after_s,
    )


def describe_parts(parts: tuple[str | Image, ...]) -> tuple[MessageText | MessagePicture, ...]:
    """A message for the record, where a picture is named by its hash."""
    return tuple(
        MessageText(text=part)
        if isinstance(part, str)
        else MessagePicture(sha256=part.blob.sha256, media_type=part.blob.media_type, size_bytes=part.blob.size_bytes)
        for part in parts
    )
