"""How many runs may be taken now, and which runs are lost. Values in, values out.

A budget in money is kept although a run's price is known only afterwards: what is under way is counted as if it cost
what runs usually cost, and unknown prices stop the selection, because a limit that counts them as nothing is none.
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

Why = Literal["most viewed", "lost"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One version of a post that the instance has not tried, with its capped view score.

    `round` and `follows` are 1 and 0, except after nothing but failures of runs that readers paid for.
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
class Suspect:
    """An investigation that should have ended or moved on by now."""

    investigation_id: UUID
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Pick:
    """What is to be asked for, and why."""

    candidate: Candidate
    request: InvestigationRequested
    why: Why


def turns(lost: Sequence[Pick], new: Sequence[Pick], runs: int, last: Why | None) -> tuple[Pick, ...]:
    """So many of both lists by turns, beginning with the one that `last` was not of.

    Neither is passed over twice running while it waits, from one round to the next as well, however few each allows.
    """
    first, second = (new, lost) if last == "lost" else (lost, new)
    alternating = chain.from_iterable(zip_longest(first, second))
    return tuple(islice((pick for pick in alternating if pick is not None), runs))


def shared(wanted: Sequence[Candidate], taken: Mapping[str, int], runs: int) -> tuple[Candidate, ...]:
    """So many of the candidates, each time from the platform with the fewest runs of the day, else the most wanted.

    So no platform spends the day's budget while another has posts to look at, and a platform without any leaves its
    share to the others.
    Shapes: `wanted` is in the order of its platform each, and so is the result; `taken` are the day's runs by platform.
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
class Hopeless:
    """A run that is given up, and the fact that ends it."""

    candidate: Candidate
    event: InvestigationFailed


@dataclass(frozen=True, slots=True)
class Budget:
    """What the selector may spend in one UTC day. Units: millionths of a US dollar; None: no such limit."""

    runs: int
    micro_usd: int | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What it has spent today. `typical_micro_usd` is a run's usual cost, None if none is known; `unpriced` steps have
    used a model whose price nobody knows; `under_way` runs of the last two days have not ended. `by_platform` counts
    today's runs."""

    runs: int = 0
    under_way: int = 0
    micro_usd: int = 0
    unpriced: int = 0
    typical_micro_usd: int | None = None
    by_platform: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many runs may be taken now; `limit` says what keeps it from being more."""

    runs: int
    limit: str


def allowance(budget: Budget, spent: Spent, batch: int) -> Allowance:
    """Runs that may be taken in this round."""
    by_runs = Allowance(max(0, budget.runs - spent.runs), f"{budget.runs} run{'' if budget.runs == 1 else 's'} a day")
    by_money = _affordable(budget.micro_usd, spent, batch) if budget.micro_usd is not None else by_runs
    return min(Allowance(batch, f"{batch} in one round"), by_money, by_runs, key=lambda each: each.runs)


def _affordable(budget_micro_usd: int, spent: Spent, batch: int) -> Allowance:
    said = f"{dollars(budget_micro_usd)} a day"
    if spent.unpriced:
        return Allowance(0, f"{said}, but the model's price is not known; see OPENERRATA_MODEL_PRICES")
    if spent.micro_usd >= budget_micro_usd:
        return Allowance(0, said)
    usual = spent.typical_micro_usd
    if usual is None:
        return Allowance(0 if spent.under_way else 1, f"{said}, and the cost of a first run is to be seen")
    left = budget_micro_usd - spent.micro_usd - spent.under_way * usual
    return Allowance(batch if usual == 0 else max(0, left // usual), f"{said}, at {dollars(usual)} a run")


def dollars(micro_usd: int) -> str:
    """An amount for people."""
    return f"${micro_usd / 1_000_000:.2f}"


def request(candidate: Candidate, analysis: str) -> InvestigationRequested:
    """The fact that asks for a candidate's investigation."""
    return InvestigationRequested(
        follows=candidate.follows,
        investigation_id=investigation_id(candidate.version_id, analysis),
        version_id=candidate.version_id,
        post_id=candidate.post_id,
        analysis=analysis,
        requested_by="SELECTOR",
        round=candidate.round,
    )


def midnight(now: datetime) -> datetime:
    """When the day began that `now` is in; budgets are those of UTC days."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)
