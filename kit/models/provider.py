"""The base class of real providers: everything but the protocol itself.

The client library never retries (a repeated call is paid for twice; delivery retries), and no client holds a key: it is
sent with each request, so one reader's key cannot serve another's run.
"""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from json import JSONDecodeError
from typing import Any, ClassVar, Final, Never, TypeAlias

import httpx2
from pydantic import JsonValue, SecretStr

from contracts.transcript import Price, Protocol, RunLimits, Transcript
from contracts.v1.parts import ModelName
from kit.clock import SystemClock
from kit.models import failures
from kit.models.base import (
    AnswerT,
    Brief,
    Checkpoint,
    Decision,
    DecisionT,
    Finished,
    KeyAccepted,
    KeyRefused,
    KeyStatus,
    ModelError,
    Published,
    Sampling,
)
from kit.models.call_cap import SEARCHES, CallCap
from kit.models.conversation import Conversation, run
from kit.models.conversation_start import ConversationStart
from kit.models.events import BadEvent
from kit.models.prices import Charges, price_of
from kit.models.recording import NOTHING, Recorder, describe_parts
from kit.models.resuming import Lookup, can_resume
from kit.models.stamps import LiveStamps, RecordedStamps, Stamps
from kit.models.timeouts import DEFAULT_TIMEOUTS, Timeouts
from kit.models.wire import RecordingTransport

KEY_FORMAT = re.compile(r"sk-[A-Za-z0-9_-]{20,}")
PROBE_S = 8.0
WITHOUT_PICTURES = "The pictures could not be shown. Judge by the words alone."
_SENDABLE_KEY = re.compile(r"[!-~]+")
_CONNECT_S = 5.0


@dataclass(frozen=True, slots=True)
class ProviderSession:
    """The recording client, the key and the recorded look-ups of one conversation."""

    http: httpx2.AsyncClient
    secret: str
    recorder: Recorder
    lookup: Lookup


@dataclass(frozen=True, slots=True)
class ProviderDeps:
    """Dependencies of a provider. Without `http` requests go to the internet; without `stamps` the clock is used."""

    http: httpx2.AsyncClient | None = None
    stamps: Stamps | None = None
    price: Callable[[str], Price | None] = price_of
    timeouts: Timeouts = DEFAULT_TIMEOUTS


LIVE = ProviderDeps()

SdkBody: TypeAlias = Any
"""A field of a body for a client library. The library types each field; ours are the JSON that is recorded."""


PROBE: Final[Brief[Never, str]] = Brief(step="PROBE/key", instructions="", parts=(), read=lambda answer, _: answer)


