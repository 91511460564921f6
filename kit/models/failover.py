"""A second provider for outages of the first: used only if the first answered nothing, so nothing is paid twice.

An error status or a failed connection costs nothing. A stream that broke or stalled may have been billed and may have
content; such a run is retried later like any other. A run that the first had begun in an earlier attempt and cannot
continue is begun again by the second, and so partly paid twice.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from pydantic import SecretStr

from contracts.transcript import Transcript, TranscriptSegment
from kit.models.base import (
    AnswerT,
    Brief,
    Checkpoint,
    Decision,
    DecisionT,
    Finished,
    KeyStatus,
    Model,
    ModelError,
)
from kit.models.prices import Charges
from kit.models.recording import serialize


class KeyedModel(Model, Protocol):
    """A model that declares whose keys it accepts."""

    @property
    def charges(self) -> tuple[Charges, ...]:
        """The charges of each model that may be used; empty if none costs anything."""

    @property
    def takes_readers_keys(self) -> bool:
        """Whether a reader's key, which is an OpenAI key, may be sent to this provider."""

    async def probe_own(self) -> KeyStatus:
        """Test the instance's own key with one tiny call."""


class Failover:
    """A model that uses the first provider, or the second if the first failed transiently and at no cost."""

    def __init__(self, first: KeyedModel, second: KeyedModel) -> None:
        self._first = first
        self._second = second
        self.name = first.name
        self.labelled_demo = first.labelled_demo or second.labelled_demo
        self.sees_pictures = first.sees_pictures or second.sees_pictures
        self.takes_readers_keys = first.takes_readers_keys

    @property
    def charges(self) -> tuple[Charges, ...]:
        return (*self._first.charges, *self._second.charges)

    async def converse(
        self, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None
    ) -> AsyncGenerator[Decision[DecisionT] | Checkpoint | Finished[AnswerT], None]:
        failed: ModelError | None = None
        if brief.done is None or brief.done.instead_of is None:
            try:
                async with aclosing(self._first.converse(brief, key)) as items:
                    async for item in items:
                        yield item
                return
            except ModelError as error:
                failed = error
            if not self._may_ask_second(failed, key):
                raise failed
            before, brief = _record(failed), replace(brief, done=None)
        else:  # the second has taken over already, and continues
            before = brief.done.instead_of
            brief = replace(brief, done=brief.done.model_copy(update={"instead_of": None}))
        try:
            async with aclosing(self._second.converse(brief, key)) as items:
                async for item in items:
                    yield _with_first(item, before)
            return
        except ModelError as error:
            failed = _both(failed, before, error)
        raise failed

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Test a reader's key with the first provider."""
        return await self._first.probe(key)

    async def probe_own(self) -> KeyStatus:
        """Test the instance's own key for the first provider."""
        return await self._first.probe_own()

    def _may_ask_second(self, failed: ModelError, key: SecretStr | None) -> bool:
        if key is not None and not self._second.takes_readers_keys:
            return False
        return failed.failure == "TRANSIENT" and _cost_nothing(failed)


def _record(failed: ModelError) -> Transcript | None:
    return None if failed.transcript is None else Transcript.model_validate_json(failed.transcript)


def _cost_nothing(failed: ModelError) -> bool:
    """Whether the provider answered nothing in this attempt; answers of earlier attempts are paid for already."""
    record = _record(failed)
    if record is None:
        return False
    calls = record.calls[record.taken_over :]
    return all(call.ending == "unreached" or (call.status or 0) >= 400 for call in calls)


def _both(first: ModelError | None, before: Transcript | None, second: ModelError) -> ModelError:
    """The error to raise after both failed: that of the second only if the second answered at all.

    A misconfigured second provider must not turn a transient failure of the first into a final one.
    """
    useless = second.transcript is None or _cost_nothing(second)
    if second.transcript is not None:
        second.transcript = _combine(before, second.transcript)
    if first is None or not useless:
        return second
    if second.transcript is None:
        return first
    return ModelError(
        first.failure,
        f"{first.reason} The provider that stands in: {second.reason}",
        name=first.name,
        status_code=first.status_code,
        usage=first.usage,
        transcript=second.transcript,
        retry_after_s=first.retry_after_s,
    )


def _with_first(
    item: Decision[DecisionT] | Checkpoint | Finished[AnswerT], before: Transcript | None
) -> Decision[DecisionT] | Checkpoint | Finished[AnswerT]:
    if isinstance(item, Finished):
        return replace(item, transcript=_combine(before, item.transcript))
    if isinstance(item, Checkpoint) and item.begins:
        segment = TranscriptSegment.model_validate_json(item.segment)
        assert segment.head is not None
        head = segment.head.model_copy(update={"instead_of": before})
        return replace(item, segment=serialize(segment.model_copy(update={"head": head})))
    return item


def _combine(before: Transcript | None, second: bytes) -> bytes:
    """The record of the second provider, with that of the first inside."""
    if before is None:
        return second
    return serialize(Transcript.model_validate_json(second).model_copy(update={"instead_of": before}))
