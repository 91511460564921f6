"""Which sources count, how often a judgement is tried, and what is said when it cannot be had."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from contracts.spent import micro_usd
from contracts.v1 import (
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    ClaimValidationStarted,
    Event,
    InvestigationCompleted,
    InvestigationFailed,
    InvestigationRequested,
)
from contracts.v1.claim import ClaimEvent
from contracts.v1.investigation import FailureClass
from contracts.v1.parts import CheckedSource, ClaimPayload

MAX_ATTEMPTS = 4
RETRY_BASE_S = 10.0
LONGEST_WAIT_S: Final = 600.0
MAX_PAGES: Final = 8
"""Different pages looked up for one claim; what is cited beyond them is unchecked."""

_MAY_PASS: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_MAY_PASS_KINDS: Final = frozenset({"connection_failed", "bad_response", "bad_encoding"})


@dataclass(frozen=True, slots=True)
class Begun:
    """The newest review of a claim that was begun, and its place in the log."""

    sequence: int
    event: ClaimValidationStarted


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a claim stands.

    Shapes: `settled`: nobody needs a verdict on it any more; `tries`: reviews that failed for now; `begun_on`: the
    delivery on which this round's newest review was begun, 0 if none was; `follows`: the place of the newest start;
    `not_before`: when the next review may begin, None if no moment was told.
    Units: `spent_micro_usd` is what the round has cost so far, attempts and reviews together.
    """

    settled: bool
    tries: int = 0
    begun_on: int = 0
    follows: int = 0
    spent_micro_usd: int = 0
    not_before: datetime | None = None

    def left_s(self, now: datetime) -> float:
        """Seconds until the next review may begin; whatever the clock says, no rule asks for more than the longest."""
        if self.not_before is None:
            return 0.0
        return min(max(0.0, (self.not_before - now).total_seconds()), LONGEST_WAIT_S)


def standing(proposed: ClaimProposed, history: Iterable[Event], begun: Begun | None = None) -> Standing:
    """Read a claim's standing from the facts about its investigation, and from the newest start of a review of it.

    It is settled by a verdict of its round, and by the end of that round, however it ended: what is said of it later
    reaches nobody, and the next round proposes it anew.
    """
    facts = tuple(history)
    failed = [
        event for event in facts if isinstance(event, ClaimValidationRetryScheduled) and _is_about(proposed, event)
    ]
    return Standing(
        settled=any(settles(proposed, event) for event in facts),
        tries=max((event.attempt for event in failed), default=0),
        begun_on=begun.event.delivery if begun is not None and begun.event.round == proposed.round else 0,
        follows=begun.sequence if begun is not None else 0,
        spent_micro_usd=micro_usd(facts, proposed.round),
        not_before=max((event.retry_at for event in failed), default=None),
    )


def _is_about(proposed: ClaimProposed, event: ClaimEvent) -> bool:
    return (event.claim_id, event.round) == (proposed.claim_id, proposed.round)


def settles(proposed: ClaimProposed, event: Event) -> bool:
    """Whether nobody needs a verdict on the claim after this fact."""
    match event:
        case ClaimApproved() | ClaimRejected() | ClaimValidationFailed():
            return _is_about(proposed, event)
        case InvestigationFailed():
            return event.round >= proposed.round
        case InvestigationRequested():
            return event.round > proposed.round
        case _:
            return isinstance(event, InvestigationCompleted)


def next_step(attempt: int, failure: FailureClass, asked_s: float | None = None) -> float | None:
    """Seconds until the next try after this failure, None if there is none: the investigation fails then.

    Units: 10, 20, 40 seconds, or `asked_s` where the provider asked for longer. Source: specification 3.7.
    """
    if failure != "TRANSIENT" or attempt >= MAX_ATTEMPTS:
        return None
    return max(RETRY_BASE_S * 2.0 ** (attempt - 1), min(asked_s or 0.0, LONGEST_WAIT_S))


def may_pass(status: int | None = None, kind: str | None = None) -> bool:
    """Whether asking a site once more at once could help, by its status or by why nothing came."""
    return status in _MAY_PASS or kind in _MAY_PASS_KINDS


def counts(source: CheckedSource, *, unchecked_allowed: bool) -> bool:
    """Whether a source is evidence. One whose page was had and lacks the quotation never is."""
    return source.status == "found" or (unchecked_allowed and source.status in ("unavailable", "unchecked"))


def unsupported(sources: Sequence[CheckedSource], *, unchecked_allowed: bool) -> str | None:
    """Why a claim with these sources is refused; None if one of them counts, and none was quoted for what it lacks.

    Whoever invents one quotation has not earned belief in the next, so a true one beside it does not save the claim. A
    page that could not be had says nothing about whoever cites it.
    """
    lacking = [source for source in sources if source.status == "missing"]
    if not lacking and any(counts(source, unchecked_allowed=unchecked_allowed) for source in sources):
        return None
    return f"A source does not show what it is quoted for: {'; '.join(map(_said, lacking or sources))}."


def published(claim: ClaimPayload, sources: Sequence[CheckedSource], *, unchecked_allowed: bool) -> ClaimPayload:
    """The claim with those of its sources that count: readers are not shown a quotation that is not there.

    Each has the address of the page that was read, so that no redirect shows one site's name over another's words.
    """
    kept = tuple(
        source.model_copy(update={"url": checked.url})
        for source, checked in zip(claim.sources, sources, strict=True)
        if counts(checked, unchecked_allowed=unchecked_allowed)
    )
    return claim.model_copy(update={"sources": kept})


def _said(source: CheckedSource) -> str:
    match source.status:
        case "missing":
            few = source.reason == "too_short"
            return f"{source.url} {'is quoted with too few words' if few else 'does not contain the quoted words'}"
        case "unavailable":
            return f"{source.url} could not be had ({source.reason})"
        case _:
            return f"{source.url} was not looked up ({source.reason})"
