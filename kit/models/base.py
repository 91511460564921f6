"""The port to model providers: a run streams its submissions, then ends in one Finished or fails in one of three ways.

A provider knows nothing of analyses: instructions, messages, tools and the reader of submissions come with the brief.
No text that leaves here (error, transcript, status) may hold an API key.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol
from uuid import UUID

from pydantic import JsonValue, SecretStr

from contracts.transcript import Transcript
from contracts.v1.parts import BlobRef, ClaimPayload, ModelName, Usage

Failure = Literal["TRANSIENT", "NON_RETRYABLE", "PARTIAL"]


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


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a run is cut off, whatever the model would still like to do. None: no such limit.

    Units: `rounds` provider calls, `tokens` in and out together, `cost_micro_usd` millionths of a US dollar;
    `submissions` are new claims that are taken, each of which costs a review.
    """

    rounds: int = 150
    tokens: int | None = None
    cost_micro_usd: int | None = None
    submissions: int | None = None


class Told(NamedTuple):
    """How many calls and lookups of a record stand in the log: they were paid for and counted before."""

    calls: int = 0
    lookups: int = 0


@dataclass(frozen=True, slots=True)
class InvestigationBrief:
    """One stage-1 run.

    Shapes: `text` is the normalised text and `old_claims` the quotes of the earlier version's claims, for models that
    read no prose; `parts` already hold the article and those claims, in words and pictures. `tools` are offered; a call
    to a name in `research` is answered by awaiting it with the call's arguments, and it never raises; every other call
    is an outcome: `decide(name, arguments)` reads it as a new claim or as the id of an old one that is kept, or raises
    ValueError whose text is the answer the model gets. `done` is what an attempt that was cut short had exchanged: a
    provider that made that record goes on from there, and any other begins anew. `told` says how much of that stands in
    the log, None: all of it; the rest was stored by a worker that died before it told, and is told by this attempt.
    """

    instructions: str
    parts: tuple[str | Image, ...]
    text: str
    tools: tuple[Tool, ...]
    decide: Callable[[str, str], ClaimPayload | UUID]
    research: Mapping[str, Callable[[str], Awaitable[str]]] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    old_claims: Mapping[UUID, str] = field(default_factory=dict)
    done: Transcript | None = None
    told: Told | None = None

    @property
    def message(self) -> str:
        """The words alone."""
        return "".join(part for part in self.parts if isinstance(part, str))

    @property
    def has_pictures(self) -> bool:
        """Whether there is anything but words."""
        return any(isinstance(part, Image) for part in self.parts)


@dataclass(frozen=True, slots=True)
class ReviewBrief:
    """One stage-2 question about one claim; the answer has the shape of `schema`: `approved` and `reason`.

    `cost_limited`: the run has a limit of money, so a model without a price must not be asked. `done` is the exchange
    of a worker that stored it and died before it told: it is counted as this one's, and nobody is asked.
    """

    instructions: str
    message: str
    text: str
    claim: ClaimPayload
    schema: Mapping[str, JsonValue]
    cost_limited: bool = False
    done: Transcript | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """A claim, at the moment the model submits it."""

    call_id: str
    claim: ClaimPayload


@dataclass(frozen=True, slots=True)
class Retention:
    """A claim of the earlier version that the model keeps, at the moment it says so."""

    call_id: str
    claim_id: UUID


@dataclass(frozen=True, slots=True)
class Advance:
    """The model has answered and will be asked again; yielded before anything else is paid for.

    Shapes: `stretch` is a `contracts.transcript.Stretch` as UTF-8 JSON, `begins` if it is a record's first; `calls`
    counts the answers on record, those of earlier attempts included; `usage` is what this attempt spent so far.
    """

    stretch: bytes
    begins: bool
    calls: int
    usage: Usage


Outcome = Submission | Retention | Advance


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a run that succeeded.

    Shapes: `transcript` is a `contracts.transcript.Transcript` as UTF-8 JSON; `usage` is what this attempt spent.
    """

    usage: Usage
    model: ModelName
    transcript: bytes
    response_id: str | None
    output_text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to a review; `reason` is for our audit, `approved` alone decides."""

    approved: bool
    reason: str | None
    usage: Usage
    model: ModelName
    transcript: bytes


@dataclass(frozen=True, slots=True)
class KeyAccepted:
    """The provider answered a request made with this key."""


@dataclass(frozen=True, slots=True)
class KeyRefused:
    """The key cannot be used, or could not be tried. Source: CONTRACT section 2.5."""

    status: Literal["format_invalid", "authenticated_restricted", "invalid", "error"]
    message: str


KeyStatus = KeyAccepted | KeyRefused


KEY_UNUSABLE = "UserKeyUnusable"
"""Name of the error of a reader's key that expired or cannot be opened."""
_ABOUT_THE_KEY = frozenset({KEY_UNUSABLE, "MissingKey", "KeyOfNoUse"})


class ModelError(Exception):
    """A run or review that failed, classed for the caller's retry policy. Source: specification 3.7.

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
        """Whether the key or the account behind it was at fault, which says nothing about the post.

        Another key may do better; the same one will not within the time that a run is tried for.
        """
        return self.of_the_account or self.name in _ABOUT_THE_KEY or self.status_code in (401, 402, 403)


class Model(Protocol):
    """A model provider. `key` replaces the instance's own key for one call and is never kept."""

    @property
    def name(self) -> ModelName:
        """Who is asked."""

    @property
    def labelled_demo(self) -> bool:
        """True if answers come from no model at all and every page showing them must say so."""

    @property
    def sees_pictures(self) -> bool:
        """False if pictures need not be fetched for it."""

    def investigate(
        self, brief: InvestigationBrief, key: SecretStr | None = None
    ) -> AsyncGenerator[Outcome | Finished, None]:
        """Run stage 1. Shapes: any number of outcomes, each call id once, then one Finished. Raises: ModelError.

        Outcomes that `brief.done` has already told come again.
        """

    async def review(self, brief: ReviewBrief, key: SecretStr | None = None) -> Verdict:
        """Ask stage 2 about one claim. Raises: ModelError."""

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Try a key with one tiny call, within 8 seconds. Never raises ModelError."""
