"""Search filters, and cursors into the results.

Results are ordered by `checked_at`, then id, both descending: a total order that never changes, so a page can begin
after any place in it and new results do not shift it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from services.gateway.domain import parse_number, read_base64, write_base64

TEXT_LIMIT: Final = 500

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TRIGRAM: Final = re.compile(r"[^\W_]{3}|[^\W_]{2}[\W_]|[\W_][^\W_]")
"""Three letters, or the end or the beginning of a word: trigrams of the index include the space around words."""
_SIGN: Final = re.compile(r"[^A-Za-z0-9 ]")
_COMMON: Final = re.compile(
    r"(?:(?:a|an|and|are|as|at|be|been|but|by|for|from|had|has|have|he|her|his|i|if|in|is|"
    r"it|its|not|of|on|or|our|she|so|than|that|the|their|them|then|they|this|to|was|we|"
    r"were|what|when|which|who|will|with|you|your)(?: |$))+",
    re.IGNORECASE,
)
_WILD: Final = re.compile(r"([\\%_])")
_NO_NEGATION: Final = re.compile(r'-{2,}|-(?![\w"])')


class BadQuestion(ValueError):
    """An invalid or too expensive query; the message is for the client."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of results, besides the search terms."""

    platform: str | None = None
    min_claims: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the order of results."""

    checked_at: datetime
    investigation_id: UUID

    def cursor(self) -> str:
        """Encode the place as a cursor. Units: microseconds since 1970, PostgreSQL's precision."""
        micros = (self.checked_at - _EPOCH) // timedelta(microseconds=1)
        return write_base64(f"{micros}.{self.investigation_id.hex}".encode())


@dataclass(frozen=True, slots=True)
class Hit:
    """One result."""

    investigation_id: UUID
    checked_at: datetime

    @property
    def place(self) -> Place:
        """The hit's place in the order of results."""
        return Place(self.checked_at, self.investigation_id)


def parse_cursor(cursor: str) -> Place:
    """Decode a cursor. Raises: BadQuestion."""
    try:
        micros, _, hexadecimal = _decode(cursor).partition(".")
        return Place(_EPOCH + timedelta(microseconds=int(micros)), UUID(hexadecimal))
    except (ValueError, OverflowError):
        raise BadQuestion("This cursor is not valid.") from None


def rank_cursor(rank: int) -> str:
    return write_base64(f"rank.{rank}".encode())


def parse_rank_cursor(cursor: str) -> int:
    """Decode the cursor of a rank: the number of results up to it. Raises: BadQuestion."""
    word, _, given = _decode(cursor).partition(".")
    rank = parse_number(given, 5)
    if word != "rank" or rank is None:
        raise BadQuestion("This cursor is not valid.")
    return rank


def normalise_words(text: str, limit: int | None = TEXT_LIMIT) -> str:
    """Normalise search terms: single spaces for any white space, including U+0001, as in the index.

    Raises: BadQuestion: empty, or longer than the limit.
    """
    words = " ".join(text.replace("\0", "\ufffd").replace("\1", " ").split())
    if not words:
        raise BadQuestion("The search has no words.")
    if limit is not None and len(words) > limit:
        raise BadQuestion(f"A search has at most {limit} characters.")
    return words


def has_trigram(text: str) -> bool:
    """Whether the trigram index can be used for this text."""
    return _TRIGRAM.search(text) is not None


def is_common(text: str) -> bool:
    """Whether every word occurs in most texts, so that the index is of little help."""
    return _COMMON.fullmatch(text) is not None


def has_sign(text: str) -> bool:
    """Whether the text has a character of the index of signs: any but ASCII letters, digits and space."""
    return _SIGN.search(text) is not None


def drop_dashes(text: str) -> str:
    """The text for `websearch_to_tsquery`, which fails on a few dozen dashes that negate nothing."""
    return _NO_NEGATION.sub(" ", text)


def like_pattern(text: str) -> str:
    """The LIKE pattern of texts that contain this one, with wildcards escaped."""
    return "%" + _WILD.sub(r"\\\1", text) + "%"


def _decode(cursor: str) -> str:
    try:
        return read_base64(cursor).decode()
    except ValueError:
        raise BadQuestion("This cursor is not valid.") from None
