"""Sites, models, times, numbers and outcomes, in words. Unknown values are shown as they are."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime
from typing import Final, Literal

from analyses.gates import MEANINGS, REASONS
from platforms import PLATFORMS
from services.gateway.public.site.pagination import weight
from services.gateway.record.rows import BackedText
from services.gateway.record.runs import GateOutcome

Backing = Literal["confirmed", "corroborated", "uncorroborated"]

CONFIRMATIONS: Final = {site.name: site.confirmation for site in PLATFORMS}
SITES: Final = {site.name: site.display_name for site in PLATFORMS}

CHECKED: Final = {
    "found": "Looked up: the quoted words are on the page, seen",
    "missing": "Looked up: the quoted words are not on the page, as it was",
    "unavailable": "Looked up: the page could not be read",
    "unchecked": "Not looked up",
}

PROVIDERS: Final = {"openai": "OpenAI", "anthropic": "Anthropic", "chat_completions": "a server of its operator"}


def platform_name(platform: str) -> str:
    """A site's name for readers."""
    return SITES.get(platform, platform.capitalize() if platform.isupper() else platform)


def backing(row: BackedText) -> Backing:
    """Who vouches for a text: its site, enough readers, or too few."""
    if row.server_verified_at is not None:
        return "confirmed"
    return "uncorroborated" if row.corroborated_at is None else "corroborated"


def describe_backing(row: BackedText, platform: str) -> str:
    """The backing as a phrase, the same in every place."""
    match backing(row):
        case "confirmed":
            return f"text {CONFIRMATIONS.get(platform) or f'confirmed by {platform_name(platform)}'}"
        case "corroborated":
            return "text reported by readers, corroborated"
    return "text reported by readers, not corroborated"


def describe_gate(outcome: GateOutcome) -> str:
    """The outcome of a gate that decides by code, in words; a code that this version does not know as it is."""
    if outcome.outcome == "PASS":
        return next((meaning for gate, meaning in MEANINGS.items() if gate == outcome.gate), outcome.gate)
    return REASONS.get(outcome.code, outcome.code or outcome.gate)


def post_name(title: str | None, author: str | None, platform: str) -> str:
    """The name of a post within a sentence: by its title, its author, or its site.

    `author` must be confirmed by the site.
    """
    if title:
        return f"“{title}”"
    return f"a post by {author}" if author else f"a post on {platform_name(platform)}"


def check_status(status: str) -> str:
    """The result of a source's check as a phrase."""
    return CHECKED.get(status, status)


def capitalise(text: str) -> str:
    """Capitalise the first letter."""
    return text[:1].upper() + text[1:]


def is_demo(provider: str | None) -> bool:
    """Whether the provider is the demonstration's catalogue."""
    return (provider or "").casefold() == "demo"


def model_name(provider: str, model: str, version: str | None = None) -> str:
    """The model with version and provider."""
    named = f"{model} ({version})" if version and version != model else model
    return f"{named}, {PROVIDERS.get(provider.casefold(), provider)}"


def day(moment: datetime) -> str:
    """Format a date: 5 Jan 2026."""
    moment = moment.astimezone(UTC)
    return f"{moment.day} {moment:%b %Y}"


def clock_time(moment: datetime) -> str:
    """Format a time to the second, in UTC."""
    return f"{day(moment)}, {moment.astimezone(UTC):%H:%M:%S} UTC"


def machine_time(moment: datetime) -> str:
    """Format a time for machines, in UTC with milliseconds."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def number(value: float) -> str:
    """Format a number with separators of thousands."""
    return f"{value:,.0f}"


def percent(share: float | None) -> str:
    """Format a share in percent; a dash for None."""
    if share is None:
        return "–"
    return f"{share * 100:.1f} %" if 0 < share < 0.1 else f"{share * 100:.0f} %"


def duration(seconds: float | None) -> str:
    """Format a duration."""
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
    """Format an amount in US dollars."""
    if micro_usd is None:
        return "–"
    usd = micro_usd / 1e6
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}".rstrip("0").rstrip(".") if usd else "$0"


def count(value: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{number(value)} {one if value == 1 else many or one + 's'}"


def excerpt(text: str, limit: int) -> str:
    """Cut a text between words, at `limit` characters or twice as many bytes of HTML."""
    if len(text) <= limit and weight(text) <= 2 * limit:
        return text
    cut = text[: bisect_right(range(limit), 2 * limit, hi=limit, key=lambda end: weight(text[:end])) - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[limit // 2 :] else cut) + "…"
