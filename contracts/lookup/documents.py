"""The documents of the private look-ups: the layout, a bucket, and the retractions of a day."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from contracts.lookup.buckets import MOST_BITS
from contracts.rpc.values import Wire
from contracts.v1.finding import FindingCause, FindingState
from contracts.v1.parts import Sha256

CLEAR_MOST: Final = 1_024
"""The most versions without findings in a bucket, which has the newest ones."""
_Mark = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
_Id = Annotated[UUID, Field(strict=False)]
_Day = Annotated[date, Field(strict=False)]
_Moment = Annotated[AwareDatetime, Field(strict=False)]


class Layout(Wire):
    """How posts are distributed over buckets now.

    Shapes: `paused`: a breaker stops all findings, so nothing in the buckets may be shown; `first_day` is the first day
    that may have retractions.
    """

    v: Literal[1] = 1
    layout: str
    bits: Annotated[int, Field(ge=0, le=MOST_BITS)]
    paused: bool
    first_day: _Day


class Version(Wire):
    """A version of a post with findings, and the proof of the decision.

    Shapes: `proof` is a `.tlog-proof` whose documents are enough to show the findings; it opens only those that are
    still published. `revisions` are the site's names for the version.
    """

    content_hash: Sha256
    revisions: Annotated[tuple[str, ...], Field(strict=False)] = ()
    investigation: _Id
    proof: str


class Post(Wire):
    """A post with findings."""

    key: Sha256
    versions: Annotated[tuple[Version, ...], Field(strict=False)]


class Bucket(Wire):
    """All posts of a bucket.

    Shapes: `checkpoint` is the note that all proofs refer to; `clear` are the marks of versions without findings.
    """

    v: Literal[1] = 1
    checkpoint: str
    posts: Annotated[tuple[Post, ...], Field(strict=False)] = ()
    clear: Annotated[tuple[_Mark, ...], Field(strict=False, max_length=CLEAR_MOST)] = ()


class Change(Wire):
    """The newest state of a published finding, and when on that day it changed to it."""

    id: _Id
    state: FindingState
    cause: FindingCause | None
    at: _Moment


class Retractions(Wire):
    """The findings whose last change of state was on this day in UTC."""

    v: Literal[1] = 1
    day: _Day
    claims: Annotated[tuple[Change, ...], Field(strict=False)] = ()


def encode(document: Layout | Bucket | Retractions) -> bytes:
    """The document as JSON."""
    return document.model_dump_json(by_alias=True).encode()
