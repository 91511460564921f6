"""A provider of a real model: everything about asking that is not the protocol itself.

The client library never retries here (a repeated call is paid for twice; retries belong to delivery), and no client
holds a key: it is sent with each request, so one reader's key cannot serve another's run.
"""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from json import JSONDecodeError
from typing import ClassVar

import httpx2
from pydantic import BaseModel, ConfigDict, JsonValue, SecretStr, ValidationError

from contracts.transcript import Price, Protocol, Transcript
from contracts.v1.parts import ModelName
from kit.clock import SystemClock
from kit.models import failures
from kit.models.base import (
    Advance,
    Finished,
    Image,
    InvestigationBrief,
    KeyAccepted,
    KeyRefused,
    KeyStatus,
    Limits,
    ModelError,
    Outcome,
    ReviewBrief,
    Told,
    Tool,
    Verdict,
)
from kit.models.conversation import Conversation, Turn, run
from kit.models.events import BadEvent
from kit.models.patience import PATIENCE, Patience
from kit.models.prices import price_of
from kit.models.recording import NOTHING, Recorder, new_transcript, recorded_parts
from kit.models.resuming import Lookup, goes_on
from kit.models.stamps import LiveStamps, RecordedStamps, Stamps
from kit.models.wire import Tap

KEY_FORMAT = re.compile(r"sk-[A-Za-z0-9_-]{20,}")
PROBE_S = 8.0
WITHOUT_PICTURES = "The pictures could not be shown. Judge by the words alone."
_SENDABLE_KEY = re.compile(r"[!-~]+")
_CONNECT_S = 5.0


@dataclass(frozen=True, slots=True)
class Opening:
    """What a conversation starts with. `schema`: the answer must have this shape, and there are no tools."""

    instructions: str
    parts: tuple[str | Image, ...]
    tools: tuple[Tool, ...] = ()
    schema: Mapping[str, JsonValue] | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """The way to the provider for one run: its own recording client, and the key to send."""

    http: httpx2.AsyncClient
    secret: str
    recorder: Recorder
    lookup: Lookup


@dataclass(frozen=True, slots=True)
class Outfit:
    """What surrounds a provider. `http` carries all requests, None: the internet; `stamps` None: the clock.

    `patience` is how long it is waited for.
    """

    http: httpx2.AsyncClient | None = None
    stamps: Stamps | None = None
    price: Callable[[str], Price | None] = price_of
    patience: Patience = PATIENCE


LIVE = Outfit()


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    approved: bool
    reason: str = ""


