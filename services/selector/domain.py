"""How many runs may be requested now, and of which posts. Pure.

The price of a run is known only afterwards: open runs count with the typical cost, and steps without a known price stop
the selection, since a limit that ignores them would not be one.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice, zip_longest
from typing import Literal
from uuid import UUID

from contracts.v1 import (
    InvestigationFailed,
    InvestigationRequested,
)
from contracts.v1.ids import investigation_id

Reason = Literal["most viewed", "lost"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version that the instance has not investigated, with its capped view score.

    `round` and `follows` are 1 and 0, unless all earlier runs were paid by readers and failed.
    """

    post_id: UUID
    version_id: UUID
    score: int
    correlation: UUID
    platform: str = ""
    url: str = ""
    words: int = 0
    round: int = 1
    follows: int = 0
    confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Overdue:
    """An investigation that should have ended or progressed by now."""

    investigation_id: UUID
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Pick:
    """A request to publish, and its reason."""

    candidate: Candidate
    request: InvestigationRequested
    why: Reason


def alternate(lost: Sequence[Pick], new: Sequence[Pick], runs: int, last: Reason | None) -> tuple[Pick, ...]:
    """At most `runs` picks of both lists in alternation, beginning with the list that `last` did not come from.

    So neither list is skipped twice in a row, across rounds too.
    """
    first, second = (new, lost) if last == "lost" else (lost, new)
    alternating = chain.from_iterable(zip_longest(first, second))
    return tuple(islice((pick for pick in alternating if pick is not None), runs))


def share_by_platform(wanted: Sequence[Candidate], taken: Mapping[str, int], runs: int) -> tuple[Candidate, ...]:
    """At most `runs` candidates, each from the platform with the fewest runs today, then the highest score.

    So no platform uses the whole budget while another has candidates.
    Shapes: `wanted` is ordered within each platform, and so is the result; `taken` are today's runs by platform.
    """
    waiting: dict[str, deque[Candidate]] = {}
    for candidate in wanted:
        waiting.setdefault(candidate.platform, deque()).append(candidate)
    counts = Counter(taken)
    chosen: list[Candidate] = []
    while waiting and len(chosen) < runs:
        platform = min(
            waiting, key=lambda name: (counts[name], not waiting[name][0].confirmed, -waiting[name][0].score)
        )
        chosen.append(waiting[platform].popleft())
        counts[platform] += 1
        if not waiting[platform]:
            del waiting[platform]
    return tuple(chosen)


@dataclass(frozen=True, slots=True)
class Abandoned:
    """A run that is given up, and the event that ends it."""

    candidate: Candidate
    event: InvestigationFailed


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of one UTC day. Units: millionths of a US dollar; None: no limit."""

    runs: int
    micro_usd: int | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """The selector's spending of today. Shapes: `typical_micro_usd` is the usual cost of a run, None if unknown;
    `unpriced` counts steps of models without a known price; `under_way` runs of the last two days have not ended;
    `by_platform` counts today's runs."""

    runs: int = 0
    under_way: int = 0
    micro_usd: int = 0
    unpriced: int = 0
    typical_micro_usd: int | None = None
    by_platform: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many runs may be requested now; `limit` names the limiting rule."""

    runs: int
    limit: str


def find_allowance(budget: Budget, spent: Spent, batch: int) -> Allowance:
    """The allowance of this round."""
    by_runs = Allowance(max(0, budget.runs - spent.runs), f"{budget.runs} run{'' if budget.runs == 1 else 's'} a day")
    by_money = _affordable(budget.micro_usd, spent, batch) if budget.micro_usd is not None else by_runs
    return min(Allowance(batch, f"{batch} in one round"), by_money, by_runs, key=lambda each: each.runs)


def _affordable(budget_micro_usd: int, spent: Spent, batch: int) -> Allowance:
    limit = f"{format_usd(budget_micro_usd)} a day"
    if spent.unpriced:
        return Allowance(0, f"{limit}, but the model's price is not known; see OPENERRATA_MODEL_PRICES")
    if spent.micro_usd >= budget_micro_usd:
        return Allowance(0, limit)
    usual = spent.typical_micro_usd
    if usual is None:
        return Allowance(0 if spent.under_way else 1, f"{limit}, and the cost of a run is not known yet")
    left = budget_micro_usd - spent.micro_usd - spent.under_way * usual
    return Allowance(batch if usual == 0 else max(0, left // usual), f"{limit}, at {format_usd(usual)} a run")


def format_usd(micro_usd: int) -> str:
    """Format an amount."""
    return f"${micro_usd / 1_000_000:.2f}"


def make_request(candidate: Candidate, analysis: str) -> InvestigationRequested:
    """The event that requests a candidate's investigation."""
    return InvestigationRequested(
        follows=candidate.follows,
        investigation_id=investigation_id(candidate.version_id, analysis),
        version_id=candidate.version_id,
        post_id=candidate.post_id,
        analysis=analysis,
        origin="ORIGINAL",
        requested_by="SELECTOR",
        round=candidate.round,
    )


def start_of_day(now: datetime) -> datetime:
    """The start of the UTC day of `now`."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)
