"""The gateway's pure decisions: accepted versions and keys, rights, viewer hashes, retries of failed runs.

The hashes are stored in events: if their formula changed, one viewer would count as two.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from typing import Final, Literal
from uuid import UUID

from contracts.accounts import VERBS, Right, Role, Tier, Verb
from contracts.rpc.observation import ObservedImage

MINIMUM_EXTENSION_VERSION: Final = "0.2.0"
WORD_LIMIT: Final = 10_000

_SEGMENT: Final = re.compile(r"[0-9]+")
_USER_KEY: Final = re.compile(r"sk-[A-Za-z0-9_-]{20,}")
_WITH_PORT: Final = re.compile(r"([0-9.]+):[0-9]+|\[([0-9A-Fa-f:.]+)\](?::[0-9]+)?")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

GateVerdict = Literal["ok", "outdated", "malformed"]
Version = tuple[int, int, int, int]


def parse_version(text: str) -> Version | None:
    """Parse an extension's version: 1 to 4 numbers up to 65535; None if it is anything else."""
    parts = text.split(".")
    if len(parts) > 4 or not all(_SEGMENT.fullmatch(part) and len(part.lstrip("0")) <= 5 for part in parts):
        return None
    first, second, third, fourth = (*(int(part.lstrip("0") or "0") for part in parts), *(0,) * (4 - len(parts)))
    return (first, second, third, fourth) if max(first, second, third, fourth) <= 65_535 else None


_MINIMUM: Final = parse_version(MINIMUM_EXTENSION_VERSION)
_OPTIONAL_FIELDS_SINCE: Final = (1, 0, 0, 0)
"""Earlier extensions reject an answer with an unknown field."""


def check_version(version_header: str) -> GateVerdict:
    """Check the extension's version; a blank header is a missing one. Source: docs/protocol.md 1.6."""
    version = parse_version(version_header) if version_header else None
    if version_header and version is None:
        return "malformed"
    return "ok" if version is not None and _MINIMUM is not None and version >= _MINIMUM else "outdated"


def supports_optional_fields(version_header: str) -> bool:
    """Whether this extension accepts the optional fields of answers."""
    return (parse_version(version_header) or (0, 0, 0, 0)) >= _OPTIONAL_FIELDS_SINCE


def parse_id(text: str) -> UUID | None:
    """Parse an id; None if it is malformed."""
    return UUID(text) if _UUID.fullmatch(text) else None


def parse_number(text: str, digits: int) -> int | None:
    """Parse a whole number of at most `digits` digits; None if `text` is anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def write_base64(data: bytes) -> str:
    """Encode bytes as URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def read_base64(text: str) -> bytes:
    """Decode the output of `write_base64`. Raises: ValueError: `text` is not URL-safe base64."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def is_well_formed_user_key(text: str) -> bool:
    """Whether `text` has the form of a provider's API key; only such a key may pay for a run."""
    return _USER_KEY.fullmatch(text) is not None


def key_hash(api_key: str) -> str:
    """The stored hash of an instance key. Source: docs/protocol.md 4."""
    return sha256(api_key.encode()).hexdigest()


def derive_viewer_key(instance_key_hash: str | None, address: str, user_agent: str) -> str:
    """The viewer's hash: of the instance key, otherwise of address and browser. Source: docs/protocol.md 4.

    Not cached: a User-Agent may be 400 KB long, and the cache would keep each as a key.
    """
    who = f"anon:{address}:{user_agent}" if instance_key_hash is None else f"apikey:{instance_key_hash}"
    return sha256(who.encode()).hexdigest()


RANGES: Final = 10_000
"""How many hashes are cached."""


@lru_cache(RANGES)
def derive_ip_range_key(prefix: str) -> str:
    """The hash of an address range. Source: docs/protocol.md 4."""
    return sha256(f"iprange:{prefix}".encode()).hexdigest()


