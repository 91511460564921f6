"""What passed between us and a model provider in one run or one review, as it was sent and as it was received.

The record is complete enough to fill every audit row and to run our code again over the same answers. A field that only
our interpretation of an answer could fill does not belong here, or a mistake of ours would be on record as the
provider's words.
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


class Words(Value):
    """A piece of text in the message."""

    type: Literal["words"] = "words"
    text: str


class PictureShown(Value):
    """A picture in the message; its bytes lie in the blob store."""

    type: Literal["picture"] = "picture"
    sha256: Sha256
    media_type: str
    size_bytes: int = Field(ge=0)


class Call(Value):
    """One request to the provider and all that came back.

    Shapes: `request` is the body without the fields named in `same`, which are those of the call before; likewise
    `messages_kept` is how many leading entries of `messages` are those of the call before. Pictures stand as
    `sha256:<hash>`, a key as `[key]`. `body` is the text of the answer, or base64 of it. `ending`: the answer
    is `complete`, was `closed` by us, nobody was there (`unreached`), nothing came for too long (`timeout`), the
    connection was `lost`; None: we never learned, or nothing was sent.
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
    """A call of the model's that we answered ourselves."""

    call_id: str
    name: str
    arguments: str
    output: str
    started_at: datetime
    completed_at: datetime


class Price(Value):
    """What a model cost when it was asked. Units: millionths of a US dollar, per million tokens and per `search`."""

    input: int = Field(ge=0)
    output: int = Field(ge=0)
    cached: int = Field(ge=0)
    cache_write: int = Field(ge=0)
    search: int = Field(default=0, ge=0)


class RunLimits(Value):
    """Where the run would have been cut off. Units: as in the brief of a run."""

    rounds: int
    tokens: int | None = None
    cost_micro_usd: int | None = None
    decisions: dict[str, int] = Field(default_factory=dict)


class Failed(Value):
    """How it failed. Units: `retry_after_s` is what the provider asked for."""

    failure: Literal["TRANSIENT", "NON_RETRYABLE", "PARTIAL"]
    name: str
    reason: str
    status_code: int | None = None
    retry_after_s: float | None = None


class Transcript(Value):
    """One conversation with one provider, which is one step of a kind.

    Shapes: `research` in the order in which it was asked for; `tools` and `reasoning` as the provider was told;
    `limits` are where it would have been cut off; `instead_of` is what another provider was asked before, in vain.
    `taken_over` is how many of the calls an earlier attempt made and paid for.
    """

    format: Literal[1] = FORMAT
    step: StepName
    protocol: Protocol
    provider: str
    model: str
    instructions: str
    input: tuple[Words | PictureShown, ...]
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
        """The whole body of each call, as it was sent."""
        before: dict[str, JsonValue] = {}
        for call in self.calls:
            body = {name: before[name] for name in call.same} | call.request
            if call.messages_kept:
                body["messages"] = [*_listed(before, "messages")[: call.messages_kept], *_listed(body, "messages")]
            yield body
            before = body


class TranscriptSegment(Value):
    """What was exchanged in one run since the segment before it; the first has a `head`, a record without calls."""

    head: Transcript | None = None
    calls: tuple[Call, ...]
    research: tuple[Research, ...] = ()


_FOUND: Final = TypeAdapter[Transcript | TranscriptSegment](
    Annotated[Transcript | TranscriptSegment, Field(union_mode="left_to_right")]
)


def join_segments(segments: Sequence[TranscriptSegment]) -> Transcript | None:
    """The record that these make, in their order; None if the first does not begin one, or another one does."""
    if not segments or segments[0].head is None or any(each.head is not None for each in segments[1:]):
        return None
    calls = tuple(call for each in segments for call in each.calls)
    research = tuple(found for each in segments for found in each.research)
    return segments[0].head.model_copy(update={"calls": calls, "research": research})


def unpublished_tail(published: Transcript | None, found: str) -> tuple[Transcript, int, int] | None:
    """A published record with what was stored after it, a segment or a whole record; None if that is no more.

    Shapes: the record, and how many of its calls and lookups were published; none where it began anew. One that failed
    for now holds no answer to go on from. Raises: ValueError: `found` is neither.
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


def shortened(body: dict[str, JsonValue], before: dict[str, JsonValue]) -> Call:
    """A call whose record leaves out what the call before has already. Shapes: `Transcript.requests` undoes this."""
    same = tuple(name for name, value in body.items() if name in before and before[name] == value)
    request = {name: value for name, value in body.items() if name not in same}
    kept = 0
    now = request.get("messages")
    if isinstance(now, list):
        earlier = _listed(before, "messages")
        while kept < min(len(earlier), len(now)) and earlier[kept] == now[kept]:
            kept += 1
        request["messages"] = now[kept:]
    return Call(request=request, same=same, messages_kept=kept)


def _listed(body: dict[str, JsonValue], name: str) -> list[JsonValue]:
    value = body.get(name, [])
    return value if isinstance(value, list) else []
