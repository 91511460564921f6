"""The record of one run as it grows: what was asked, the very bytes that came back, what it cost, no key in any of it.

Answers are recorded where they enter, under the provider's client library, so that our own code can be run again over
them. An investigation is paid for once; without this record nobody could say later why a claim was made.
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
    PictureShown,
    Price,
    Research,
    Transcript,
    TranscriptSegment,
    Words,
    shortened,
)
from contracts.v1.parts import Usage, Value
from kit.models.base import Checkpoint, Image, ModelError, Published
from kit.models.failures import SHORTEST_KEY
from kit.models.prices import Bill, Spent
from kit.models.stamps import Stamps, answered, asked, found, researched

NOTHING: Final = Published()
KEPT_HEADERS = frozenset({"content-type", "date", "retry-after", "retry-after-ms", "request-id", "x-request-id"})


class Recorder:
    """Grows call by call; `transcript()` may be taken at any point, also after a failure.

    What earlier attempts exchanged is recorded anew as it is played back. What is `published` of it is theirs, the rest
    is counted as this one's.
    """

    def __init__(self, head: Transcript, secret: str, stamps: Stamps, published: Published = NOTHING) -> None:
        self._taken_over, self._published_lookups = published
        self._published_calls = self._taken_over
        self._begins = not self._published_calls
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
        """What the run has cost so far, in all attempts."""
        return self._bill.usage

    @property
    def own_usage(self) -> Usage:
        """What this attempt has spent so far."""
        return self._own_bill.usage

    @property
    def last(self) -> Call | None:
        """The call made last, without its body."""
        return self._calls[-1] if self._calls else None

    @property
    def last_body(self) -> bytes:
        """The body of the call made last, as far as it came."""
        return bytes(self._bodies[-1]) if self._bodies else b""

    def ask(self, body: Mapping[str, JsonValue]) -> None:
        """Note a call before it is made, so that a failed one is on record too."""
        now: dict[str, JsonValue] = json.loads(json.dumps(body))
        call = shortened(now, self._before)
        self._calls.append(call.model_copy(update={"started_at": self._stamps.at(asked(len(self._calls)))}))
        self._bodies.append(bytearray())
        self._before = now

    def status(self, status: int, headers: Mapping[str, str]) -> None:
        """Note that an answer begins."""
        kept = {name.lower(): value for name, value in headers.items() if name.lower() in KEPT_HEADERS}
        self._update(status=status, headers=kept)

    def chunk(self, data: bytes) -> None:
        """Note a piece of the answer."""
        self._bodies[-1] += data

    def ended(self, how: Ending) -> None:
        """Note the end of a call; the first word on it counts."""
        if self._calls and self._calls[-1].ending is None:
            self._update(ending=how, completed_at=self._stamps.at(answered(len(self._calls) - 1)))

    def spend(self, spent: Spent) -> None:
        """Count what a call used."""
        self._bill.add(spent)
        if len(self._calls) > self._taken_over:
            self._own_bill.add(spent)

    async def research(self, call_id: str, name: str, arguments: str, answer: Callable[[str], Awaitable[str]]) -> str:
        """Look something up for the model, on record."""
        place = self._places
        self._places += 1
        begun = self._stamps.at(researched(place))
        output = await answer(arguments)
        self._research[place] = Research(
            call_id=call_id,
            name=name,
            arguments=arguments,
            output=output,
            started_at=begun,
            completed_at=self._stamps.at(found(place)),
        )
        return output

    @property
    def lookups(self) -> tuple[Research, ...]:
        """What was looked up so far, in the order in which it was asked for."""
        return tuple(self._research[place] for place in sorted(self._research))

    def checkpoint(self) -> Checkpoint | None:
        """What has passed since the last one; None if that is nothing."""
        calls = self._recorded()[self._published_calls :]
        if not calls:
            return None
        lookups = self.lookups
        segment = TranscriptSegment(
            head=self._head if self._begins else None, calls=calls, research=lookups[self._published_lookups :]
        )
        step = Checkpoint(written(segment, self._struck), self._begins, len(self._calls), self.own_usage)
        self._begins = False
        self._published_calls, self._published_lookups = len(self._calls), len(lookups)
        return step

    def transcript(self, failed: ModelError | None = None) -> bytes:
        """Everything so far as UTF-8 JSON."""
        whole = self._head.model_copy(
            update={
                "calls": self._recorded(),
                "research": self.lookups,
                "error": failure(failed) if failed else None,
            }
        )
        return written(whole, self._struck)

    def _recorded(self) -> tuple[Call, ...]:
        return tuple(self._with_body(call, bytes(body)) for call, body in zip(self._calls, self._bodies, strict=True))

    def _with_body(self, call: Call, body: bytes) -> Call:
        try:
            return call.model_copy(update={"body": body.decode()})
        except UnicodeDecodeError:
            return call.model_copy(update={"body": b64encode(body).decode(), "encoding": "base64"})

    def _struck(self, text: str) -> str:
        if len(self._secret) < SHORTEST_KEY:
            return text
        quoted = json.dumps(self._secret)[1:-1]
        return text.replace(json.dumps(quoted)[1:-1], "[key]").replace(quoted, "[key]")

    def _update(self, **fields: object) -> None:
        self._calls[-1] = self._calls[-1].model_copy(update=fields)


def written(record: Value, struck: Callable[[str], str] = str) -> bytes:
    """A record as UTF-8 JSON. Surrogates, which JSON texts of a provider may hold, cannot be written as UTF-8."""
    text = json.dumps(record.model_dump(mode="json", warnings=False), ensure_ascii=False)
    return struck(text).encode("utf-8", "replace")


def failure(error: ModelError) -> Failed:
    """A failure for the record."""
    return Failed(
        failure=error.failure,
        name=error.name,
        reason=error.reason,
        status_code=error.status_code,
        retry_after_s=error.retry_after_s,
    )


def new_transcript(price: Price | None, **fields: object) -> Transcript:
    """The head of a record."""
    return Transcript.model_validate({"price": price, **fields})


def recorded_parts(parts: tuple[str | Image, ...]) -> tuple[Words | PictureShown, ...]:
    """A message for the record, where a picture is named by its hash."""
    return tuple(
        Words(text=part)
        if isinstance(part, str)
        else PictureShown(sha256=part.blob.sha256, media_type=part.blob.media_type, size_bytes=part.blob.size_bytes)
        for part in parts
    )
