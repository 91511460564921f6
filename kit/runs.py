"""One attempt of a run: what it and those before it have exchanged with a model, and where the next answer is kept.

An answer is stored under the name of the step it answers before the log hears of it. Whoever takes over from a worker
that died in between looks there first, so what was stored is never paid for again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from pydantic import SecretStr

from contracts.spent import usd
from contracts.transcript import Transcript, TranscriptSegment, join_segments, unpublished_tail
from contracts.v1.investigation import KeySource
from contracts.v1.parts import Usage
from kit.models.base import KEY_UNUSABLE, Checkpoint, ModelError, Published
from kit.models.recording import failure, written

Item = TypeVar("Item")


class Ref(Protocol):
    """Words by their hash."""

    @property
    def sha256(self) -> str: ...


RefT = TypeVar("RefT", bound=Ref)


class Words(Protocol[RefT]):
    """Where the words of a run lie, for as long as its kind keeps them."""

    async def get_text(self, ref: RefT) -> str:
        """The words. Raises: LookupError: they are not there any more."""
        ...

    async def put_text(self, text: str, answers: str | None = None) -> RefT:
        """Keep words; `answers` is the step they are the answer to."""
        ...

    async def answers(self, step: str) -> Sequence[RefT]:
        """What was stored as an answer to a step, published or not."""
        ...


@dataclass(frozen=True, slots=True)
class Segment(Generic[RefT]):
    """A part of the exchange that was kept, and the hash of the part it follows, None if it begins a record."""

    words: RefT
    before: str | None


class RunRecord(Generic[RefT]):
    """The record of one attempt.

    Shapes: `name_step` names the step whose answer follows the segment with that hash, or the first; `done` are the
    segments that earlier attempts published, in order; `on_record` are the hashes of all that the log names.
    `is_first`: no attempt was made before, so nothing is looked for.
    """

    def __init__(
        self,
        words: Words[RefT],
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
        """What this attempt is known to have spent."""

    async def before(self) -> tuple[Transcript | None, Published | None]:
        """What was exchanged before this attempt, and how much of it was published; None: all.

        A record that cannot be read is none: the run begins anew.
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

    async def keep_checkpoint(self, checkpoint: Checkpoint) -> Segment[RefT]:
        """Keep a segment, for the fact that publishes it."""
        words = await self.keep(checkpoint.segment)
        self.usage = checkpoint.usage
        before = self._segments[-1].sha256 if self._segments and not checkpoint.begins else None
        if checkpoint.begins:
            self._segments, self._taken_over = [], 0
        self._segments.append(words)
        return Segment(words, before)

    async def keep(self, said: bytes) -> RefT:
        """Keep what was said as the answer to the step that this attempt is at."""
        return await self._words.put_text(said.decode(), self._step)

    async def end(self, error: ModelError) -> ModelError:
        """The error of an attempt that is ended by us, with its transcript as far as it had come."""
        record = await self._join(self._segments)
        earlier = await self._join(self._segments[: self._taken_over])
        if record is not None:
            taken_over = len(earlier.calls) if earlier is not None else 0
            error.transcript = written(record.model_copy(update={"error": failure(error), "taken_over": taken_over}))
        return error

    async def stay_within(self, cost: int, limit: int | None, usage: Usage | None = None) -> None:
        """Raises: ModelError: the run and its reviews have cost what the run may; a model knows only its own part.

        Units: millionths of a US dollar.
        """
        if limit is not None and cost >= limit:
            reason = f"The run and its reviews cost {usd(cost)} and it wanted more; its limit is {usd(limit)}."
            raise await self.end(ModelError("NON_RETRYABLE", reason, name="CostLimit", usage=usage))

    @property
    def _step(self) -> str:
        return self._name_step(self._segments[-1].sha256 if self._segments else None)

    async def _join(self, refs: Sequence[RefT]) -> Transcript | None:
        try:
            texts = [await self._words.get_text(ref) for ref in refs]
            return join_segments([TranscriptSegment.model_validate_json(text) for text in texts])
        except (LookupError, ValueError):
            return None


class Keys(Protocol):
    """Readers' own keys."""

    async def open(self, investigation: UUID, attachment: UUID | None) -> str:
        """The key that its request names. Raises: LookupError: it expired or cannot be opened."""
        ...


async def open_key(keys: Keys, source: KeySource, run: UUID, attachment: UUID | None) -> SecretStr | None:
    """The reader's key that pays for a run, None where the instance pays. Raises: ModelError."""
    if source == "INSTANCE":
        return None
    try:
        return SecretStr(await keys.open(run, attachment))
    except LookupError as error:
        raise ModelError("NON_RETRYABLE", str(error), name=KEY_UNUSABLE) from error


def is_fault_of_key(source: KeySource, error: ModelError) -> bool:
    """Whether a reader's own key failed; trying it again changes nothing."""
    return source == "USER" and error.about_the_key


async def limit_time(
    items: AsyncGenerator[Item, None], record: RunRecord[RefT], *, began: float, seconds: float
) -> AsyncGenerator[Item, None]:
    """What comes within so many seconds of the loop's time `began`. Raises: ModelError: also when they are over."""
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
                raise await record.end(error) from None
            if item is None:
                return
            yield item
