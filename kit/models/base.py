"""The port to model providers: a conversation yields decisions, then one Finished, or fails.

A provider knows nothing about kinds of analysis: the brief has instructions, messages, tools and the parsers of the
model's output. No text that leaves a provider (error, transcript, status) may contain an API key.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, NamedTuple, Never, Protocol, TypeVar
from uuid import UUID

from pydantic import JsonValue, SecretStr

from contracts.steps import StepName, Turns
from contracts.transcript import Research, Transcript
from contracts.v1.parts import BlobRef, ClaimPayload, ModelName, Usage

ONE_TURN: Final = Turns(with_tools=1)
Failure = Literal["TRANSIENT", "NON_RETRYABLE", "PARTIAL"]
DecisionT = TypeVar("DecisionT")
AnswerT = TypeVar("AnswerT")


class Tool(Protocol):
    """A function offered to the model; `parameters` is a strict JSON Schema object."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, JsonValue]: ...


@dataclass(frozen=True, slots=True)
class Image:
    """A picture inside a message; `data` are the bytes of `blob`."""

    blob: BlobRef
    data: bytes = field(repr=False)

    def name(self) -> str:
        """The placeholder for the bytes in a record."""
        return f"sha256:{self.blob.sha256}"

    def data_uri(self) -> str:
        """The picture as a data URI: from any other URL the provider could get other bytes than we hashed."""
        return f"data:{self.blob.media_type};base64,{b64encode(self.data).decode()}"


def join_words(parts: Sequence[str | Image]) -> str:
    """The text of a message, without pictures."""
    return "".join(part for part in parts if isinstance(part, str))


def has_pictures(parts: Sequence[str | Image]) -> bool:
    """Whether a message contains pictures."""
    return any(isinstance(part, Image) for part in parts)


class Sampling(NamedTuple):
    """How a step's answers are sampled. None: the provider's default.

    Units: `max_tokens` of one answer. With a `temperature` a model does not reason, since reasoning models refuse one;
    Anthropic's always refuse one, so it is not sent to them. An answer ends at a text of `stop`, if the protocol
    supports that. `alternatives` is how many of the likeliest tokens to ask for at each place, in chat completions.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    alternatives: int = 0


AS_PROVIDED: Final = Sampling()


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits of a conversation. None: no limit.

    Units: `rounds` of requests, if fewer than the step's own; `tokens` of input and output together; `cost_micro_usd`
    in millionths of a US dollar; `call_micro_usd` the same for one request, which is refused before it is sent.
    `decisions` is the most accepted calls of a deciding tool, by its name.
    """

    rounds: int | None = None
    tokens: int | None = None
    cost_micro_usd: int | None = None
    decisions: Mapping[str, int] = field(default_factory=dict)
    call_micro_usd: int | None = None


class Published(NamedTuple):
    """The numbers of a record's calls and look-ups that are in the log, and so are already counted."""

    calls: int = 0
    lookups: int = 0


