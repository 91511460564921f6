"""One entry of the decision log: what was decided and when, and commitments to the words.

A leaf names nothing that could be guessed: no id, no address, no word, and no hash without a salt. The documents that
it commits to are stored beside it with their salts, and erased with the post; then the leaf still proves that there was
a decision, but a guess of its content cannot be confirmed. Source: rows TR-2, TR-4 and TR-19 of
docs/requirements/trust.md.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Final, Literal

import rfc8785
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from tlog.errors import MalformedError

Kind = Literal[
    "found",
    "nothing_found",
    "failed",
    "cancelled",
    "held",
    "hold_ended",
    "released",
    "suspended",
    "retracted",
    "appeal_opened",
    "appeal_decided",
    "review_sampled",
    "review_decided",
    "variant",
    "breaker",
    "control_committed",
    "control_opened",
    "log",
    "redacted",
    "erased",
]
"""What was decided. `redacted`: the documents of the leaves in `ref` were erased. `erased`: the event was erased before
it became a leaf."""

Commitment = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{43}$")]
Count = Annotated[int, Field(ge=0, lt=2**53)]
Gate = Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]
Code = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,39}$")]
LARGEST: Final = 60_000
"""The most bytes of a leaf."""
_SALT: Final = b"openerrata/salt/1|"
_OPENING: Final = b"openerrata/opening/1\n"


class LeafInvalid(MalformedError):
    """Not a leaf as this system writes it."""


class Leaf(BaseModel):
    """An entry; the names are short because every entry repeats them.

    Shapes: `k` is the kind, `a` the analysis, `n` how many findings, or where the log begins how many investigations
    with findings have no leaf, `g` how many candidates each gate refused, `c` commitments to documents, `ref` earlier
    leaves, by index, that this one is about, `why` a code. Units: `t` is milliseconds since 1970, when the log of
    events stored the fact; `h` milliseconds that a finding had to be held.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    v: Literal[1] = 1
    k: Kind
    t: Count
    a: Code | None = None
    n: Count | None = None
    h: Count | None = None
    g: dict[Gate, Count] = Field(default_factory=dict)
    c: Annotated[tuple[Commitment, ...], Field(max_length=1_000, strict=False)] = ()
    ref: Annotated[tuple[Count, ...], Field(max_length=2_000, strict=False)] = ()
    why: Code | None = None

    def encode(self) -> bytes:
        """Canonical JSON without empty fields. Source: RFC 8785."""
        fields = self.model_dump(exclude_none=True)
        return canonical({name: value for name, value in fields.items() if value not in ({}, ())})


@dataclass(frozen=True, slots=True)
class Opening:
    """The document and the salt of a leaf's `j`-th commitment, from 0."""

    j: int
    salt: bytes
    document: bytes

    @property
    def commitment(self) -> str:
        """The commitment, as it is in the leaf."""
        return commit(self.salt, self.document)


def canonical(value: Mapping[str, JsonValue] | JsonValue) -> bytes:
    """The canonical form of a JSON value. Source: RFC 8785."""
    return rfc8785.dumps(value)


def parse_leaf(data: bytes) -> Leaf:
    """The leaf of these bytes. Raises: LeafInvalid: they are not a leaf in canonical form."""
    if len(data) > LARGEST:
        raise LeafInvalid(f"{len(data)} bytes")
    try:
        leaf = Leaf.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise LeafInvalid(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if leaf.encode() != data:
        raise LeafInvalid("not in canonical form")
    return leaf


def find_leaf(data: bytes) -> Leaf | None:
    """The leaf of these bytes; None if they are not a leaf in canonical form."""
    try:
        return parse_leaf(data)
    except LeafInvalid:
        return None


def derive_salt(salt: str, j: int) -> bytes:
    """The salt of the `j`-th document, from the salt of its event in base64url."""
    return hmac.digest(urlsafe_b64decode(f"{salt}="), _SALT + str(j).encode(), sha256)


def commit(salt: bytes, document: bytes) -> str:
    """The commitment to a document, in base64url without padding."""
    return urlsafe_b64encode(sha256(_OPENING + salt + document).digest()).rstrip(b"=").decode()


def open_documents(salt: str, documents: Sequence[bytes]) -> tuple[Opening, ...]:
    """The openings of an event's documents."""
    return tuple(Opening(j, derive_salt(salt, j), document) for j, document in enumerate(documents))
