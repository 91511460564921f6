"""The ports of investigator and validator over what was recorded, from the log and the blob store.

Nothing here sends a request or stores anything, so a replay is safe on a running system.
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
from kit.documents.decoding import Unreadable
from kit.documents.reading import Reader
from kit.history import StoredFact
from kit.models.base import (
    AnswerT,
    Brief,
    Checkpoint,
    Decision,
    DecisionT,
    Finished,
    KeyStatus,
)
from kit.sources import Page
from lifecycle.investigation import Investigation, ends_round
from lifecycle.reviews import ReviewState, fold_review_state
from services.investigator.domain import Prior
from services.validator.sources import compare_with_page, read_words


class Blobs(Protocol):
    """Read access to stored texts and bytes."""

    async def get_text(self, ref: TextRef) -> str:
        """Fetch a text."""

    async def get(self, sha256: str) -> bytes:
        """Fetch bytes by their hash."""


class RecordedLog:
    """The log as it was when the attempt started. Shapes: `visible` is what `history` returns."""

    def __init__(self, before: Sequence[StoredFact], frozen_input: InvestigationInput) -> None:
        self.visible = before
        self._frozen_input = frozen_input

    async def history(self, investigation_id: UUID) -> Sequence[StoredFact]:
        """The visible part."""
        return self.visible

    async def snapshot(self, version_id: UUID) -> InvestigationInput | None:
        """The input that was frozen."""
        return self._frozen_input


class RecordedBlobs:
    """The blob store without writes: a new text gets its reference only."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def get_text(self, ref: TextRef) -> str:
        return await self._blobs.get_text(ref)

    async def get(self, sha256: str) -> bytes:
        return await self._blobs.get(sha256)

    async def answers(self, step: str) -> Sequence[TextRef]:
        """No answers: those that an attempt recovered are in its own transcript."""
        return ()

    async def store_answer(self, ref: TextRef) -> None:
        """Store nothing."""

    async def put_text(self, text: str, answers: str | None = None) -> TextRef:
        """The reference that the text would have."""
        data = text.encode()
        inline = text if len(data) <= INLINE_BYTES else None
        return TextRef(sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data), inline=inline)


class DummyKeys:
    """A placeholder: no provider is called."""

    async def open(self, investigation: UUID, attachment: UUID | None) -> str:
        """The placeholder."""
        return "no-key-is-used-in-a-replay"


class NoPriors:
    """Earlier findings are part of the frozen input."""

    async def prior(self, post_id: UUID, version_id: UUID, analysis: str) -> Prior | None:
        """None: the frozen input has them."""
        return None


class RecordedResearch:
    """The research tools; their results are in the transcript."""

    def calls(self, post_id: UUID, analysis: str) -> Mapping[str, Callable[[str], Awaitable[str]]]:
        """All tools; a replay never calls them."""
        return dict.fromkeys((FETCH_URL.name, AUTHOR_HISTORY.name), _refuse_call)


async def _refuse_call(arguments: str) -> str:
    raise AssertionError("a replay calls no tool")


class CallNotRecorded(Exception):
    """A model is called that was not called in the recorded run."""


class UnrecordedModel:
    """The model where no call was recorded."""

    name = ModelName(provider="NOBODY", model="nobody")
    labelled_demo = False
    sees_pictures = False

    def converse(
        self, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None
    ) -> AsyncGenerator[Decision[DecisionT] | Checkpoint | Finished[AnswerT], None]:
        """Raises: CallNotRecorded."""
        raise CallNotRecorded("a model is called now; no call was recorded")

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Raises: CallNotRecorded."""
        raise CallNotRecorded("a model is called now; no call was recorded")


REDELIVERED: Final = 2
"""The delivery count where none is recorded: any redelivery makes the handler read the log."""


class RecordedRuns:
    """The log as it was when a claim was reviewed, without the end of its round, which may have been stored by then."""

    def __init__(self, before: Sequence[StoredFact]) -> None:
        self._before = before

    async def find_start(self, proposed: ClaimProposed) -> InvestigationStarted | None:
        """The start of the attempt that proposed the claim."""
        starts = [past.event for past in self._before if isinstance(past.event, InvestigationStarted)]
        return next((event for event in starts if event.attempt == proposed.attempt), None)

    async def is_over(self, proposed: ClaimProposed) -> bool:
        """False: the claim was reviewed."""
        return False

    async def review_state(self, proposed: ClaimProposed) -> ReviewState:
        """Earlier reviews of the claim; nothing is spent, since the recorded review was within its limit."""
        facts = [past for past in self._before if not _is_later(past.event, proposed.round)]
        return replace(fold_review_state(proposed, Investigation.fold(facts), None), spent_micro_usd=0)


def _is_later(event: Event, round_: int) -> bool:
    """Whether the event ends the round or requests another one."""
    return ends_round(round_, event) or (isinstance(event, InvestigationRequested) and event.round > round_)


class RecordedPages:
    """Cited pages, from the stored bytes."""

    def __init__(self, then: Sequence[CheckedSource], blobs: Blobs, own_hosts: Sequence[str] = ()) -> None:
        self._then = then
        self._blobs = blobs
        self._own_hosts = own_hosts
        self._reader = Reader()

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        """Compare every source with its page as it was fetched. Raises: BlobMissing."""
        return tuple([await self._checked(source, then) for source, then in zip_longest(sources, self._then) if source])

    async def _checked(self, source: Source, then: CheckedSource | None) -> Evidence:
        if then is not None and then.status in ("unavailable", "unchecked"):
            return Evidence(then.model_copy(update={"url": source.url, "cited_url": None}))
        if then is None or then.page is None or then.final_url is None or then.fetched_at is None:
            return Evidence(CheckedSource(url=source.url, status="unchecked", reason="not_on_record"))
        data = await self._blobs.get(then.page.sha256)
        try:
            media_type = then.content_type or then.page.media_type
            text = await read_words(self._reader, data, media_type, own_hosts=self._own_hosts)
        except Unreadable:
            return Evidence(CheckedSource(url=source.url, status="unavailable", reason="unreadable"))
        return compare_with_page(source, Page(then.final_url, then.page, then.fetched_at, text, then.content_type))
