"""The charts of the figures page, each with a table of the same values."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from services.gateway.public.site.charts import Value, layout_chart
from services.gateway.public.site.figures import DURATIONS_S, WEEKS, Counts, Figures
from services.gateway.public.site.naming import day, duration, money, number, percent, platform_name
from services.gateway.public.site.rendering import Values
from services.gateway.record.counts import A_WEEK


def draw_figures(figures: Figures) -> Values:
    """Values of the template."""
    weeks = [(_short(monday), counts) for monday, counts in figures.weeks]
    sites = [(platform_name(platform), counts) for platform, counts in figures.platforms]
    classes = list(zip(_classes(), figures.durations, strict=True))
    states = (("approved", figures.approved), ("rejected", figures.rejected), ("could not be judged", figures.failed))
    return {
        "figures": figures,
        "weeks": WEEKS,
        "incidence": layout_chart(
            [
                Value(name, percent(counts.incidence), counts.incidence, named=n % 4 == 1)
                for n, (name, counts) in enumerate(weeks)
            ],
            as_percent=True,
        ),
        "posts": layout_chart([_posts(name, counts, named=n % 4 == 1) for n, (name, counts) in enumerate(weeks)]),
        "week_rows": [
            (day(monday), number(counts.posts), number(counts.flagged), percent(counts.incidence))
            for monday, counts in figures.weeks
        ],
        "platforms": layout_chart([_posts(name, counts, named=True) for name, counts in sites]),
        "platform_rows": [
            (name, number(counts.posts), number(counts.flagged), percent(counts.incidence), number(counts.claims))
            for name, counts in sites
        ],
        "durations": layout_chart(_plain(classes)),
        "duration_rows": [(name, number(count)) for name, count in classes],
        "costs": layout_chart(
            [
                Value(name, money(cost), None if cost is None else cost / 1e6, named=n % 4 == 1)
                for n, ((name, _), cost) in enumerate(zip(weeks, figures.costs, strict=True))
            ],
            unit="$",
        ),
        "cost_rows": [
            (day(monday), money(cost)) for (monday, _), cost in zip(figures.weeks, figures.costs, strict=True)
        ],
        "rejections": layout_chart(
            [
                Value(name, percent(share), share, named=n % 4 == 1)
                for n, ((name, _), share) in enumerate(zip(weeks, figures.rejected_shares, strict=True))
            ],
            as_percent=True,
        ),
        "rejection_rows": [
            (day(monday), percent(share))
            for (monday, _), share in zip(figures.weeks, figures.rejected_shares, strict=True)
        ],
        "a_week": A_WEEK,
        "candidates": layout_chart(_plain(states)),
        "candidate_rows": [(name, number(count)) for name, count in states],
    }


def _posts(name: str, counts: Counts, *, named: bool) -> Value:
    caption = f"{number(counts.posts)} checked, {number(counts.flagged)} with an error"
    return Value(name, caption, counts.posts, counts.flagged, named)


def _plain(counts: Iterable[tuple[str, int]]) -> list[Value]:
    return [Value(name, number(count), count, named=True) for name, count in counts]


def _classes() -> list[str]:
    return [*(duration(end) for end in DURATIONS_S), "longer"]


def _short(monday: datetime) -> str:
    return day(monday).rpartition(" ")[0]
