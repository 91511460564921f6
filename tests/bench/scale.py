"""How much of each part a number of readers needs, calculated from what a page costs. Nothing here measures.

`make bench ARGS=day` measures the costs, predicts a day of readers from them and compares the day with the prediction.
`docs/scale.md` holds the tables that `python -m tests.bench.scale` prints from the costs below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import Final, Literal

Part = Literal["gateway", "services", "nats", "postgres", "seaweedfs"]
PARTS: Final[tuple[Part, ...]] = ("gateway", "services", "nats", "postgres", "seaweedfs")
Place = Literal["facts", "log", "tables"]
PLACES: Final[tuple[Place, ...]] = ("facts", "log", "tables")
BYTES: Final[tuple[Place, ...]] = ("log", "tables")
Work = Literal["known page", "new post", "investigation"]
WORKS: Final[tuple[Work, ...]] = ("known page", "new post", "investigation")
DAY_S: Final = 86_400


@dataclass(frozen=True)
class Use:
    """What something takes of each part. Units: CPU milliseconds; what stays in facts, and in bytes."""

    cpu_ms: Mapping[Part, float] = field(default_factory=dict)
    stored: Mapping[Place, float] = field(default_factory=dict)

    def times(self, number: float) -> Use:
        """This use, `number` times."""
        return Use(
            {part: number * ms for part, ms in self.cpu_ms.items()},
            {place: number * size for place, size in self.stored.items()},
        )

    def plus(self, other: Use) -> Use:
        """The sum of both."""
        return Use(
            {part: self.cpu_ms.get(part, 0.0) + other.cpu_ms.get(part, 0.0) for part in PARTS},
            {place: self.stored.get(place, 0.0) + other.stored.get(place, 0.0) for place in PLACES},
        )


@dataclass(frozen=True)
class Costs:
    """What each kind of work takes, and a second in which nobody reads."""

    work: Mapping[Work, Use]
    idle_second: Use


@dataclass(frozen=True)
class Day:
    """Pages as readers open them. `posts` names the post of each; `investigated` posts have an investigation."""

    posts: tuple[int, ...]
    investigated: tuple[int, ...]

    def count(self) -> Mapping[Work, int]:
        """How often each kind of work is done: the first reader of a post is the one who makes it known."""
        new = len(set(self.posts))
        return {"known page": len(self.posts) - new, "new post": new, "investigation": len(self.investigated)}


def predict(work: Mapping[Work, float], seconds: float, costs: Costs) -> Use:
    """What this work takes within this many seconds."""
    total = costs.idle_second.times(seconds)
    for kind, number in work.items():
        total = total.plus(costs.work[kind].times(number))
    return total


def draw_day(pages: int, posts: int, investigations: int, seed: int) -> Day:
    """Pages by readers whose interest in a post falls with its rank, as it does on all of the sites (Zipf's law)."""
    chance = Random(seed)
    weights = list(accumulate(1 / rank for rank in range(1, posts + 1)))
    opened = tuple(chance.choices(range(posts), cum_weights=weights, k=pages))
    return Day(opened, tuple(chance.sample(sorted(set(opened)), investigations)))


NEW_SHARE: Final = 0.04
"""The share of pages whose post no one has opened before."""
INVESTIGATED_SHARE: Final = 0.01
"""The share of new posts that are investigated. It is a matter of money: see `docs/operations/tasks.md`, budgets."""

COSTS: Final = Costs(
    {
        "known page": Use(
            {"gateway": 1.38, "services": 0.89, "nats": 0.59, "postgres": 0.35, "seaweedfs": 0.0},
            {"facts": 2, "log": 3_074, "tables": 2_952},
        ),
        "new post": Use(
            {"gateway": 1.32, "services": 0.83, "nats": 0.58, "postgres": 0.49, "seaweedfs": 0.01},
            {"facts": 2, "log": 4_013, "tables": 6_980},
        ),
        "investigation": Use(
            {"gateway": 1.41, "services": 8.53, "nats": 6.08, "postgres": 1.96, "seaweedfs": 0.12},
            {"facts": 13, "log": 27_369, "tables": 37_820},
        ),
    },
    Use({"gateway": 4.0, "services": 14.0, "nats": 12.0, "postgres": 2.0, "seaweedfs": 2.0}),
)
"""Measured by `make bench ARGS=day` on two quiet cores, 2026-11-26."""

RATES: Final = (1, 100, 10_000)
"""Pages a second that are compared."""
CORE_USD: Final = 20.0
"""A core a month, of a server that is rented for longer."""
GB_USD: Final = 0.10
"""A gigabyte of durable storage a month."""
BUSY: Final = 0.5
"""The share of a core that is used on average: the evening has twice the mean of the day."""
KEPT_DAYS: Final = 365


def count_work(pages: float) -> Mapping[Work, float]:
    """The work that this many pages lead to."""
    new = pages * NEW_SHARE
    return {"known page": pages - new, "new post": new, "investigation": new * INVESTIGATED_SHARE}


def count_cores(pages_a_second: float) -> Mapping[Part, float]:
    """Cores that each part keeps busy."""
    return {part: ms / 1e3 for part, ms in predict(count_work(pages_a_second), 1.0, COSTS).cpu_ms.items()}


def table(rates: tuple[int, ...] = RATES) -> str:
    """What pages a second need, as Markdown."""
    lines = [
        f"| | {' | '.join(f'{rate:,} pages/s' for rate in rates)} |",
        f"|---|{'---|' * len(rates)}",
    ]
    uses = [predict(count_work(rate * DAY_S), DAY_S, COSTS) for rate in rates]
    cores = [count_cores(rate) for rate in rates]
    lines += [f"| cores of {part} | {' | '.join(_short(each[part]) for each in cores)} |" for part in PARTS]
    lines.append(f"| facts a second | {' | '.join(_short(use.stored['facts'] / DAY_S) for use in uses)} |")
    lines += [
        f"| {place}, GB a day | {' | '.join(_short(use.stored[place] / 1e9) for use in uses)} |" for place in BYTES
    ]
    costs = [
        sum(need.values()) / BUSY * CORE_USD + sum(use.stored[place] for place in BYTES) / 1e9 * KEPT_DAYS * GB_USD
        for need, use in zip(cores, uses, strict=True)
    ]
    lines.append(f"| US$ a month, without models | {' | '.join(f'{cost:,.0f}' for cost in costs)} |")
    runs = [count_work(rate * DAY_S)["investigation"] for rate in rates]
    lines.append(f"| investigations a day | {' | '.join(f'{number:,.0f}' for number in runs)} |")
    return "\n".join(lines)


def costs_table() -> str:
    """What each kind of work takes, as Markdown."""
    kinds: list[tuple[str, Use]] = [(kind, COSTS.work[kind]) for kind in WORKS]
    kinds.append(("a second without readers", COSTS.idle_second))
    lines = [
        f"| CPU ms of | {' | '.join(PARTS)} | facts | log, bytes | tables, bytes |",
        f"|---|{'---|' * (len(PARTS) + len(PLACES))}",
    ]
    for kind, use in kinds:
        cpu = " | ".join(f"{use.cpu_ms.get(part, 0.0):.2f}" for part in PARTS)
        stored = " | ".join(_short(use.stored.get(place, 0.0)) for place in PLACES)
        lines.append(f"| {kind} | {cpu} | {stored} |")
    return "\n".join(lines)


def _short(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.1f}" if figure >= 10 else f"{figure:.2f}"


if __name__ == "__main__":
    print(f"{costs_table()}\n\n{table()}")
