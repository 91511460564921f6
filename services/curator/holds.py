"""Held claims: each is released or withheld when its time is over, and its verdict follows.

Its message waits in the broker meanwhile. Two curators may decide differently, so the decision is a once-event, and
the verdict follows from the decision that the stream has stored.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Final

import structlog

from accuracy.breaker import Effect
from contracts.v1 import ClaimApproved, ClaimHeld, ClaimHoldEnded, ClaimRejected, Event
from kit.clock import Clock
from kit.errors import Retry
from lifecycle.display import REASONS, DisplayRules, HeldClaim, LookAgain, Wait, Withhold, display, find_hold
from services.curator.ports import Audience, HoldLog, HoldMetrics, LooksAgain

GATE: Final = "hold"
_NOT_DECIDED: Final = "NOT_DECIDED"

log = structlog.get_logger(__name__)

FindEffect = Callable[[ClaimApproved], Awaitable[Effect]]
"""Finds what breakers and earned volume do to an approved claim."""


async def _find_none(_: ClaimApproved) -> Effect:
    return Effect.NONE


@dataclass(frozen=True, slots=True)
class Holds:
    """Ends holds."""

    log: HoldLog
    audience: Audience
    metrics: HoldMetrics
    clock: Clock
    rules: DisplayRules
    find_effect: FindEffect = _find_none
    _: KW_ONLY
    second_look: LooksAgain

    async def on_claim_held(self, event: ClaimHeld, delivery_count: int) -> AsyncIterator[Event]:
        """End a hold that is over. Raises: Retry: the hold is not over."""
        ended, follows = await self.log.find_end(event)
        if ended is None:
            ended = await self._decide(event, follows)
            yield ended
            self.metrics.count_ended(ended.state)
            log.info("hold ended", claim=str(event.claim_id), state=ended.state, code=ended.code)
        yield write_verdict(event.approval, ended)

    async def on_exhausted(self, event: ClaimHeld, reason: str) -> AsyncIterator[Event]:
        """Withhold the claim: one that cannot be decided is not shown, and its investigation must end."""
        ended, follows = await self.log.find_end(event)
        if ended is None:
            ended = _end(event, follows, _NOT_DECIDED)
            yield ended
            ended = (await self.log.find_end(event))[0] or ended  # another one may have come first
        yield write_verdict(event.approval, ended)

    async def _decide(self, event: ClaimHeld, follows: int) -> ClaimHoldEnded:
        approval, now = event.approval, self.clock.now()
        audience = await self.audience.find(approval)
        claim = HeldClaim(
            held_at=event.held_at,
            views_a_day=audience.views_a_day,
            is_requested=audience.is_requested,
            has_passed=all(each.outcome == "PASS" for each in approval.gates),
            has_second_look=any(each.gate == "second_opinion" for each in approval.gates),
            is_stopped=await self.find_effect(approval) is not Effect.NONE,
        )
        hold_s = int(find_hold(claim, self.rules).total_seconds())
        decided = display(claim, now, self.rules)
        if isinstance(decided, LookAgain):
            fresh = await self.second_look.look(approval)
            log.info("cited pages fetched again", claim=str(event.claim_id), fresh=fresh)
            decided = display(replace(claim, fresh=fresh), now, self.rules)
        match decided:
            case Wait(until):
                raise Retry(max(1.0, (until - now).total_seconds()), "the claim is held")
            case Withhold(code):
                return _end(event, follows, code, audience.views_a_day, hold_s)
            case _:
                return _end(event, follows, None, audience.views_a_day, hold_s)


def write_verdict(approval: ClaimApproved, ended: ClaimHoldEnded) -> ClaimApproved | ClaimRejected:
    """The verdict that follows the end of a hold."""
    if ended.state == "RELEASED":
        return approval
    return ClaimRejected(
        investigation_id=approval.investigation_id,
        claim_id=approval.claim_id,
        round=approval.round,
        gate=GATE,
        reason=REASONS.get(ended.code or "", "It was not released."),
        sources=approval.sources,
        usage=approval.usage,
        transcript=approval.transcript,
        prompt=approval.prompt,
        rules=approval.rules,
        unchecked_allowed=approval.unchecked_allowed,
        policy=approval.policy,
        gates=approval.gates,
    )


def _end(
    event: ClaimHeld, follows: int, code: str | None, views_a_day: int | None = None, hold_s: int | None = None
) -> ClaimHoldEnded:
    return ClaimHoldEnded(
        follows=follows,
        investigation_id=event.investigation_id,
        claim_id=event.claim_id,
        round=event.round,
        state="RELEASED" if code is None else "WITHHELD",
        code=code,
        views_a_day=views_a_day,
        hold_s=hold_s,
    )
