"""The port to model providers: a conversation yields decisions, then one Finished, or fails.

A provider knows nothing of kinds: the brief brings instructions, messages, tools and parsers of the model's output. No
text that leaves a provider (error, transcript, status) may contain an API key.
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
        """What a record says in the place of the bytes."""
        return f"sha256:{self.blob.sha256}"

    def data_uri(self) -> str:
        """The picture within an address: at another the provider could fetch something else than what we hashed."""
        return f"data:{self.blob.media_type};base64,{b64encode(self.data).decode()}"


def join_words(parts: Sequence[str | Image]) -> str:
    """The text of a message, without pictures."""
    return "".join(part for part in parts if isinstance(part, str))


def has_pictures(parts: Sequence[str | Image]) -> bool:
    """Whether a message contains pictures."""
    return any(isinstance(part, Image) for part in parts)


class Sampling(NamedTuple):
    """How a step's answers are drawn. None: as the provider does by itself.

    Units: `max_tokens` of one answer. With a `temperature` a model does not reason, since reasoning models refuse one;
    Anthropic's refuse one always and are asked without. `stop` are texts at which an answer ends, where the protocol
    has them. `alternatives`: with each token so many of the likeliest ones are asked for, in chat completions.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    alternatives: int = 0


AS_PROVIDED: Final = Sampling()


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits of a conversation. None: no such limit.

    Units: `rounds` of requests, where fewer are allowed than the step has; `tokens` in and out together;
    `cost_micro_usd` millionths of a US dollar; `call_micro_usd` the same for one request, which is refused before it is
    sent. `decisions` is the number of accepted calls of a deciding tool, by name.
    """

    rounds: int | None = None
    tokens: int | None = None
    cost_micro_usd: int | None = None
    decisions: Mapping[str, int] = field(default_factory=dict)
    call_micro_usd: int | None = None


class Published(NamedTuple):
    """How many calls and lookups of a record are in the log, so already paid for and counted."""

    calls: int = 0
    lookups: int = 0


@dataclass(frozen=True, slots=True)
class Article:
    """What is investigated, for a model that reads no prompt: the normalised text, and old quotes by claim id."""

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
    """One conversation with a model, which is one step of a kind.

    Shapes: `parts` are the message, in words and pictures. `tools` are offered; a call to a name in `research` is
    answered by awaiting it with the call's arguments, and it never raises; every other call is a decision:
    `decide(name, arguments)` reads it, or raises ValueError whose text is the answer the model gets. `read` reads the
    last answer, given what was looked up, or raises ValueError whose text says why it cannot be read; with a `schema`
    the answer has that shape. `weigh` reads it from the probabilities of its first token's alternatives instead, where
    they are known; None: they say nothing. `done` is what an attempt that was cut short had exchanged: a provider that
    made that record goes on from there, and any other begins anew. `published` says how much of that stands in the log,
    None: all of it; the rest was stored by a worker that died before it published, and is published by this attempt.
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
    """A decision of the model by calling a tool, yielded at the moment of the call."""

    call_id: str
    value: DecisionT


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The model has answered and another request follows; yielded before anything else is paid for.

    Shapes: `segment` is a `contracts.transcript.TranscriptSegment` as UTF-8 JSON, `begins` if it is a record's first;
    `calls` counts the answers on record, those of earlier attempts included; `usage` is what this attempt spent so far.
    """

    segment: bytes
    begins: bool
    calls: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class Finished(Generic[AnswerT]):
    """The end of a conversation that succeeded.

    Shapes: `transcript` is a `contracts.transcript.Transcript` as UTF-8 JSON; `usage` is what this attempt spent.
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
"""Name of the error of a reader's key that expired or cannot be opened."""
_ABOUT_THE_KEY = frozenset({KEY_UNUSABLE, "MissingKey", "KeyOfNoUse"})


class ModelError(Exception):
    """A run or review that failed, classed for the caller's retry policy. Source: requirements 3.7.

    TRANSIENT may be tried again, NON_RETRYABLE may not, PARTIAL was cut short and is kept for reading. `name` is the
    error's kind for audit, `transcript` what was exchanged before it. `of_the_account`: whoever pays has no credit, or
    no access to the model. Units: `retry_after_s` is how long the provider asked to be left alone, None if it did not
    say.
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
        """Whether the key or its account was at fault, and not the post.

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
        """True if answers come from no model, and every page with them must say so."""

    @property
    def sees_pictures(self) -> bool:
        """False if pictures need not be fetched for it."""

    def converse(
        self, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None
    ) -> AsyncGenerator[Decision[DecisionT] | Checkpoint | Finished[AnswerT], None]:
        """Hold one conversation. Raises: ModelError.

        Shapes: any number of decisions, each call id once, and checkpoints, then one Finished. Decisions that
        `brief.done` holds come again.
        """

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Test a key with one tiny call, within 8 seconds. Never raises ModelError."""


async def ask(model: Model, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None) -> Finished[AnswerT]:
    """Hold a conversation and return its end. Raises: ModelError."""
    async with aclosing(model.converse(brief, key)) as items:
        async for item in items:
            if isinstance(item, Finished):
                return item
    raise AssertionError("a conversation that does not fail ends in Finished")
