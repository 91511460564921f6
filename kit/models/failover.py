"""A second provider for when the first one is down: asked only if nothing was answered, so that nothing is paid twice.

An error status, or nobody there, costs nothing. A stream that broke or fell silent may have been billed and may have
said something; such a run is tried again later like any other.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from pydantic import SecretStr

from contracts.transcript import Transcript
from kit.models.base import (
    Finished,
    InvestigationBrief,
    KeyStatus,
    Model,
    ModelError,
    Retention,
    ReviewBrief,
    Submission,
    Verdict,
)
from kit.models.recording import written


class Keyed(Model, Protocol):
    """A model of which it is known whose keys it takes."""

    @property
    def takes_readers_keys(self) -> bool:
        """Whether a reader's key, which is one of OpenAI's, may be sent to this provider."""

    async def probe_own(self) -> KeyStatus:
        """Try the instance's own key with one tiny call."""


class Failover:
    """Asks the first; if that failed for now and at no cost, the second."""

    def __init__(self, first: Keyed, second: Keyed) -> None:
        self._first = first
        self._second = second
        self.name = first.name
        self.labelled_demo = first.labelled_demo or second.labelled_demo
        self.sees_pictures = first.sees_pictures or second.sees_pictures
        self.takes_readers_keys = first.takes_readers_keys

    async def investigate(
        self, brief: InvestigationBrief, key: SecretStr | None = None
    ) -> AsyncGenerator[Submission | Retention | Finished, None]:
        """Run stage 1. Shapes: as Model.investigate. Raises: ModelError, the second's if it was asked."""
        yielded = False
        try:
            async with aclosing(self._first.investigate(brief, key)) as steps:
                async for step in steps:
                    yielded = True
                    yield step
            return
        except ModelError as error:
            failed = error
        if yielded or not self._may_ask_second(failed, key):
            raise failed
        try:
            async with aclosing(self._second.investigate(brief, key)) as steps:
                async for step in steps:
                    if isinstance(step, Finished):
                        step = replace(step, transcript=_joined(failed, step.transcript))
                    yield step
            return
        except ModelError as error:
            error.transcript = _joined(failed, error.transcript) if error.transcript else failed.transcript
            failed = error
        raise failed

    async def review(self, brief: ReviewBrief, key: SecretStr | None = None) -> Verdict:
        """Ask stage 2 about one claim. Raises: ModelError, the second's if it was asked."""
        try:
            return await self._first.review(brief, key)
        except ModelError as error:
            failed = error
        if not self._may_ask_second(failed, key):
            raise failed
        try:
            verdict = await self._second.review(brief, key)
            return replace(verdict, transcript=_joined(failed, verdict.transcript))
        except ModelError as error:
            error.transcript = _joined(failed, error.transcript) if error.transcript else failed.transcript
            failed = error
        raise failed

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Try a reader's key, with the first."""
        return await self._first.probe(key)

    async def probe_own(self) -> KeyStatus:
        """Try the instance's own key of the first."""
        return await self._first.probe_own()

    def _may_ask_second(self, failed: ModelError, key: SecretStr | None) -> bool:
        if key is not None and not self._second.takes_readers_keys:
            return False
        return failed.failure == "TRANSIENT" and _cost_nothing(failed)


def _cost_nothing(failed: ModelError) -> bool:
    if failed.transcript is None:
        return False
    calls = Transcript.model_validate_json(failed.transcript).calls
    return all(call.ending == "unreached" or (call.status or 0) >= 400 for call in calls)


def _joined(first: ModelError, second: bytes) -> bytes:
    """The second's record with the first's inside."""
    if first.transcript is None:
        return second
    before = Transcript.model_validate_json(first.transcript)
    return written(Transcript.model_validate_json(second).model_copy(update={"instead_of": before}))
