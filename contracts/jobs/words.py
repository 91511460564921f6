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
    """The request that an account sent, with either `url` or `text`.

    `job_id` makes the bytes of equal requests differ: texts are stored under their hash, and removing one job's must
    not remove another's.
    """

    job_id: UUID | None = None
    url: str | None = None
    text: str | None = None
    request_id: str | None = None
    source_label: str | None = None
    webhook_url: str | None = None


class ArticleWords(Value):
    """The article, and its page's metadata; read from `RequestWords` if the article was sent as text."""

    text: str
    title: str | None = None
    address: str | None = None
    author: str | None = None
    publisher: str | None = None
    published: date | None = None


class ExtractionWords(Document):
    """The result of stage 1.

    Shapes: `queries` are a model's search queries, a tuple for each claim that is kept; `answer` is the model's answer,
    as JSON.
    """

    extraction: ClaimExtraction
    queries: tuple[tuple[str, ...], ...]
    answer: str


class ClaimWords(Value):
    """A claim as it is analysed. `reference_day` is the day that "yesterday" in it counts back from."""

    text: str
    canonical: str
    reference_day: date


class FlagWords(Value):
    """An objection as it was sent, to quotes from an address or to a claim's analyses."""

    url: str | None = None
    claim_hash: str | None = None
    reason: str
    contact: str

    def write(self) -> str:
        """The text that moderators read."""
        return f"{self.reason}\n\nAbout: {self.url or self.claim_hash}\nContact: {self.contact}"


class EntryWords(Value):
    """All words of an entry. `entry_id` makes the bytes differ between entries."""

    entry_id: UUID
    wording: str
    domain: str
    summary: str | None = None


class Suggestion(NamedTuple):
    """Suggested evidence, stored as the remark of a flag that both people and `read` can read."""

    supports: bool
    source_url: str
    text: str

    @classmethod
    def read(cls, remark: str) -> Suggestion | None:
        """Parse a remark that `write` made; None if it is another one."""
        head, _, text = remark.partition("\n")
        direction, _, url = head.partition(": ")
        return cls(direction == _FOR, url, text) if direction in (_FOR, _AGAINST) and text else None

    def write(self) -> str:
        """The remark."""
        return f"{_FOR if self.supports else _AGAINST}: {self.source_url}\n{self.text}"


class Submission(NamedTuple):
    """A claim submitted for the catalogue, stored as the remark of a flag that both people and `read` can read."""

    assertion_id: UUID
    domain: str
    wording: str

    @classmethod
    def read(cls, remark: str) -> Submission:
        """Parse a remark that `write` made. Raises: ValueError: it is another one."""
        head, _, wording = remark.partition("\n")
        assertion, _, domain = head.partition(" ")
        return cls(UUID(assertion), domain, wording)

    def write(self) -> str:
        """The remark."""
        return f"{self.assertion_id} {self.domain}\n{self.wording}"


class Remark(Value):
    """The reason of an edit, or of raising or resolving a flag. `about` is its id, so that no two share a text."""

    about: UUID
    text: str
