"""One attempt of a run: its exchange with a model, that of earlier attempts, and where the next answer is stored.

An answer is stored under the name of its step before its fact is published. If a worker dies in between, the next one
looks there first, so a stored answer is never paid for again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from pydantic import SecretStr

from contracts.spent import format_usd
from contracts.transcript import Transcript, TranscriptSegment, join_segments, unpublished_tail
from contracts.v1.investigation import KeySource
from contracts.v1.parts import Usage
from kit.models.base import KEY_UNUSABLE, Checkpoint, ModelError, Published
from kit.models.recording import describe_failure, serialize

Item = TypeVar("Item")


class Ref(Protocol):
    """A reference to a text by its hash."""

    @property
    def sha256(self) -> str: ...


RefT = TypeVar("RefT", bound=Ref)


class TextStore(Protocol[RefT]):
    """A store for the texts of a run."""

    async def get_text(self, ref: RefT) -> str:
        """The text of a reference. Raises: LookupError: it no longer exists."""

    async def put_text(self, text: str, answers: str | None = None) -> RefT:
        """Store a text; `answers` is the step that the text is the answer to."""

    async def answers(self, step: str) -> Sequence[RefT]:
        """The texts stored as answers to a step, published or not."""


@dataclass(frozen=True, slots=True)
class Segment(Generic[RefT]):
    """A stored part of the exchange, and the hash of the part before it, None if it begins a record."""

    words: RefT
    before: str | None


class RunRecord(Generic[RefT]):
    """The record of one attempt.

    Shapes: `name_step` maps the hash of a segment to the name of the step that follows it, None to the first step;
    `done` are the segments that earlier attempts published, in order; `on_record` are the hashes of all segments in the
    log. `is_first`: there were no earlier attempts, so stored answers are not searched.
    """

    def __init__(
        self,
        words: TextStore[RefT],
        name_step: Callable[[str | None], str],
        done: Sequence[RefT] = (),
        on_record: frozenset[str] = frozenset(),
        *,
        is_first: bool,
    ) -> None:
        self._words = words
        self._name_step = name_step
        self._done = tuple(done)
        self._on_record = on_record
        self._is_first = is_first
        self._segments = list(done)
        self._taken_over = len(self._done)
        self.usage: Usage | None = None
        """The usage of this attempt, as of the last checkpoint."""

    async def load_previous(self) -> tuple[Transcript | None, Published | None]:
        """The record of the exchange before this attempt, and how much of it was published; None: all.

        If the record is unreadable, the run begins from the start.
        """
        done = await self._join(self._done)
        if self._is_first or (done is None and self._done):
            return done, None
        for ref in await self._words.answers(self._step):
            if ref.sha256 in self._on_record:
                continue
            try:
                found = unpublished_tail(done, await self._words.get_text(ref))
            except (LookupError, ValueError):
                continue
            if found is not None:
                record, calls, lookups = found
                return record, Published(calls, lookups)
        return done, None

    async def store_checkpoint(self, checkpoint: Checkpoint) -> Segment[RefT]:
        """Store a segment and return the reference for the fact that publishes it."""
        words = await self.store(checkpoint.segment)
        self.usage = checkpoint.usage
        before = self._segments[-1].sha256 if self._segments and not checkpoint.begins else None
        if checkpoint.begins:
            self._segments, self._taken_over = [], 0
        self._segments.append(words)
        return Segment(words, before)

    async def store(self, answer: bytes) -> RefT:
        """Store an answer to the current step."""
        return await self._words.put_text(answer.decode(), self._step)

    async def add_transcript(self, error: ModelError) -> ModelError:
        """Add the transcript so far to the error of an attempt that we ended."""
        record = await self._join(self._segments)
        earlier = await self._join(self._segments[: self._taken_over])
        if record is not None:
            taken_over = len(earlier.calls) if earlier is not None else 0
            error.transcript = serialize(
                record.model_copy(update={"error": describe_failure(error), "taken_over": taken_over})
            )
        return error

    async def require_budget(self, cost: int, limit: int | None, usage: Usage | None = None) -> None:
        """Check the cost of the run with its reviews, of which a model knows only its own part.

        Units: millionths of a US dollar. Raises: ModelError: the limit is reached.
        """
        if limit is not None and cost >= limit:
            reason = (
                f"The run and its reviews cost {format_usd(cost)} and it wanted more; its limit is {format_usd(limit)}."
            )
            raise await self.add_transcript(ModelError("NON_RETRYABLE", reason, name="CostLimit", usage=usage))

    @property
    def _step(self) -> str:
        return self._name_step(self._segments[-1].sha256 if self._segments else None)

    async def _join(self, refs: Sequence[RefT]) -> Transcript | None:
        try:
            texts = [await self._words.get_text(ref) for ref in refs]
            return join_segments([TranscriptSegment.model_validate_json(text) for text in texts])
        except (LookupError, ValueError):
            return None


class KeyStore(Protocol):
    """Readers' own keys."""

    async def open(self, investigation: UUID, attachment: UUID | None) -> str:
        """The key that the run's request names. Raises: LookupError: it expired or cannot be opened."""


async def open_key(keys: KeyStore, source: KeySource, run: UUID, attachment: UUID | None) -> SecretStr | None:
    """The reader's key that pays for a run, None if the instance pays. Raises: ModelError: the key is unusable."""
    if source == "INSTANCE":
        return None
    try:
        return SecretStr(await keys.open(run, attachment))
    except LookupError as error:
        raise ModelError("NON_RETRYABLE", str(error), name=KEY_UNUSABLE) from error


def is_fault_of_key(source: KeySource, error: ModelError) -> bool:
    """Whether a reader's own key failed; retrying it is useless."""
    return source == "USER" and error.about_the_key


async def limit_time(
    items: AsyncGenerator[Item, None], record: RunRecord[RefT], *, began: float, seconds: float
) -> AsyncGenerator[Item, None]:
    """The items until `seconds` after the loop's time `began`. Raises: ModelError: also when that time is over."""
    async with aclosing(items):
        while True:
            try:
                async with asyncio.timeout_at(began + seconds) as limit:
                    item = await anext(items, None)
            except TimeoutError:
                if not limit.expired():
                    raise
                reason = f"The run took longer than {seconds:g} seconds."
                error = ModelError("NON_RETRYABLE", reason, name="RunTimeout", usage=record.usage)
                raise await record.add_transcript(error) from None
            if item is None:
                return
            yield item
