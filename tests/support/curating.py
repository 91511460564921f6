"""The surroundings of one webhook or held claim: a log, words, secrets and a receiver, or readers, in memory."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from accuracy.breaker import Effect
from contracts.jobs.words import RequestWords
from contracts.v1 import ClaimApproved, ClaimHeld, ClaimHoldEnded, Event, JobEnded, JobRequested
from contracts.v1.parts import EphemeralRef
from kit.publisher import PublishConflict
from lifecycle.display import DisplayRules, Fresh
from services.curator.domain import EndedJob
from services.curator.handlers import Webhooks
from services.curator.holds import Holds
from services.curator.ports import Outcome, Readers
from tests.support.factories import NOW
from tests.support.fakes import MemoryLog, StillClock

HOOK: Final = "https://hooks.example/audits"
SECRET: Final = "whsec_" + base64.b64encode(bytes(32)).decode()


def is_signed(headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Whether a message is signed with a secret, by the words of the standard and no code of ours.

    Source: Standard Webhooks 1.0, "Verifying webhook authenticity".
    """
    key = base64.b64decode(secret.split("_", 1)[1])
    content = b".".join((headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body))
    expected = base64.b64encode(hmac.digest(key, content, "sha256")).decode()
    given = [each.split(",", 1) for each in headers["webhook-signature"].split(" ")]
    return any(version == "v1" and hmac.compare_digest(expected, signature) for version, signature in given)


class Metrics:
    """What was counted."""

    def __init__(self) -> None:
        self.webhooks: list[str] = []
        self.overdue = 0
        self.removed = 0

    def count_webhook(self, outcome: str) -> None:
        self.webhooks.append(outcome)

    def count_overdue(self) -> None:
        self.overdue += 1

    def swept(self, removed: int, at: datetime) -> None:
        self.removed += removed


class Receiver:
    """An account's server, and the curator that sends to it."""

    def __init__(self, request: JobRequested, end: JobEnded, *, url: str | None = HOOK) -> None:
        self.request = request.model_copy(update={"has_webhook": url is not None})
        self.end = end
        self.words: str | None = RequestWords(text="So they say.", webhook_url=url).model_dump_json()
        self.secrets: list[str] = [SECRET]
        self.outcome: Outcome = "delivered"
        self.sent: list[tuple[str, str, bytes, tuple[str, ...]]] = []
        self.removed: list[EphemeralRef] = []
        self.metrics = Metrics()
        self.clock = StillClock(NOW)

    @property
    def webhooks(self) -> Webhooks:
        return Webhooks(self, self, self, self, self.metrics, self.clock)

    async def deliver(self, delivery_count: int = 1) -> None:
        """One delivery of the job's end. Raises: Retry."""
        async for _ in self.webhooks.on_job_ended(self.end, delivery_count):
            raise AssertionError("a webhook leads to no fact")

    async def ended_job(self, job_id: UUID) -> EndedJob | None:
        return EndedJob(self.request, NOW) if job_id == self.request.job_id else None

    async def is_over(self, key: str) -> bool:
        return True

    async def publish(self, event: Event, correlation: UUID) -> bool:
        raise AssertionError(event)

    async def get(self, ref: EphemeralRef) -> str:
        if ref != self.request.input or self.words is None:
            raise LookupError(ref.sha256)
        return self.words

    async def remove(self, ref: EphemeralRef) -> None:
        self.removed.append(ref)

    async def sweep(self, before: datetime) -> int:
        raise AssertionError(before)

    async def find(self, account_id: UUID) -> Sequence[str]:
        assert account_id == self.request.account_id
        return self.secrets

    async def send(self, url: str, message_id: str, body: bytes, secrets: Sequence[str], now: datetime) -> Outcome:
        self.sent.append((url, message_id, body, tuple(secrets)))
        return self.outcome


class JobsLog:
    """The stream `JOBS`, shared by two curators."""

    def __init__(self, *events: Event) -> None:
        self.facts = MemoryLog(*events)

    async def ended_job(self, job_id: UUID) -> EndedJob | None:
        raise AssertionError(job_id)

    async def is_over(self, key: str) -> bool:
        return any(isinstance(each, JobEnded) and each.key() == key for each in self.facts.events)

    async def publish(self, event: Event, correlation: UUID) -> bool:
        try:
            self.facts.publish(event)
        except PublishConflict:
            return False
        return True


class HeldWorld:
    """A log, readers, a breaker, and as many curators as come."""

    def __init__(self, held: ClaimHeld, views: int | None = 0, rules: DisplayRules | None = None) -> None:
        self.rules = rules or DisplayRules()
        self.log = MemoryLog(held)
        self.clock = StillClock(NOW)
        self.readers = Readers(views, is_requested=False)
        self.effect = Effect.NONE
        self.ended: list[str] = []
        self.fresh: Fresh = "CONFIRMED"
        self.looked = 0

    async def find(self, approval: ClaimApproved) -> Readers:
        return self.readers

    async def find_end(self, event: ClaimHeld) -> tuple[ClaimHoldEnded | None, int]:
        for past in reversed(self.log.entries):
            if isinstance(found := past.event, ClaimHoldEnded) and found.claim_id == event.claim_id:
                return (found if found.round >= event.round else None), past.sequence
        return None, 0

    async def find_effect(self, approval: ClaimApproved) -> Effect:
        return self.effect

    async def look(self, approval: ClaimApproved) -> Fresh:
        self.looked += 1
        return self.fresh

    def count_ended(self, state: str) -> None:
        self.ended.append(state)

    def curator(self) -> Holds:
        """Another curator over the same log."""
        return Holds(self, self, self, self.clock, self.rules, self.find_effect, second_look=self)

    async def handle(self, event: ClaimHeld, *, crash_after: int = 9) -> None:
        """Deliver once; the worker dies after it has published `crash_after` facts."""
        async for fact in self.curator().on_claim_held(event, 1):
            if not crash_after:
                return
            self.log.publish(fact)
            crash_after -= 1

    @property
    def follows(self) -> list[Event]:
        """What was published behind the held claim."""
        return self.log.events[1:]