class Provider(ABC):
    """Model over a provider's protocol.

    Units: `silence_s` is how long the provider may say nothing before the call counts as lost, None: as in the outfit.
    """

    labelled_demo = False
    protocol: ClassVar[Protocol]
    takes_readers_keys: ClassVar[bool] = False
    sdk_errors: ClassVar[tuple[type[Exception], ...]]

    def __init__(
        self,
        name: ModelName,
        *,
        key: SecretStr | None,
        silence_s: float | None = None,
        sees_pictures: bool = True,
        max_rounds: int | None = None,
        outfit: Outfit = LIVE,
    ) -> None:
        self.name = name
        self.sees_pictures = sees_pictures
        self._key = key
        self._max_rounds = max_rounds
        self._stamps = outfit.stamps or LiveStamps(SystemClock())
        self._price = outfit.price(name.model)
        self._patience = outfit.patience if silence_s is None else replace(outfit.patience, silence_s=silence_s)
        self._timeout = httpx2.Timeout(self._patience.silence_s, connect=_CONNECT_S)
        self._http = outfit.http or httpx2.AsyncClient(follow_redirects=True)

    @abstractmethod
    def _converse(self, opening: Opening, line: Line) -> Conversation:
        """A conversation, nothing said yet."""

    @abstractmethod
    def _tools(self, opening: Opening) -> list[dict[str, JsonValue]]:
        """The tools as the provider is told of them."""

    @abstractmethod
    def _reasoning(self) -> dict[str, JsonValue] | None:
        """How much thinking is asked for, as the provider is told."""

    @abstractmethod
    async def _try(self, line: Line) -> None:
        """One tiny call. Raises: what the client library raises."""

    async def aclose(self) -> None:
        """Close the connections; the model cannot be used afterwards."""
        await self._http.aclose()

    async def investigate(
        self, brief: InvestigationBrief, key: SecretStr | None = None
    ) -> AsyncGenerator[Outcome | Finished, None]:
        """Run stage 1. Shapes: as Model.investigate. Raises: ModelError."""
        brief = self._equipped(brief)
        opening = Opening(brief.instructions, brief.parts, brief.tools)
        line = self._line("investigation", opening, key, limits=brief.limits, done=brief.done, told=brief.told)
        brief = replace(brief, research=line.lookup.before(brief.research))
        yielded = False
        while True:
            try:
                talk = self._converse(replace(opening, parts=brief.parts), line)
                async with aclosing(run(brief, talk, line.recorder, self.name)) as steps:
                    async for step in steps:
                        yielded |= not isinstance(step, Advance)
                        yield step
                return
            except ModelError as error:
                failed = error
            except self._sdk_failures as error:
                failed = self._failed(error, line)
            if failed.name != failures.PICTURE_REFUSED or not brief.has_pictures or yielded:
                raise _with_record(failed, line.recorder)
            # One picture that the provider cannot read must not keep a post from being looked at.
            brief = _in_words(brief)

    async def review(self, brief: ReviewBrief, key: SecretStr | None = None) -> Verdict:
        """Ask stage 2 about one claim. Raises: ModelError."""
        if brief.cost_limited and self._price is None:
            raise failures.price_unknown(self.name.model)
        opening = Opening(brief.instructions, (brief.message,), schema=brief.schema)
        line = self._line("review", opening, key, done=brief.done, told=NOTHING)
        failed: ModelError
        try:
            async with aclosing(self._converse(opening, line).ask({})) as events:
                turns = [event async for event in events if isinstance(event, Turn)]
            answer = _Answer.model_validate_json(turns[-1].text)
        except ModelError as error:
            failed = error
        except ValidationError:
            failed = ModelError("NON_RETRYABLE", "The review does not have the asked-for shape.", name="BadAnswer")
        except self._sdk_failures as error:
            failed = self._failed(error, line)
        else:
            return Verdict(
                approved=answer.approved,
                reason=answer.reason.strip() or None,
                usage=line.recorder.usage,
                model=self.name.model_copy(update={"version": turns[-1].version}),
                transcript=line.recorder.transcript(),
            )
        raise _with_record(failed, line.recorder)

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Try a reader's key with one tiny call. Source: CONTRACT section 2.5."""
        if not self.takes_readers_keys:
            return KeyRefused("error", f"This instance asks {self.name.provider}, where a reader's key is of no use.")
        if not KEY_FORMAT.fullmatch(key.get_secret_value()):
            return KeyRefused("format_invalid", "An OpenAI API key starts with sk- and has no spaces.")
        return await self._probed(key)

    async def probe_own(self) -> KeyStatus:
        """Try the instance's own key with one tiny call."""
        try:
            return await self._probed(self._key)
        except ModelError as error:
            return KeyRefused("error", error.reason)

    async def _probed(self, key: SecretStr | None) -> KeyStatus:
        line = self._line("review", Opening("", ()), key, own=True)
        try:
            async with asyncio.timeout(PROBE_S):
                await self._try(line)
        except TimeoutError:
            return KeyRefused("error", f"The provider did not answer within {PROBE_S:.0f} seconds.")
        except self._sdk_failures as error:
            failed = self._failed(error, line)
            match failed.status_code:
                case 401:
                    return KeyRefused("invalid", "The provider does not accept this API key.")
                case 403:
                    refused = f"This API key may not use the model {self.name.model}."
                    return KeyRefused("authenticated_restricted", refused)
                case _:
                    return KeyRefused("error", failed.reason)
        return KeyAccepted()

    def _equipped(self, brief: InvestigationBrief) -> InvestigationBrief:
        """The brief as this provider can take it; one without a search of its own adds that here."""
        rounds = min(brief.limits.rounds, self._max_rounds or brief.limits.rounds)
        brief = replace(brief, limits=replace(brief.limits, rounds=rounds))
        return brief if self.sees_pictures or not brief.has_pictures else _in_words(brief)

    def _line(
        self,
        stage: str,
        opening: Opening,
        key: SecretStr | None,
        *,
        limits: Limits | None = None,
        done: Transcript | None = None,
        told: Told | None = None,
        own: bool = False,
    ) -> Line:
        if key is not None and not own and not self.takes_readers_keys:
            reason = f"This instance asks {self.name.provider}, where a reader's key is of no use."
            raise ModelError("NON_RETRYABLE", reason, name="KeyOfNoUse")
        chosen = key or self._key
        secret = chosen.get_secret_value() if chosen else ""
        if not _SENDABLE_KEY.fullmatch(secret):
            raise ModelError("NON_RETRYABLE", "There is no usable API key for this run.", name="MissingKey")
        head = new_transcript(
            self._price,
            stage=stage,
            protocol=self.protocol,
            provider=self.name.provider,
            model=self.name.model,
            instructions=opening.instructions,
            input=recorded_parts(opening.parts),
            tools=self._tools(opening),
            reasoning=self._reasoning(),
            limits=limits and asdict(limits),
        )
        if done is not None and not goes_on(done, head):
            done = None
        if done is None:
            told = NOTHING
        elif told is None:
            told = Told(len(done.calls), len(done.research))
        stamps = RecordedStamps(done, self._stamps) if done else self._stamps
        recorder = Recorder(head, secret, stamps, told)
        http = httpx2.AsyncClient(transport=Tap(self._http, recorder, self._patience, done), timeout=self._timeout)
        return Line(http, secret, recorder, Lookup(done.research if done else ()))

    @property
    def _sdk_failures(self) -> tuple[type[Exception], ...]:
        # The libraries raise bare decoding errors for stream events that are not UTF-8 JSON.
        return (*self.sdk_errors, httpx2.HTTPError, JSONDecodeError, UnicodeDecodeError, BadEvent)

    def _failed(self, error: Exception, line: Line) -> ModelError:
        """Class what the client library raised. The result is not chained to it: it carries request and raw body."""
        call = line.recorder.last
        if call is None:
            return ModelError("NON_RETRYABLE", "The request could not be made.", name=type(error).__name__)
        reported = failures.reported(error) if call.status is not None and 200 <= call.status < 300 else None
        if reported is not None and call.ending not in ("timeout", "lost"):
            return failures.from_code(*reported, line.secret)
        return failures.from_wire(call, line.recorder.last_body, line.secret)


def _in_words(brief: InvestigationBrief) -> InvestigationBrief:
    return replace(brief, parts=(f"{brief.message}\n\n{WITHOUT_PICTURES}",))


def _with_record(failed: ModelError, recorder: Recorder) -> ModelError:
    failed.usage = recorder.own_usage
    failed.transcript = recorder.transcript(failed)
    return failed
