"""Accounts of the job API: the permissions of roles, the rights of keys, and the terms of tiers.

People assign roles. A key has rights of its own: an account's role decides what its holder may do, the key's rights for
which of an instance's services it may be used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple, get_args

Role = Literal["reader", "contributor", "moderator", "admin"]
Verb = Literal["read", "flag", "submit", "edit", "decide", "hide", "publish", "score", "configure", "hear"]
"""`hear`: decide readers' appeals; the other verbs are about audits and the catalogue."""
Right = Literal["investigate", "corroborate", "audit"]
"""`investigate` at the instance's expense, `corroborate` texts by viewing them, `audit` articles by the job API."""
Tier = Literal["free", "pro", "enterprise"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)
RIGHTS: Final[tuple[Right, ...]] = get_args(Right)
WITHOUT_ACCOUNT: Final[tuple[Right, ...]] = ("investigate", "corroborate")
"""The rights of a key that belongs to no account."""

_READER: Final[frozenset[Verb]] = frozenset({"read", "flag"})
_CONTRIBUTOR: Final[frozenset[Verb]] = _READER | {"submit", "edit"}
_MODERATOR: Final[frozenset[Verb]] = _CONTRIBUTOR | {"decide", "hide", "publish", "score"}
VERBS: Final[Mapping[Role, frozenset[Verb]]] = {
    "reader": _READER,
    "contributor": _CONTRIBUTOR,
    "moderator": _MODERATOR,
    "admin": _MODERATOR | {"configure", "hear"},
}

_USERNAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class TierTerms(NamedTuple):
    """The terms of a tier. Units: `monthly_credit` in micro-dollars, None for unlimited.

    `is_hard`: an account without credit left is in cache-only mode; otherwise it goes on and is metered.
    """

    monthly_credit: int | None
    is_hard: bool
    open_jobs: int


TIERS: Final[Mapping[Tier, TierTerms]] = {
    "free": TierTerms(10_000_000, is_hard=True, open_jobs=5),
    "pro": TierTerms(50_000_000, is_hard=False, open_jobs=20),
    "enterprise": TierTerms(None, is_hard=False, open_jobs=20),
}


def is_username(text: str) -> bool:
    """Whether `text` is a valid name of an account: lower-case ASCII, so that no two names look alike."""
    return _USERNAME.fullmatch(text) is not None


def monthly_credit(tier: Tier, agreed: int | None) -> int | None:
    """An account's credit a month in micro-dollars: the agreed one, else its tier's; None: unlimited."""
    return TIERS[tier].monthly_credit if agreed is None else agreed


def credit_month(at: datetime) -> str:
    """The calendar month in UTC whose credit a job at this moment uses, as `2026-12`."""
    return f"{at.astimezone(UTC):%Y-%m}"


def next_reset(at: datetime) -> datetime:
    """When credit starts anew: 00:00 UTC on the first of the next month."""
    utc = at.astimezone(UTC)
    year, month = divmod(utc.year * 12 + utc.month, 12)
    return datetime(year, month + 1, 1, tzinfo=UTC)
