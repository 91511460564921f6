"""The words of a job as they are stored: the request, the article, a claim. They expire with the job."""

from __future__ import annotations

from datetime import date
from typing import Final, NamedTuple
from uuid import UUID

from contracts.jobs.extraction import ClaimExtraction
from contracts.jobs.values import Document
from contracts.v1.parts import Value

_FOR: Final = "For"
_AGAINST: Final = "Against"


class RequestWords(Value):
    """What an account sent. Exactly one of `url` and `text` is there.

    `job_id` makes the bytes differ between jobs: texts lie under their hash, and removing one job's must not remove
    those of another that sent the same.
    """

    job_id: UUID | None = None
    url: str | None = None
    text: str | None = None
    request_id: str | None = None
    source_label: str | None = None
    webhook_url: str | None = None


class ArticleWords(Value):
    """The article, and what its page says of itself; read from `RequestWords` where it was sent as text."""

    text: str
    title: str | None = None
    address: str | None = None
    author: str | None = None
    publisher: str | None = None
    published: date | None = None


class ExtractionWords(Document):
    """What stage 1 found.

    Shapes: `queries` are what a model would search for, a tuple for each claim that is kept; `answer` is what the model
    answered, as JSON.
    """

    extraction: ClaimExtraction
    queries: tuple[tuple[str, ...], ...]
    answer: str


class ClaimWords(Value):
    """A claim as it is analysed. `reference_day` is what "yesterday" in it refers to."""

    text: str
    canonical: str
    reference_day: date


class FlagWords(Value):
    """An objection as it was sent: to quotes from an address, or to a claim's analyses."""

    url: str | None = None
    claim_hash: str | None = None
    reason: str
    contact: str

    def write(self) -> str:
        """As moderators read it."""
        return f"{self.reason}\n\nAbout: {self.url or self.claim_hash}\nContact: {self.contact}"


class EntryWords(Value):
    """The words of an entry, in whole. `entry_id` makes the bytes differ between entries."""

    entry_id: UUID
    wording: str
    domain: str
    summary: str | None = None


class Suggestion(NamedTuple):
    """Evidence as the remark of a flag words it, for people and for `read`."""

    supports: bool
    source_url: str
    text: str

    @classmethod
    def read(cls, remark: str) -> Suggestion | None:
        """What `write` made; None: it is none."""
        head, _, text = remark.partition("\n")
        direction, _, url = head.partition(": ")
        return cls(direction == _FOR, url, text) if direction in (_FOR, _AGAINST) and text else None

    def write(self) -> str:
        """The remark."""
        return f"{_FOR if self.supports else _AGAINST}: {self.source_url}\n{self.text}"


class Submission(NamedTuple):
    """A claim that shall get a page, as the remark of a flag words it, for people and for `read`."""

    assertion_id: UUID
    domain: str
    wording: str

    @classmethod
    def read(cls, remark: str) -> Submission:
        """What `write` made. Raises: ValueError: it is none."""
        head, _, wording = remark.partition("\n")
        assertion, _, domain = head.partition(" ")
        return cls(UUID(assertion), domain, wording)

    def write(self) -> str:
        """The remark."""
        return f"{self.assertion_id} {self.domain}\n{self.wording}"


class Remark(Value):
    """Why an edit was made, a flag raised or resolved. `about` is its id, so that no two share a text."""

    about: UUID
    text: str
