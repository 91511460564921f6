"""The ports of handlers in memory: a log that keeps the rules of the real one, texts, keys, a scripted model.

Each fake is passed as an argument; nothing is patched.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

from pydantic import SecretStr

from analyses.evidence import Evidence
from analyses.flagging import Review
from contracts.v1 import (
    ClaimProposed,
    ClaimValidationStarted,
    ErasureOrdered,
    Event,
    InvestigationStarted,
    OnceEvent,
)
from contracts.v1.pages import CanonicalPage, Observation
from contracts.v1.parts import (
    BlobRef,
    CheckedSource,
    ClaimPayload,
    InvestigationInput,
    ModelName,
    Source,
    SourceStatus,
    TextRef,
    Usage,
)
from contracts.v1.version import VersionEvent
from kit.blob_settings import BlobMissing
from kit.clock import Clock
from kit.errors import Reject, Retry, Superseded
from kit.history import StoredFact
from kit.models.base import (
    Brief,
    Checkpoint,
    ClaimInDoubt,
    Decision,
    Finished,
    KeyAccepted,
    KeyStatus,
    Limits,
    Model,
    ModelError,
)
from kit.publisher import PublishConflict
from kit.vault import KeyUnusable
from lifecycle.investigation import Investigation
from lifecycle.reviews import ReviewState, StartedReview, fold_review_state
from services.ingest.domain import VersionState, fold_version
from services.investigator.domain import Prior
from services.investigator.handlers import RUN_S, Investigator
from services.investigator.ports import Blobs, Log
from services.verifier.domain import Unavailable
from tests.support.factories import MODEL, NOW
from tests.support.logged import entry


@dataclass
class Handled:
    """The outcome of one delivery: facts, and whether the handler gave up."""

    facts: list[Event] = field(default_factory=list)
    gave_up: Retry | Reject | Superseded | PublishConflict | None = None


async def handled(
    events: AsyncIterator[Event], log: MemoryLog | None = None, clock: StillClock | None = None
) -> Handled:
    """Run a handler as delivery does: every fact is stored at once, in `log` if there is one.

    By `clock` it is then as late as the next delivery, where this one was put off.
    """
    outcome = Handled()
    try:
        async for event in events:
            if log is not None:
                log.publish(event)
            outcome.facts.append(event)
    except (Retry, Reject, Superseded) as error:
        outcome.gave_up = error
    if clock is not None:
        clock.wait_for_the_next(outcome)
    return outcome


class MemoryLog:
    """The log: a total order, and once-events only where they follow. Knows no duplicates, as after a long time."""

    def __init__(self, *events: Event, versions: dict[UUID, InvestigationInput] | None = None) -> None:
        self.entries: list[StoredFact] = []
        self.versions = versions or {}
        for event in events:
            self.publish(event)

    @property
    def events(self) -> list[Event]:
        """All facts in order."""
        return [entry.event for entry in self.entries]

    def last(self, subject: str) -> int:
        """The sequence of the newest fact on a subject, 0 if there is none."""
        return next((entry.sequence for entry in reversed(self.entries) if entry.event.subject() == subject), 0)

    def publish(self, event: Event) -> None:
        """Store a fact. Raises: PublishConflict: a once-event that does not follow."""
        if isinstance(event, OnceEvent) and event.follows != self.last(event.subject()):
            raise PublishConflict(event.subject())
        self.entries.append(entry(len(self.entries) + 1, event))

    async def history(self, investigation_id: UUID) -> Sequence[StoredFact]:
        return [entry for entry in self.entries if entry.event.key() == str(investigation_id)]

    async def snapshot(self, version_id: UUID) -> InvestigationInput | None:
        return self.versions.get(version_id)

    async def find_start(self, proposed: ClaimProposed) -> InvestigationStarted | None:
        mine = [entry.event for entry in await self.history(proposed.investigation_id)]
        starts = [event for event in mine if isinstance(event, InvestigationStarted)]
        return starts[-1] if starts and starts[-1].attempt >= proposed.attempt else None

    async def is_over(self, proposed: ClaimProposed) -> bool:
        found = await self.investigation(proposed.investigation_id)
        return found is not None and found.is_over(proposed.round)

    async def investigation(self, investigation_id: UUID) -> Investigation | None:
        return Investigation.fold(await self.history(investigation_id))

    async def review_state(self, proposed: ClaimProposed) -> ReviewState:
        begun = [
            StartedReview(past.sequence, past.event)
            for past in self.entries
            if isinstance(past.event, ClaimValidationStarted) and past.event.claim_id == proposed.claim_id
        ]
        found = await self.investigation(proposed.investigation_id)
        return fold_review_state(proposed, found, begun[-1] if begun else None)

    async def is_erased(self, post_id: UUID) -> bool:
        return any(isinstance(event, ErasureOrdered) and event.post_id == post_id for event in self.events)

    async def read_state(self, version_id: UUID) -> VersionState:
        return fold_version(
            event for event in self.events if isinstance(event, VersionEvent) and event.version_id == version_id
        )


class MemoryTexts:
    """Texts by hash; those longer than `inline_bytes` are stored, as the real ones are. Also other bytes by hash."""

    def __init__(self, inline_bytes: int = 16_384) -> None:
        self.stored: dict[str, str] = {}
        self.objects: dict[str, bytes] = {}
        self.steps: dict[str, list[TextRef]] = {}
        self.looked_for: list[str] = []
        self._small: dict[str, str] = {}
        self._inline_bytes = inline_bytes

    async def get_text(self, ref: TextRef) -> str:
        return ref.inline if ref.inline is not None else self.stored[ref.sha256]

    async def put_text(self, text: str, answers: str | None = None) -> TextRef:
        data = text.encode()
        digest = sha256(data).hexdigest()
        if len(data) <= self._inline_bytes:
            if answers is not None:
                self._small[digest] = answers
            return TextRef(sha256=digest, size_bytes=len(data), inline=text)
        self.stored[digest] = text
        ref = TextRef(sha256=digest, size_bytes=len(data), under=answers)
        if answers is not None:
            self.steps.setdefault(answers, []).append(ref)
        return ref

    async def store_answer(self, ref: TextRef) -> None:
        if ref.inline is not None and (step := self._small.get(ref.sha256)) is not None:
            self.steps.setdefault(step, []).append(ref)

    async def answers(self, step: str) -> Sequence[TextRef]:
        self.looked_for.append(step)
        return self.steps.get(step, [])

    async def get(self, sha256: str) -> bytes:
        try:
            return self.objects[sha256]
        except KeyError:
            raise BlobMissing(f"no object {sha256}") from None

    async def put(self, data: bytes, media_type: str = "application/octet-stream") -> BlobRef:
        digest = sha256(data).hexdigest()
        self.objects[digest] = data
        return BlobRef(sha256=digest, size_bytes=len(data), media_type=media_type)


class StillClock:
    """Time stands until it is moved; ids count up."""

    def __init__(self, time: datetime = NOW) -> None:
        self.time = time
        self._seconds = 0.0
        self._ids = 0

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self._seconds

    def new_id(self) -> UUID:
        self._ids += 1
        return UUID(int=self._ids)

    def new_salt(self) -> str:
        return f"{self._ids:043}"

    def jump(self, seconds: float) -> None:
        """Change the wall clock; the monotonic clock stays."""
        self.time += timedelta(seconds=seconds)

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.jump(seconds)
        self._seconds += seconds

    def wait_for_the_next(self, outcome: Handled) -> None:
        """Move the clock to the time at which a delivery that was put off comes back."""
        if isinstance(outcome.gave_up, Retry):
            self.pass_by(outcome.gave_up.after_s)


class MemoryKeys:
    """Readers' keys, unsealed, by the attachment or, as older facts have it, by the run."""

    def __init__(self, **keys: str) -> None:
        self.keys = keys

    async def open(self, investigation: UUID, attachment: UUID | None) -> str:
        try:
            return self.keys[str(attachment or investigation)]
        except KeyError:
            raise KeyUnusable("the user's key has expired") from None


