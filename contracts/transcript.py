"""The exchange with a model provider in one run or one review, as it was sent and received.

A transcript is enough to fill every audit row and to replay our code over the same answers. It has no field that
interprets an answer: otherwise a bug of ours would be recorded as the provider's words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue, TypeAdapter

from contracts.steps import StepName
from contracts.v1.parts import Sha256, Value

FORMAT: Literal[1] = 1
Protocol = Literal["openai_responses", "anthropic", "chat_completions", "demo"]
Ending = Literal["complete", "closed", "unreached", "timeout", "lost"]


class MessageText(Value):
    """A text part of the message."""

    type: Literal["words"] = "words"
    text: str


class MessagePicture(Value):
    """A picture in the message; its bytes are in the blob store."""

    type: Literal["picture"] = "picture"
    sha256: Sha256
    media_type: str
    size_bytes: int = Field(ge=0)


class Call(Value):
    """One request to the provider and its response.

    Shapes: `request` is the body without the fields named in `same`, which equal those of the call before; likewise
    `messages_kept` is how many leading entries of `messages` equal those of the call before. Pictures are written as
    `sha256:<hash>`, a key as `[key]`. `body` is the text of the answer, or base64 of it. `ending`: the answer is
    `complete`, was `closed` by us, no connection could be made (`unreached`), no data arrived for too long (`timeout`),
    the connection was `lost`; None: unknown, or nothing was sent.
    """

    request: dict[str, JsonValue]
    same: tuple[str, ...] = ()
    messages_kept: int = 0
    started_at: datetime | None = None
    completed_at: datetime | None = None
    status: int | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    body: str = ""
    encoding: Literal["utf-8", "base64"] = "utf-8"
    ending: Ending | None = None


class Research(Value):
    """A tool call of the model that we answered ourselves."""

    call_id: str
    name: str
    arguments: str
    output: str
    started_at: datetime
    completed_at: datetime


class Price(Value):
    """A model's prices at the time of a run. Units: millionths of a US dollar, per million tokens and per `search`."""

    input: int = Field(ge=0)
    output: int = Field(ge=0)
    cached: int = Field(ge=0)
    cache_write: int = Field(ge=0)
    search: int = Field(default=0, ge=0)


class RunLimits(Value):
    """The run's limits. Units: as in the brief of a run."""

    rounds: int
    tokens: int | None = None
    cost_micro_usd: int | None = None
    decisions: dict[str, int] = Field(default_factory=dict)


class Failed(Value):
    """The error that ended a conversation. Units: `retry_after_s` is the wait that the provider asked for."""

    failure: Literal["TRANSIENT", "NON_RETRYABLE", "PARTIAL"]
    name: str
    reason: str
    status_code: int | None = None
    retry_after_s: float | None = None


class Transcript(Value):
    """One conversation with one provider, for one step of a kind of analysis.

    Shapes: `research` is in the order of the calls; `tools` and `reasoning` are as they were sent; `instead_of` is the
    failed conversation with another provider before this one. `taken_over` is the number of calls that earlier attempts
    made and paid for.
    """

    format: Literal[1] = FORMAT
    step: StepName
    protocol: Protocol
    provider: str
    model: str
    instructions: str
    input: tuple[MessageText | MessagePicture, ...]
    tools: tuple[dict[str, JsonValue], ...] = ()
    reasoning: dict[str, JsonValue] | None = None
    limits: RunLimits | None = None
    price: Price | None = None
    calls: tuple[Call, ...] = ()
    research: tuple[Research, ...] = ()
    error: Failed | None = None
    instead_of: Transcript | None = None
    taken_over: int = Field(default=0, ge=0)

    def requests(self) -> Iterator[dict[str, JsonValue]]:
        """The whole body of each call as it was sent."""
        before: dict[str, JsonValue] = {}
        for call in self.calls:
            body = {name: before[name] for name in call.same} | call.request
            if call.messages_kept:
                body["messages"] = [
                    *_list_field(before, "messages")[: call.messages_kept],
                    *_list_field(body, "messages"),
                ]
            yield body
            before = body


class TranscriptSegment(Value):
    """The exchange since the previous segment; the first segment has a `head`, a transcript without calls."""

    head: Transcript | None = None
    calls: tuple[Call, ...]
    research: tuple[Research, ...] = ()


_FOUND: Final = TypeAdapter[Transcript | TranscriptSegment](
    Annotated[Transcript | TranscriptSegment, Field(union_mode="left_to_right")]
)


def join_segments(segments: Sequence[TranscriptSegment]) -> Transcript | None:
    """Join segments to a transcript; None unless the first one, and no other, has a head."""
    if not segments or segments[0].head is None or any(each.head is not None for each in segments[1:]):
        return None
    calls = tuple(call for each in segments for call in each.calls)
    research = tuple(found for each in segments for found in each.research)
    return segments[0].head.model_copy(update={"calls": calls, "research": research})


def unpublished_tail(published: Transcript | None, found: str) -> tuple[Transcript, int, int] | None:
    """Extend a published transcript by a segment or transcript that was stored after it; None if that adds nothing.

    Returns the transcript, and how many of its calls and look-ups were published, 0 if it began anew. A transcript that
    ends in a transient error has no answer to resume from. Raises: ValueError: `found` is neither.
    """
    more: Transcript | TranscriptSegment | None = _FOUND.validate_json(found)
    if isinstance(more, TranscriptSegment):
        if more.head is None and published is not None:
            update = {"calls": published.calls + more.calls, "research": published.research + more.research}
            more = published.model_copy(update=update)
        else:
            more = join_segments([more])
    elif more is not None and more.error is not None and more.error.failure == "TRANSIENT":
        return None
    if more is None:
        return None
    if published is None or more.calls[: len(published.calls)] != published.calls:
        return more, 0, 0
    if len(more.calls) <= len(published.calls):
        return None
    return more, len(published.calls), len(published.research)


def shorten(body: dict[str, JsonValue], before: dict[str, JsonValue]) -> Call:
    """Record a call without the parts that equal the call before. `Transcript.requests` undoes this."""
    same = tuple(name for name, value in body.items() if name in before and before[name] == value)
    request = {name: value for name, value in body.items() if name not in same}
    kept = 0
    now = request.get("messages")
    if isinstance(now, list):
        earlier = _list_field(before, "messages")
        while kept < min(len(earlier), len(now)) and earlier[kept] == now[kept]:
            kept += 1
        request["messages"] = now[kept:]
    return Call(request=request, same=same, messages_kept=kept)


def _list_field(body: dict[str, JsonValue], name: str) -> list[JsonValue]:
    value = body.get(name, [])
    return value if isinstance(value, list) else []