@dataclass(frozen=True, slots=True)
class Article:
    """The subject of a run, for a model that reads no prompt: the normalised text, and old quotes by claim id."""

    text: str
    old_claims: Mapping[UUID, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClaimInDoubt:
    """The subject of a review, for a model that reads no prompt."""

    claim: ClaimPayload
    text: str


def _nothing_to_decide(name: str, arguments: str) -> Never:
    raise ValueError("There is no function of this name.")


@dataclass(frozen=True, slots=True)
class Brief(Generic[DecisionT, AnswerT]):
    """One conversation with a model, for one step of a kind of analysis.

    Shapes: `parts` are the message, in words and pictures. `tools` are offered. A call of a tool in `research` is
    answered by awaiting that function with the call's arguments; it never raises. Every other call is a decision:
    `decide(name, arguments)` parses it, or raises ValueError with the text to answer the model. `read` parses the last
    answer, given what was looked up, or raises ValueError with the reason; with a `schema` the answer has that shape.
    `weigh`, if given, is tried first: it decides from the probabilities of the first token's alternatives, or returns
    None. `done` is the record of an attempt that was cut short: the provider that made it goes on from there, any other
    begins anew. `published` is how much of `done` is in the log, None for all of it; the rest was stored by a worker
    that died before it published, and this attempt publishes it.
    """

    step: StepName
    instructions: str
    parts: tuple[str | Image, ...]
    read: Callable[[str, Sequence[Research]], AnswerT]
    weigh: Callable[[Mapping[str, float]], AnswerT | None] | None = None
    turns: Turns = ONE_TURN
    sampling: Sampling = AS_PROVIDED
    tools: tuple[Tool, ...] = ()
    decide: Callable[[str, str], DecisionT] = _nothing_to_decide
    research: Mapping[str, Callable[[str], Awaitable[str]]] = field(default_factory=dict)
    schema: Mapping[str, JsonValue] | None = None
    limits: Limits = field(default_factory=Limits)
    subject: Article | ClaimInDoubt | None = None
    done: Transcript | None = None
    published: Published | None = None

    @property
    def words(self) -> str:
        """The text of the message, without pictures."""
        return join_words(self.parts)

    @property
    def has_pictures(self) -> bool:
        """Whether the message contains pictures."""
        return has_pictures(self.parts)


@dataclass(frozen=True, slots=True)
class Decision(Generic[DecisionT]):
    """A decision that the model made by calling a tool, yielded as soon as the call is complete."""

    call_id: str
    value: DecisionT


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The model has answered and another request follows; yielded before that one is paid for.

    Shapes: `segment` is a `contracts.transcript.TranscriptSegment` as UTF-8 JSON, and `begins` whether it is the
    record's first; `calls` counts the answers on record, with those of earlier attempts; `usage` is this attempt's.
    """

    segment: bytes
    begins: bool
    calls: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class Finished(Generic[AnswerT]):
    """The end of a conversation that succeeded.

    Shapes: `transcript` is a `contracts.transcript.Transcript` as UTF-8 JSON; `usage` is this attempt's.
    """

    answer: AnswerT
    usage: Usage
    model: ModelName
    transcript: bytes


@dataclass(frozen=True, slots=True)
class KeyAccepted:
    """The provider answered a request made with this key."""


@dataclass(frozen=True, slots=True)
class KeyRefused:
    """The key cannot be used, or could not be tried. Source: docs/protocol.md 2.5."""

    status: Literal["format_invalid", "authenticated_restricted", "invalid", "error"]
    message: str


KeyStatus = KeyAccepted | KeyRefused


KEY_UNUSABLE = "UserKeyUnusable"
"""The name of the error for a reader's key that expired or cannot be opened."""
_ABOUT_THE_KEY = frozenset({KEY_UNUSABLE, "MissingKey", "KeyOfNoUse"})


class ModelError(Exception):
    """A run or review failed; classified for the caller's retry policy. Source: requirements 3.7.

    TRANSIENT may be tried again, NON_RETRYABLE may not; PARTIAL was cut short and is kept for reading. `name` is the
    kind of error for the audit, `transcript` what was exchanged before it. `of_the_account`: the account that pays has
    no credit, or no access to the model. Units: `retry_after_s` is how long the provider asked to wait, None if it did
    not.
    """

    def __init__(
        self,
        failure: Failure,
        reason: str,
        *,
        name: str,
        status_code: int | None = None,
        usage: Usage | None = None,
        transcript: bytes | None = None,
        retry_after_s: float | None = None,
        of_the_account: bool = False,
    ) -> None:
        super().__init__(reason)
        self.failure = failure
        self.reason = reason
        self.name = name
        self.status_code = status_code
        self.usage = usage
        self.transcript = transcript
        self.retry_after_s = retry_after_s
        self.of_the_account = of_the_account

    @property
    def about_the_key(self) -> bool:
        """Whether the key or its account caused the error, rather than the post.

        Another key may work; the same one will not while the run is retried.
        """
        return self.of_the_account or self.name in _ABOUT_THE_KEY or self.status_code in (401, 402, 403)


class Model(Protocol):
    """A model provider. `key` replaces the instance's own key for one call and is never stored."""

    @property
    def name(self) -> ModelName:
        """The model's name."""

    @property
    def labelled_demo(self) -> bool:
        """Whether the answers are a demonstration without a model; every page with them must say so."""

    @property
    def sees_pictures(self) -> bool:
        """Whether the model can use pictures; if not, they need not be fetched."""

    def converse(
        self, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None
    ) -> AsyncGenerator[Decision[DecisionT] | Checkpoint | Finished[AnswerT], None]:
        """Hold one conversation. Raises: ModelError.

        Shapes: any number of decisions, each call id once, and checkpoints, then one Finished. Decisions in the record
        `brief.done` are yielded again.
        """

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Test a key with one tiny call, within 8 seconds. Never raises ModelError."""


async def ask(model: Model, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None) -> Finished[AnswerT]:
    """Hold a conversation and return its result. Raises: ModelError."""
    async with aclosing(model.converse(brief, key)) as items:
        async for item in items:
            if isinstance(item, Finished):
                return item
    raise AssertionError("a conversation that does not fail ends in Finished")
