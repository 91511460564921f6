"""The world of a run as it was: everything that came from outside, taken from the log and the blob store.

Nothing here asks anybody or stores anything, so an investigation can be run again on a system that is at work.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final, Protocol
from uuid import UUID

from pydantic import SecretStr

from analyses.evidence import Evidence
from analyses.research import AUTHOR_HISTORY, FETCH_URL
from contracts.v1 import ClaimProposed, Event, InvestigationRequested, InvestigationStarted
from contracts.v1.parts import INLINE_BYTES, CheckedSource, InvestigationInput, ModelName, Source, TextRef
from kit.history import Past
from kit.models.base import (
    AnswerT,
    Brief,
    Checkpoint,
    Decision,
    DecisionT,
    Finished,
    KeyStatus,
)
from kit.web.readable import Unreadable
from kit.web.reading import Reader
from lifecycle.investigation import Investigation, ends_round
from lifecycle.reviews import ReviewState, review_state
from services.investigator.domain import Prior
from services.validator.pages import Page, words
from services.validator.sources import held_against


class Blobs(Protocol):
    """What was stored."""

    async def get_text(self, ref: TextRef) -> str:
        """The text itself."""
        ...

    async def get(self, sha256: str) -> bytes:
        """The bytes with this hash."""
        ...


class PastLog:
    """The log as it was when the attempt began, or as far as it is `shown`."""

    def __init__(self, before: Sequence[Past], taken: InvestigationInput) -> None:
        self.shown = before
        self._taken = taken

    async def history(self, investigation_id: UUID) -> Sequence[Past]:
        """What had happened."""
        return self.shown

    async def snapshot(self, version_id: UUID) -> InvestigationInput | None:
        """What was looked at, frozen then."""
        return self._taken


class Memory:
    """The blob store, in which nothing is stored anew: a text is only named."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def get_text(self, ref: TextRef) -> str:
        """The text itself."""
        return await self._blobs.get_text(ref)

    async def get(self, sha256: str) -> bytes:
        """The bytes with this hash."""
        return await self._blobs.get(sha256)

    async def answers(self, step: str) -> Sequence[TextRef]:
        """Nothing that was not told: what an attempt found of that is in its own record."""
        return ()

    async def put_text(self, text: str, answers: str | None = None) -> TextRef:
        """The name it would have."""
        data = text.encode()
        inline = text if len(data) <= INLINE_BYTES else None
        return TextRef(sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data), inline=inline)


class NoKeys:
    """No key is used in a replay."""

    async def open(self, investigation: UUID, attachment: UUID | None) -> str:
        """Nobody's key."""
        return "no-key-is-used-in-a-replay"


class NoPriors:
    """What was found before stands in the frozen input."""

    async def prior(self, post_id: UUID, version_id: UUID, analysis: str) -> Prior | None:
        """Nothing is added."""
        return None


class Recorded:
    """The tools that look things up; their answers are on record."""

    def calls(self, post_id: UUID, analysis: str) -> Mapping[str, Callable[[str], Awaitable[str]]]:
        """The names of them."""
        return dict.fromkeys((FETCH_URL.name, AUTHOR_HISTORY.name), _nobody)


async def _nobody(arguments: str) -> str:
    raise AssertionError("a replay asks nobody")


class NotAsked(Exception):
    """A model is asked today that was not asked then."""


class NobodysModel:
    """The model of a claim that none was asked about."""

    name = ModelName(provider="NOBODY", model="nobody")
    labelled_demo = False
    sees_pictures = False

    def converse(
        self, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None
    ) -> AsyncGenerator[Decision[DecisionT] | Checkpoint | Finished[AnswerT], None]:
        """Raises: NotAsked."""
        raise NotAsked("a model is asked today; none was then")

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Raises: NotAsked."""
        raise NotAsked("a model is asked today; none was then")


REDELIVERED: Final = 2
"""A delivery whose number is not on record: one that looks at what the log says."""


class PastRuns:
    """What the log said of a run when a claim was judged. The end of a round may have come while it was."""

    def __init__(self, before: Sequence[Past]) -> None:
        self._before = before

    async def started(self, proposed: ClaimProposed) -> InvestigationStarted | None:
        """The attempt that the claim came from."""
        starts = [past.event for past in self._before if isinstance(past.event, InvestigationStarted)]
        return next((event for event in starts if event.attempt == proposed.attempt), None)

    async def over(self, proposed: ClaimProposed) -> bool:
        """No: the claim was judged."""
        return False

    async def review_state(self, proposed: ClaimProposed) -> ReviewState:
        """Whether it was judged before, and how often that failed. Its run could pay for the review: it was bought."""
        seen = [past for past in self._before if not _is_later(past.event, proposed.round)]
        return replace(review_state(proposed, Investigation.of(seen), None), spent_micro_usd=0)


def _is_later(event: Event, round_: int) -> bool:
    """Whether the fact ends the round, or asks for another: it may have come while the claim was judged."""
    return ends_round(round_, event) or (isinstance(event, InvestigationRequested) and event.round > round_)


class RecordedPages:
    """Pages that claims cite, from the bytes that were kept."""

    def __init__(self, then: Sequence[CheckedSource], blobs: Blobs) -> None:
        self._then = then
        self._blobs = blobs
        self._reader = Reader()

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        """Look for every source's words in its page of then. Raises: BlobMissing."""
        return tuple([await self._checked(source, then) for source, then in zip_longest(sources, self._then) if source])

    async def _checked(self, source: Source, then: CheckedSource | None) -> Evidence:
        if then is not None and then.status in ("unavailable", "unchecked"):
            return Evidence(then.model_copy(update={"url": source.url, "cited_url": None}))
        if then is None or then.page is None or then.final_url is None or then.fetched_at is None:
            return Evidence(CheckedSource(url=source.url, status="unchecked", reason="not_on_record"))
        data = await self._blobs.get(then.page.sha256)
        try:
            text = await words(self._reader, data, then.content_type or then.page.media_type)
        except Unreadable:
            return Evidence(CheckedSource(url=source.url, status="unavailable", reason="unreadable"))
        return held_against(source, Page(then.final_url, then.page, then.fetched_at, text, then.content_type))
