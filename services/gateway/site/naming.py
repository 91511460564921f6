"""What things are called on pages: sites, models, moments, numbers. Whatever is unknown keeps the name it came with."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from services.gateway.site.leaves import weight

PLATFORMS: Final = {"LESSWRONG": "LessWrong", "X": "X", "SUBSTACK": "Substack", "WIKIPEDIA": "Wikipedia"}

PROVIDERS: Final = {"openai": "OpenAI", "anthropic": "Anthropic", "chat_completions": "a server of its operator"}


def platform_name(platform: str) -> str:
    """A site as people know it."""
    return PLATFORMS.get(platform, platform.capitalize() if platform.isupper() else platform)


def post_name(row: Mapping[str, Any]) -> str:
    """A post in the middle of a sentence: by its title, its author, or its site. Shapes: the row has all three.

    An author whom only readers name is not named here: it would be our word.
    """
    if row["title"]:
        return f"“{row['title']}”"
    by_author = row["author_name"] and row["author_confirmed"]
    return f"a post by {row['author_name']}" if by_author else f"a post on {platform_name(row['platform'])}"


def capitalised(text: str) -> str:
    """The same at the beginning of a line."""
    return text[:1].upper() + text[1:]


def is_demo(provider: str | None) -> bool:
    """Whether the demonstration's catalogue answered, and no model."""
    return (provider or "").casefold() == "demo"


def model_name(provider: str, model: str, version: str | None = None) -> str:
    """Who answered, as exactly as it is known."""
    named = f"{model} ({version})" if version and version != model else model
    return f"{named}, {PROVIDERS.get(provider.casefold(), provider)}"


def day(moment: datetime) -> str:
    """A day as a reader says it: 5 Jan 2026."""
    moment = moment.astimezone(UTC)
    return f"{moment.day} {moment:%b %Y}"


def clock_time(moment: datetime) -> str:
    """A moment to the second, in UTC."""
    return f"{day(moment)}, {moment.astimezone(UTC):%H:%M:%S} UTC"


def machine_time(moment: datetime) -> str:
    """A moment as machines read it, in UTC with milliseconds."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def number(value: float) -> str:
    """Thousands apart."""
    return f"{value:,.0f}"


def percent(share: float | None) -> str:
    """A share as people say it; a dash where there is none."""
    if share is None:
        return "–"
    return f"{share * 100:.1f} %" if 0 < share < 0.1 else f"{share * 100:.0f} %"


def duration(seconds: float | None) -> str:
    """How long something took."""
    if seconds is None:
        return "–"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.0f} days"


def money(micro_usd: float | None) -> str:
    """US dollars."""
    if micro_usd is None:
        return "–"
    usd = micro_usd / 1e6
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}".rstrip("0").rstrip(".") if usd else "$0"


def count(value: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{number(value)} {one if value == 1 else many or one + 's'}"


def excerpt(text: str, limit: int) -> str:
    """The beginning of a text, cut between words, and sooner where its letters weigh more than two bytes each."""
    if len(text) <= limit and weight(text) <= 2 * limit:
        return text
    cut = text[: bisect_right(range(limit), 2 * limit, hi=limit, key=lambda end: weight(text[:end])) - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[limit // 2 :] else cut) + "…"