@dataclass
class FixedPages:
    """The same outcome for every page."""

    outcome: CanonicalPage | Unavailable

    async def page(self, observation: Observation, delivery_count: int) -> CanonicalPage | Unavailable:
        return self.outcome


class ListedSources:
    """Gives each source the outcome listed for its title, else `found`; records what was asked."""

    def __init__(self, **statuses: SourceStatus) -> None:
        self.asked: list[str] = []
        self._statuses = statuses

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        self.asked += [source.url for source in sources]
        return tuple(checked(source, self._statuses.get(source.title, "found")) for source in sources)


def checked(source: Source, status: SourceStatus = "found") -> Evidence:
    """The evidence of a source that was looked up."""
    if status in ("unavailable", "unchecked"):
        return Evidence(CheckedSource(url=source.url, status=status, reason="http_404"))
    data = source.snippet.encode()
    page = BlobRef(sha256=sha256(data).hexdigest(), size_bytes=len(data), media_type="text/html")
    said = CheckedSource(url=source.url, status=status, final_url=source.url, page=page, fetched_at=NOW)
    return Evidence(said, f"So: {source.snippet}" if status == "found" else None)


class FixedPriors:
    """Gives the same earlier result for every version; records for which it was asked."""

    def __init__(self, prior: Prior | None = None) -> None:
        self.known = prior
        self.asked: list[tuple[UUID, UUID, str]] = []

    async def prior(self, post_id: UUID, version_id: UUID, analysis: str) -> Prior | None:
        self.asked.append((post_id, version_id, analysis))
        return self.known


