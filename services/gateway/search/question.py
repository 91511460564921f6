"""What a search asks, and where in its answer a page begins.

Order is `checked_at`, then id, both descending: a total order that never changes, so a page can begin after any known
place in it. A place is not a count of rows: new results in front of it would shift those.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

TEXT_LIMIT: Final = 500
FACETED_CLAIMS: Final = 10
"""Up to so many findings, the index itself knows which documents have at least that number."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TRIGRAM: Final = re.compile(r"[^\W_]{3}")
_WILD: Final = re.compile(r"([\\%_])")


class BadQuestion(ValueError):
    """Nothing can be asked like this; the message is for whoever asked."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What results must be, whatever they say."""

    platform: str | None = None
    min_claims: int = 0

    @property
    def facets(self) -> list[str]:
        """The same as the index knows it; beyond FACETED_CLAIMS it needs help."""
        wanted = [] if self.platform is None else [f"platform:{self.platform}"]
        return wanted + ([f"claims:{min(self.min_claims, FACETED_CLAIMS)}"] if self.min_claims > 0 else [])


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the order of results."""

    checked_at: datetime
    investigation_id: UUID

    def cursor(self) -> str:
        """The place as clients hold it. Units: microseconds since 1970, exact as PostgreSQL has them."""
        micros = (self.checked_at - _EPOCH) // timedelta(microseconds=1)
        return _encode(f"{micros}.{self.investigation_id.hex}")


@dataclass(frozen=True, slots=True)
class Hit:
    """One result."""

    investigation_id: UUID
    checked_at: datetime

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(self.checked_at, self.investigation_id)


def place_at(cursor: str) -> Place:
    """Read a cursor. Raises: BadQuestion."""
    try:
        micros, _, hexadecimal = _decode(cursor).partition(".")
        return Place(_EPOCH + timedelta(microseconds=int(micros)), UUID(hexadecimal))
    except (ValueError, OverflowError):
        raise BadQuestion("This cursor is none of ours.") from None


def rank_cursor(rank: int) -> str:
    """The cursor of a place in a ranked answer."""
    return _encode(f"rank.{rank}")


def rank_at(cursor: str) -> int:
    """How many ranked results come before and at a cursor. Raises: BadQuestion."""
    word, _, rank = _decode(cursor).partition(".")
    if word != "rank" or not (rank.isascii() and rank.isdigit() and len(rank) < 6):
        raise BadQuestion("This cursor is none of ours.")
    return int(rank)


def sought(text: str, limit: int | None = TEXT_LIMIT) -> str:
    """The words as texts have them: one space where there is any white space; U+0001 is some, as it is to the index.

    Raises: BadQuestion: there are none, or more characters than the limit.
    """
    words = " ".join(text.replace("\0", "\ufffd").replace("\1", " ").split())
    if not words:
        raise BadQuestion("The words to look for are empty.")
    if limit is not None and len(words) > limit:
        raise BadQuestion(f"More than {limit} characters cannot be looked for.")
    return words


def has_trigram(lowered: str) -> bool:
    """Whether the index of trigrams can tell anything about this text."""
    return _TRIGRAM.search(lowered) is not None


def like(lowered: str) -> str:
    """A pattern for texts that contain this one, whose own signs mean themselves."""
    return "%" + _WILD.sub(r"\\\1", lowered) + "%"


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str) -> str:
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (ValueError, binascii.Error):
        raise BadQuestion("This cursor is none of ours.") from None
