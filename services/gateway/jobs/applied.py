"""The withdrawals that removed quotes, folded from the log as it grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from analyses.claims.extraction import HASH_PREFIX
from contracts.jobs.rights import AppliedWithdrawal, AppliedWithdrawals
from contracts.v1 import AssertionInvalidated, FlagRaised, FlagResolved
from kit.cache import Cache
from kit.history import StoredFact
from services.gateway.jobs.ports import JobLog

LISTED: Final = 1_000
REMEMBERED: Final = 100_000
"""How many of the newest objections can still take effect; the curator needs seconds."""
_KINDS: Final = FlagRaised, FlagResolved, AssertionInvalidated


@dataclass(slots=True)
class _Cause:
    """An objection to an address, or an accepted one to a claim, and the facts that invalidated analyses for it."""

    sequence: int
    flag_id: UUID
    at: datetime
    invalidations: set[UUID] = field(default_factory=set)


class Applied:
    """Lists the newest withdrawals. Each look reads only the facts stored since the previous one."""

    def __init__(self, log: JobLog) -> None:
        self._log = log
        self._read_up_to = 0
        self._waiting: Cache[UUID, _Cause] = Cache(capacity=REMEMBERED)
        self._effective: dict[UUID, _Cause] = {}

    async def look(self) -> AppliedWithdrawals:
        """The newest withdrawals, newest first. Not to be called concurrently. Raises: Unavailable."""
        for fact in await self._log.read(*(f"{kind.SUBJECT}.*" for kind in _KINDS), after=self._read_up_to):
            self._apply(fact)
            self._read_up_to = fact.sequence
        newest = sorted(self._effective.items(), key=lambda item: item[1].sequence, reverse=True)[:LISTED]
        self._effective = dict(newest)
        return AppliedWithdrawals(withdrawals=await self._describe([cause for _, cause in newest]))

    def _apply(self, fact: StoredFact) -> None:
        id_, cause_id = fact.envelope.id, fact.envelope.cause
        match fact.event:
            case FlagRaised(claim_sha256=None) | FlagResolved(status="ACCEPTED"):
                self._waiting.put(id_, _Cause(fact.sequence, fact.event.flag_id, fact.envelope.occurred_at))
            case AssertionInvalidated() if cause_id is not None:
                cause = self._effective.get(cause_id) or self._waiting.get(cause_id)
                if cause is not None:
                    self._effective[cause_id] = cause
                    cause.invalidations.add(id_)

    async def _describe(self, causes: Sequence[_Cause]) -> tuple[AppliedWithdrawal, ...]:
        """Describe withdrawals. Their objections are read again, so that erased ones are not listed."""
        facts = await self._log.latest(*(f"{FlagRaised.SUBJECT}.{cause.flag_id}" for cause in causes)) if causes else ()
        flags = {fact.event.flag_id: fact.event for fact in facts if isinstance(fact.event, FlagRaised)}
        return tuple(_view(flags[cause.flag_id], cause) for cause in causes if cause.flag_id in flags)


def _view(flag: FlagRaised, cause: _Cause) -> AppliedWithdrawal:
    return AppliedWithdrawal(
        withdrawal_id=flag.flag_id,
        recorded_at=cause.at,
        url_sha256=flag.url_sha256,
        claim_hash=None if flag.claim_sha256 is None else f"{HASH_PREFIX}{flag.claim_sha256}",
        analyses=len(cause.invalidations),
    )
