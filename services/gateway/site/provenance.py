"""Who vouches for a text and for its author, in the words that every place with a finding uses.

Rows have `server_verified_at`, `corroborated_at`, `platform`, `author_name` and `author_confirmed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from services.gateway.site.naming import platform_name

Standing = Literal["confirmed", "corroborated", "uncorroborated"]


def standing(row: Mapping[str, Any]) -> Standing:
    """By whom the text is vouched for: its site, enough readers, or too few."""
    if row["server_verified_at"] is not None:
        return "confirmed"
    return "uncorroborated" if row["corroborated_at"] is None else "corroborated"


def is_listed(row: Mapping[str, Any]) -> bool:
    """Whether the text's findings stand in lists, feeds and figures."""
    return standing(row) != "uncorroborated"


def told(row: Mapping[str, Any]) -> str:
    """The same as a phrase."""
    match standing(row):
        case "confirmed":
            return f"text confirmed by {platform_name(row['platform'])}"
        case "corroborated":
            return "text reported by several readers"
    return "text reported by readers, not corroborated"


def named_author(row: Mapping[str, Any]) -> str | None:
    """The author where the site itself names one; what readers say of others must not be said in our name."""
    return row["author_name"] if row["author_confirmed"] else None
