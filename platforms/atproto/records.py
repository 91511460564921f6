"""Posts proved by their author's repository, and the profile that says whether they may be shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from platforms.atproto.cbor import Value
from platforms.atproto.did import Identity
from platforms.atproto.proof import prove
from platforms.atproto.reasons import InvalidProof

POST: Final = "app.bsky.feed.post"
PROFILE: Final = "app.bsky.actor.profile"
PROFILE_KEY: Final = "self"
HIDDEN: Final = "!no-unauthenticated"
"""The label by which an author asks not to be shown to people without an account."""
MAX_TEXT_BYTES: Final = 3_000
_RECORD_KEY = re.compile("[A-Za-z0-9._:~-]{1,512}")


class ProvenPost(NamedTuple):
    """A post's text and exact version. Shapes: `cid` as text; `rev` is the repository's revision."""

    text: str
    created_at: str
    cid: str
    rev: str
    facets: Value = None


class ProvenProfile(NamedTuple):
    """The author's name, None if not stated, and whether the author asks not to be shown without an account."""

    display_name: str | None
    is_hidden: bool


def is_record_key(text: str) -> bool:
    """Whether a record can have this key."""
    return _RECORD_KEY.fullmatch(text) is not None and text not in (".", "..")


def prove_post(car: bytes, identity: Identity, key: str, now: datetime, newest_rev: str = "") -> ProvenPost | None:
    """The post under this key; None if the repository proves that there is none. Raises: InvalidProof."""
    rev, record = prove(car, identity, f"{POST}/{key}", now, newest_rev)
    if record is None:
        return None
    text, created_at = _read_post(record.fields)
    return ProvenPost(text, created_at, str(record.cid), rev, record.fields.get("facets"))


def prove_profile(car: bytes, identity: Identity, now: datetime, newest_rev: str = "") -> ProvenProfile:
    """The author's profile, which may be empty. Raises: InvalidProof: always as check `profile`."""
    try:
        record = prove(car, identity, f"{PROFILE}/{PROFILE_KEY}", now, newest_rev).record
    except InvalidProof as error:
        raise InvalidProof("profile", str(error)) from None
    if record is None:
        return ProvenProfile(None, is_hidden=False)
    if record.fields.get("$type") != PROFILE:
        raise InvalidProof("profile", "the record is no profile")
    name = record.fields.get("displayName")
    hidden = HIDDEN in _labels(record.fields.get("labels"))
    return ProvenProfile(name if isinstance(name, str) and name else None, hidden)


def _read_post(fields: Mapping[str, Value]) -> tuple[str, str]:
    """The post's text and date, as its record states them."""
    text, created_at = fields.get("text"), fields.get("createdAt")
    if fields.get("$type") != POST or not isinstance(text, str) or not isinstance(created_at, str) or not created_at:
        raise InvalidProof("content", "the record is no post with a text and a date")
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise InvalidProof("content", f"the post's text is longer than {MAX_TEXT_BYTES} bytes")
    return text, created_at


def _labels(labels: Value) -> list[Value]:
    """The author's self-labels. Labels that cannot be read are refused, as they may include `HIDDEN`."""
    match labels:
        case None:
            return []
        case {"values": list() as values} if all(isinstance(each, dict) and "val" in each for each in values):
            return [each["val"] for each in values if isinstance(each, dict)]
        case _:
            raise InvalidProof("profile", "the profile's labels cannot be read")
