"""Who vouches for a text, in the same words in every place."""

from __future__ import annotations

from typing import Literal

from services.gateway.public.site.naming import confirmation
from services.gateway.record.rows import BackedText

Backing = Literal["confirmed", "corroborated", "uncorroborated"]


def backing(row: BackedText) -> Backing:
    """Who vouches for the text: its site, enough readers, or too few."""
    if row.server_verified_at is not None:
        return "confirmed"
    return "uncorroborated" if row.corroborated_at is None else "corroborated"


def describe_backing(row: BackedText, platform: str) -> str:
    """The backing as a phrase."""
    match backing(row):
        case "confirmed":
            return f"text {confirmation(platform)}"
        case "corroborated":
            return "text reported by several readers"
    return "text reported by readers, not corroborated"
