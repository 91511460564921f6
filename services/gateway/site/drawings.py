"""Figures as the page shows them: each chart with the rows of the table that says the same."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from services.gateway.site.charts import Value, chart
from services.gateway.site.figures import DURATIONS_S, WEEKS, Counts, Figures
from services.gateway.site.naming import day, duration, money, number, percent, platform_name
from services.gateway.site.reads import A_WEEK


def drawn(known: Figures) -> dict[str, Any]:
    """What the template shows."""
    weeks = [(_short(monday), counts) for monday, counts in known.weeks]
    sites = [(platform_name(platform), counts) for platform, counts in known.platforms]
    classes = list(zip(_classes(), known.durations, strict=True))
    states = (("approved", known.approved), ("rejected", known.rejected), ("could not be judged", known.failed))
    return {
        "figures": known,
        "weeks": WEEKS,
        "incidence": chart(
            [
                Value(name, percent(counts.incidence), counts.incidence, named=n % 4 == 1)
                for n, (name, counts) in enumerate(weeks)
            ],
            as_percent=True,
        ),
        "posts": chart([_posts(name, counts, named=n % 4 == 1) for n, (name, counts) in enumerate(weeks)]),
        "week_rows": [
            (day(monday), number(counts.posts), number(counts.flagged), percent(counts.incidence))
            for monday, counts in known.weeks
        ],
        "platforms": chart([_posts(name, counts, named=True) for name, counts in sites]),
        "platform_rows": [
            (name, number(counts.posts), number(counts.flagged), percent(counts.incidence), number(counts.claims))
            for name, counts in sites
        ],
        "durations": chart(_plain(classes)),
        "duration_rows": [(name, number(count)) for name, count in classes],
        "costs": chart(
            [
                Value(name, money(cost), None if cost is None else cost / 1e6, named=n % 4 == 1)
                for n, ((name, _), cost) in enumerate(zip(weeks, known.costs, strict=True))
            ],
            unit="$",
        ),
        "cost_rows": [(day(monday), money(cost)) for (monday, _), cost in zip(known.weeks, known.costs, strict=True)],
        "rejections": chart(
            [
                Value(name, percent(share), share, named=n % 4 == 1)
                for n, ((name, _), share) in enumerate(zip(weeks, known.rejected_shares, strict=True))
            ],
            as_percent=True,
        ),
        "rejection_rows": [
            (day(monday), percent(share)) for (monday, _), share in zip(known.weeks, known.rejected_shares, strict=True)
        ],
        "a_week": A_WEEK,
        "candidates": chart(_plain(states)),
        "candidate_rows": [(name, number(count)) for name, count in states],
    }


def _posts(name: str, counts: Counts, *, named: bool) -> Value:
    told = f"{number(counts.posts)} checked, {number(counts.flagged)} with an error"
    return Value(name, told, counts.posts, counts.flagged, named)


def _plain(counts: Iterable[tuple[str, int]]) -> list[Value]:
    return [Value(name, number(count), count, named=True) for name, count in counts]


def _classes() -> list[str]:
    return [*(duration(end) for end in DURATIONS_S), "longer"]


def _short(monday: datetime) -> str:
    return day(monday).rpartition(" ")[0]