def resolve_client_address(peer: str, forwarded_for: str, trusted_proxies: int) -> str:
    """The reader's address: the socket's, or the one that the outermost of our own proxies saw.

    Entries further left in `forwarded_for` were written by the client and are not trusted; a request with fewer entries
    did not pass all our proxies. A port, which some proxies add, is removed: every connection has another one.
    """
    if trusted_proxies == 0:
        return peer
    hops = [hop.strip() for hop in forwarded_for.split(",") if hop.strip()]
    if len(hops) < trusted_proxies:
        return peer
    seen = hops[-trusted_proxies]
    with_port = _WITH_PORT.fullmatch(seen)
    return seen if with_port is None else with_port[1] or with_port[2]


def find_occurrence_fault(occurrences: Sequence[ObservedImage], text_length: int | None) -> str | None:
    """The first fault in an observation's pictures, or None.

    Units: `text_length` is in UTF-16 units of the reader's own normalised text, None if it is not known yet. Whether
    the pictures fit the site's text is not checked here.
    """
    previous = 0
    for expected, occurrence in enumerate(sorted(occurrences, key=lambda each: each.original_index)):
        if occurrence.original_index != expected:
            return "image indices must be 0, 1, 2, …"
        if occurrence.normalized_text_offset < previous:
            return "image offsets must not decrease"
        previous = occurrence.normalized_text_offset
    if text_length is not None and previous > text_length:
        return "an image lies beyond the end of the text"
    return None


@dataclass(frozen=True, slots=True)
class Account:
    """An open account. Units: `agreed_credit` is a month's credit in micro-dollars, None: its tier's."""

    account_id: UUID
    role: Role
    tier: Tier
    agreed_credit: int | None
    has_webhook_secret: bool


@dataclass(frozen=True, slots=True)
class Principal:
    """Who uses the job API: an open account, by one of its active keys with these rights."""

    account: Account
    rights: frozenset[Right]

    def may(self, verb: Verb) -> bool:
        """Whether the account's role includes this verb."""
        return verb in VERBS[self.account.role]


@dataclass(frozen=True, slots=True)
class InstanceKey:
    """An active instance key: what it may be used for, and the open account that it belongs to, if any."""

    rights: frozenset[Right]
    account: Account | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A run's failure, and the retries before it.

    `requested_sequence` is the sequence of the run's last request, if known. `retries` counts the retries of the last
    24 hours, except those whose reader's key could not be used; `own_retries` only those that the instance paid for.
    `of_a_reader`: a reader's key was to pay for the last run; `of_the_key`: that key was the cause of the failure.
    """

    failed_at: datetime | None
    round: int
    requested_sequence: int | None
    retries: int = 0
    own_retries: int = 0
    of_a_reader: bool = False
    of_the_key: bool = False


@dataclass(frozen=True, slots=True)
class RetryRules:
    """How soon after a failure, and how often within 24 hours, a run may be requested again."""

    cool_down: timedelta = timedelta(minutes=10)
    per_day: int = 3


@dataclass(frozen=True, slots=True)
class Round:
    """One request for a run: its number, and the sequence of the request it must follow."""

    number: int
    follows: int


FIRST_ROUND: Final = Round(1, 0)


def next_round(failure: Failure, now: datetime, rules: RetryRules, *, own_key: bool) -> Round | None:
    """The round that may follow a failed one; None if it is too early, or the day's retries are used up.

    `own_key`: the reader would pay. A failure on a reader's account delays only requests with readers' keys: otherwise
    any reader could keep a post from being checked. A failure of the key itself delays no request.
    """
    if failure.failed_at is None or failure.requested_sequence is None:
        return None
    is_recent = now - failure.failed_at < rules.cool_down
    is_delayed = is_recent and not failure.of_the_key and (own_key or not failure.of_a_reader)
    if is_delayed or (failure.retries if own_key else failure.own_retries) >= rules.per_day:
        return None
    return Round(failure.round + 1, failure.requested_sequence)
