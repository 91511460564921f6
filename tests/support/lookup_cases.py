"""The cases of tests/cases/lookup.json: `python -m tests.support.lookup_cases` writes them.

The extension asks for buckets by the names that this code gives them, and reads what this code writes, so both read the
same file.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, TypedDict
from uuid import UUID

from contracts.lookup.buckets import bucket_of, clear_mark, find_bits, format_prefix, layout_name, post_key
from contracts.lookup.documents import Bucket, Change, Layout, Post, Retractions, Version, encode
from contracts.lookup.framing import frame
from tests.support.decision_cases import INVESTIGATION, make_cases
from tlog.proof import Proof

FILE: Final = Path(__file__).parents[1] / "cases" / "lookup.json"
FINDINGS: Final = (0, 16, 17, 32, 33, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
SIZES: Final = (0, 1, 5, 8, 13, 16)
POSTS: Final = (("WIKIPEDIA", "en:736"), ("X", "1700000000000000000"), ("LESSWRONG", "äöü|x"))
CONTENT: Final = "ab" * 32


class Key(TypedDict):
    """A post with its key, and the prefix by layout."""

    platform: str
    external_id: str
    key: str
    prefixes: dict[str, str]
    clear: str


class Body(TypedDict):
    """A document, the compressed bytes of a body in base64, and how many bytes the padded body has."""

    document: str
    packed: str
    size: int


class Cases(TypedDict):
    """All cases. Shapes: `bits` by the number of posts with findings; the mark `clear` is of the text `content`."""

    content: str
    bits: dict[str, int]
    keys: list[Key]
    layout: str
    bucket: Body
    empty: Body
    retractions: Body


def example_bucket() -> Bucket:
    """A bucket with one post, whose proof is that of tests/cases/decisions.json."""
    proof = b64decode(make_cases()["cases"][0]["proof"])
    key = post_key(*POSTS[0])
    version = Version(
        content_hash=CONTENT, revisions=("1186",), investigation=UUID(INVESTIGATION), proof=proof.decode()
    )
    return Bucket(
        checkpoint=bytes(Proof.parse(proof).note).decode(),
        posts=(Post(key=key.hex(), versions=(version,)),),
        clear=(clear_mark(post_key(*POSTS[1]), CONTENT),),
    )


def example_retractions() -> Retractions:
    """A day on which one finding was suspended."""
    at = datetime(2026, 11, 25, 8, 30, tzinfo=UTC)
    change = Change(id=UUID("5b1f6a52-9d7c-5b8e-8d2b-6a1f0c7e4a11"), state="SUSPENDED", cause="OPERATOR", at=at)
    return Retractions(day=at.date(), claims=(change,))


def make_lookups() -> Cases:
    """The same on every machine, but for the compressed bytes."""
    keys = [(platform, external_id, post_key(platform, external_id)) for platform, external_id in POSTS]
    return Cases(
        content=CONTENT,
        bits={str(posts): find_bits(posts) for posts in FINDINGS},
        keys=[
            Key(
                platform=platform,
                external_id=external_id,
                key=key.hex(),
                prefixes={layout_name(bits): format_prefix(bucket_of(key, bits), bits) for bits in SIZES},
                clear=clear_mark(key, CONTENT),
            )
            for platform, external_id, key in keys
        ],
        layout=encode(
            Layout(layout="b6", bits=6, paused=False, first_day=date(2026, 11, 1)),
        ).decode(),
        bucket=_body(encode(example_bucket())),
        empty=_body(encode(Bucket(checkpoint=example_bucket().checkpoint))),
        retractions=_body(encode(example_retractions())),
    )


def _body(document: bytes) -> Body:
    body = frame(document)
    packed = body[4 : 4 + int.from_bytes(body[:4])]
    return Body(document=document.decode(), packed=b64encode(packed).decode(), size=len(body))


if __name__ == "__main__":
    FILE.write_text(json.dumps(make_lookups(), indent=2, ensure_ascii=False) + "\n")
