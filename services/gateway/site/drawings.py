"""Figures as the page shows them: each chart with the rows of the table that says the same."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from services.gateway.site.charts import Value, chart
from services.gateway.site.figures import DURATIONS_S, WEEKS, Counts, Figures
from services.gateway.site.naming import day, duration, number, percent, platform_name


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