class NoResearch:
    """Research tools that find nothing."""

    def calls(self, post_id: UUID, analysis: str) -> Mapping[str, Callable[[str], Awaitable[str]]]:
        async def nothing(arguments: str) -> str:
            return '{"ok": false}'

        return {"fetch_url": nothing, "author_history": nothing}


def investigator_over(
    log: Log,
    texts: Blobs,
    model: Model,
    keys: MemoryKeys | None = None,
    priors: FixedPriors | None = None,
    limits: Limits | None = None,
    clock: Clock | None = None,
    *,
    run_s: float = RUN_S,
) -> Investigator:
    """An investigator that finds what it needs in memory."""
    return Investigator(
        log,
        texts,
        keys or MemoryKeys(),
        model,
        clock or StillClock(),
        "worker-1",
        priors=priors or FixedPriors(),
        research=NoResearch(),
        limits=limits or Limits(),
        run_s=run_s,
    )


Item = Decision[ClaimPayload | UUID] | Checkpoint | Finished[None]
Run = Sequence[Item | ModelError]
"""One run of the model: what it says, ended by an error or, without one, by a finish."""
Verdict = Finished[Review]


class ScriptedModel:
    """Plays runs and verdicts in the order given, the last of each repeatedly; records what it was asked."""

    labelled_demo = False
    sees_pictures = True

    def __init__(
        self, runs: Sequence[Run] = ((),), verdicts: Sequence[Verdict | ModelError] = (), name: ModelName = MODEL
    ) -> None:
        self.name = name
        self.briefs: list[Brief[Any, Any]] = []
        self.reviews: list[Brief[Any, Any]] = []
        self.keys: list[str | None] = []
        self._runs = runs
        self._verdicts = verdicts or (verdict(approved=True),)

    async def converse(self, brief: Brief[Any, Any], key: SecretStr | None = None) -> AsyncGenerator[Any, None]:
        self.keys.append(key.get_secret_value() if key else None)
        if isinstance(brief.subject, ClaimInDoubt):
            yield await self.review(brief)
            return
        async with aclosing(self.look(brief)) as items:
            async for item in items:
                yield item

    async def look(self, brief: Brief[Any, Any]) -> AsyncGenerator[Item, None]:
        """One run."""
        run = self._runs[min(len(self.briefs), len(self._runs) - 1)]
        self.briefs.append(brief)
        for item in run:
            if isinstance(item, ModelError):
                raise item
            yield item
        yield Finished(None, Usage(total_tokens=1), self.name, b"{}")

    async def review(self, brief: Brief[Any, Any]) -> Verdict:
        """One verdict."""
        answer = self._verdicts[min(len(self.reviews), len(self._verdicts) - 1)]
        self.reviews.append(brief)
        if isinstance(answer, ModelError):
            raise answer
        return answer

    async def probe(self, key: SecretStr) -> KeyStatus:
        return KeyAccepted()


def verdict(*, approved: bool, reason: str | None = None, usage: Usage | None = None) -> Verdict:
    """An answer to a review."""
    return Finished(Review(approved, reason), usage or Usage(total_tokens=1), MODEL, b"{}")


def transient(status_code: int = 500) -> ModelError:
    """A failure that may pass."""
    return ModelError("TRANSIENT", "the provider is busy", name="Busy", status_code=status_code)


def without_credit() -> ModelError:
    """A failure that passes once somebody pays."""
    return ModelError("TRANSIENT", "no credit is left", name="Http429", status_code=429, of_the_account=True)


def final(status_code: int = 401) -> ModelError:
    """A failure that will not pass."""
    return ModelError("NON_RETRYABLE", "the provider refused", name="Refused", status_code=status_code)


def partial() -> ModelError:
    """A run that was cut short."""
    return ModelError("PARTIAL", "the answer was cut short", name="Incomplete")