class Provider(ABC):
    """Model over a provider's protocol.

    Units: `silence_s` is the longest silence before a call counts as lost; None: as in `deps`.
    """

    labelled_demo = False
    protocol: ClassVar[Protocol]
    takes_readers_keys: ClassVar[bool] = False
    searches_itself: ClassVar[bool] = False
    sdk_errors: ClassVar[tuple[type[Exception], ...]]

    def __init__(
        self,
        name: ModelName,
        *,
        key: SecretStr | None,
        silence_s: float | None = None,
        sees_pictures: bool = True,
        max_rounds: int | None = None,
        deps: ProviderDeps = LIVE,
    ) -> None:
        self.name = name
        self.sees_pictures = sees_pictures
        self._key = key
        self._max_rounds = max_rounds
        self._stamps = deps.stamps or LiveStamps(SystemClock())
        self._price = deps.price(name.model)
        self._timeouts = deps.timeouts if silence_s is None else replace(deps.timeouts, silence_s=silence_s)
        self._timeout = httpx2.Timeout(self._timeouts.silence_s, connect=_CONNECT_S)
        self._http = deps.http or httpx2.AsyncClient(follow_redirects=True)

    @abstractmethod
    def _converse(self, start: ConversationStart, session: ProviderSession) -> Conversation:
        """Begin a conversation."""

    @abstractmethod
    def _tools(self, start: ConversationStart) -> list[dict[str, JsonValue]]:
        """The tools in the provider's format."""

    @abstractmethod
    def _reasoning(self, sampling: Sampling) -> dict[str, JsonValue] | None:
        """The requested reasoning effort in the provider's format."""

    @abstractmethod
    async def _try(self, session: ProviderSession) -> None:
        """Make one tiny call. Raises: the client library's errors."""

    @property
    def charges(self) -> tuple[Charges, ...]:
        """The price of the model."""
        return (Charges(self.name, self._price, self.searches_itself),)

    async def aclose(self) -> None:
        """Close the connections; the model cannot be used afterwards."""
        await self._http.aclose()

    async def converse(
        self, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None
    ) -> AsyncGenerator[Decision[DecisionT] | Checkpoint | Finished[AnswerT], None]:
        """Hold one conversation. Shapes: as Model.converse. Raises: ModelError."""
        brief = self._adapt(brief)
        session = self._session(brief, key)
        brief = replace(brief, research=session.lookup.before(brief.research))
        decided = False
        while True:
            try:
                talk = self._converse(ConversationStart.of(brief), session)
                async with aclosing(run(brief, talk, session.recorder, self.name)) as items:
                    async for item in items:
                        decided |= not isinstance(item, Checkpoint)
                        yield item
                return
            except ModelError as error:
                failed = error
            except self._sdk_failures as error:
                failed = self._classify(error, session)
            if failed.name != failures.PICTURE_REFUSED or not brief.has_pictures or decided:
                raise _with_record(failed, session.recorder)
            # One picture that the provider cannot read must not prevent the investigation of a post.
            brief = _in_words(brief)

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Test a reader's key with one tiny call. Source: docs/protocol.md 2.5."""
        if not self.takes_readers_keys:
            return KeyRefused("error", f"This instance asks {self.name.provider}, where a reader's key is of no use.")
        if not KEY_FORMAT.fullmatch(key.get_secret_value()):
            return KeyRefused("format_invalid", "An OpenAI API key starts with sk- and has no spaces.")
        return await self._probe_with(key)

    async def probe_own(self) -> KeyStatus:
        """Test the instance's own key with one tiny call."""
        try:
            return await self._probe_with(self._key)
        except ModelError as error:
            return KeyRefused("error", error.reason)

    async def _probe_with(self, key: SecretStr | None) -> KeyStatus:
        session = self._session(PROBE, key, own=True)
        try:
            async with asyncio.timeout(PROBE_S):
                await self._try(session)
        except TimeoutError:
            return KeyRefused("error", f"The provider did not answer within {PROBE_S:.0f} seconds.")
        except self._sdk_failures as error:
            failed = self._classify(error, session)
            match failed.status_code:
                case 401:
                    return KeyRefused("invalid", "The provider does not accept this API key.")
                case 403:
                    refused = f"This API key may not use the model {self.name.model}."
                    return KeyRefused("authenticated_restricted", refused)
                case _:
                    return KeyRefused("error", failed.reason)
        if failures.is_page(session.recorder.last):
            return KeyRefused("error", failures.page().reason)
        return KeyAccepted()

    def _adapt(self, brief: Brief[DecisionT, AnswerT]) -> Brief[DecisionT, AnswerT]:
        """Adapt a brief to this provider; a provider without a web search of its own adds our tool here."""
        turns = brief.turns
        rounds = min(each for each in (turns.with_tools, brief.limits.rounds, self._max_rounds) if each is not None)
        brief = replace(brief, turns=turns._replace(with_tools=rounds))
        return brief if self.sees_pictures or not brief.has_pictures else _in_words(brief)

    def _session(
        self, brief: Brief[DecisionT, AnswerT], key: SecretStr | None, *, own: bool = False
    ) -> ProviderSession:
        if key is not None and not own and not self.takes_readers_keys:
            reason = f"This instance asks {self.name.provider}, where a reader's key is of no use."
            raise ModelError("NON_RETRYABLE", reason, name="KeyOfNoUse")
        chosen = key or self._key
        secret = chosen.get_secret_value() if chosen else ""
        if not _SENDABLE_KEY.fullmatch(secret):
            raise ModelError("NON_RETRYABLE", "There is no usable API key for this run.", name="MissingKey")
        limits = brief.limits
        head = Transcript(
            price=self._price,
            step=brief.step,
            protocol=self.protocol,
            provider=self.name.provider,
            model=self.name.model,
            instructions=brief.instructions,
            input=describe_parts(brief.parts),
            tools=tuple(self._tools(ConversationStart.of(brief))),
            reasoning=self._reasoning(brief.sampling),
            limits=RunLimits(
                rounds=brief.turns.with_tools,
                tokens=limits.tokens,
                cost_micro_usd=limits.cost_micro_usd,
                decisions=dict(limits.decisions),
            ),
        )
        done, published = brief.done, brief.published
        if done is not None and not can_resume(done, head):
            done = None
        if done is None:
            published = NOTHING
        elif published is None:
            published = Published(len(done.calls), len(done.research))
        stamps = RecordedStamps(done, self._stamps) if done else self._stamps
        searches = SEARCHES if self.searches_itself else 0
        cap = CallCap(self.name.model, self._price, limits.call_micro_usd, brief.sampling.max_tokens, searches)
        recorder = Recorder(head, secret, stamps, published, cap)
        transport = RecordingTransport(self._http, recorder, self._timeouts, done)
        http = httpx2.AsyncClient(transport=transport, timeout=self._timeout)
        return ProviderSession(http, secret, recorder, Lookup(done.research if done else ()))

    @property
    def _sdk_failures(self) -> tuple[type[Exception], ...]:
        # The libraries raise bare decoding errors for stream events that are not UTF-8 JSON.
        return (*self.sdk_errors, httpx2.HTTPError, JSONDecodeError, UnicodeDecodeError, BadEvent)

    def _classify(self, error: Exception, session: ProviderSession) -> ModelError:
        """Classify an error of the client library, and do not chain the result to it: it holds request and body."""
        call = session.recorder.last
        if call is None:
            return ModelError("NON_RETRYABLE", "The request could not be made.", name=type(error).__name__)
        reported = failures.parse_error_event(error) if call.status is not None and 200 <= call.status < 300 else None
        if reported is not None and call.ending not in ("timeout", "lost"):
            return failures.from_code(*reported, session.secret)
        return failures.from_wire(call, session.recorder.last_body, session.secret)


def _in_words(brief: Brief[DecisionT, AnswerT]) -> Brief[DecisionT, AnswerT]:
    return replace(brief, parts=(f"{brief.words}\n\n{WITHOUT_PICTURES}",))


def _with_record(failed: ModelError, recorder: Recorder) -> ModelError:
    failed.usage = recorder.own_usage
    failed.transcript = recorder.transcript(failed)
    return failed
