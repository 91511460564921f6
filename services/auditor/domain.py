"""What the auditor works on: the article of a job, and runs with their ends. Pure."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final, Generic, Literal, TypeVar
from uuid import UUID

from analyses.claim_audit import ClaimAudit
from analyses.claims.analysis import ReadPage
from analyses.kinds import Step
from contracts.jobs.requests import TEXT_CHARACTERS
from contracts.jobs.words import ArticleWords
from contracts.v1 import RunFailed
from contracts.v1.run import RunEnd, StageModel

MaterialT = TypeVar("MaterialT")
AnswerT = TypeVar("AnswerT")
Tools = Mapping[str, Callable[[str], Awaitable[str]]]

CLAIM_AUDIT: Final = ClaimAudit()
LOG_LAG_S: Final = 0.2

Refusal = Literal["FETCH_FAILED", "NOT_PUBLIC", "UNSUPPORTED_CONTENT", "INPUT_EMPTY", "INPUT_TOO_LONG"]

MAX_WORDS: Final = 10_000
_NOT_PUBLIC: Final = frozenset(
    {"http_401", "http_402", "http_403", "blocked_address", "blocked_port", "credentials_in_url"}
)
_UNSUPPORTED: Final = frozenset({"unreadable", "too_large", "bad_encoding"})
_LANGUAGE: Final = re.compile(r"[a-zA-Z]{2}(?=$|[-_])")


class NoArticle(Exception):
    """There is nothing to audit. Shapes: `code` is the failure code of the job."""

    def __init__(self, code: Refusal) -> None:
        super().__init__(code)
        self.code: Refusal = code


@dataclass(frozen=True, slots=True)
class Article:
    """What is audited.

    Shapes: `reference_day` is the "today" of the article: the day it was published if its page says so, else the day
    the job was accepted. `language` is the one that its page states.
    """

    words: ArticleWords
    reference_day: date
    language: str | None = None


def take_text(text: str, accepted_at: datetime) -> Article:
    """The article that was sent as text. Raises: NoArticle."""
    return Article(ArticleWords(text=require_length(text)), accepted_at.astimezone(UTC).date())


def explain(reason: str) -> Refusal:
    """The job's code for why a page is unavailable."""
    if reason in _NOT_PUBLIC:
        return "NOT_PUBLIC"
    return "UNSUPPORTED_CONTENT" if reason in _UNSUPPORTED else "FETCH_FAILED"


def require_length(text: str) -> str:
    """Return the text if its length is allowed. Raises: NoArticle: it is empty or too long."""
    words = count_words(text)
    if not 1 <= words <= MAX_WORDS or len(text) > TEXT_CHARACTERS:
        raise NoArticle("INPUT_TOO_LONG" if words else "INPUT_EMPTY")
    return text


def count_words(text: str) -> int:
    """The number of words in a text, separated by white space."""
    return len(text.split())


def parse_day(stated: str | None, accepted_at: datetime) -> date | None:
    """The day, in UTC, that a page says it was published; None without one, or if it is more than a day ahead."""
    try:
        moment = datetime.fromisoformat(stated or "")
    except ValueError:
        return None
    try:
        day = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).date()
    except OverflowError:
        return None
    return day if day <= accepted_at.astimezone(UTC).date() + timedelta(days=1) else None


def parse_language(stated: str | None) -> str | None:
    """The primary language of a tag such as `en-GB`. Source: BCP 47.

    None for tags of three letters: `und` and `mul` name no language. The model states the language then.
    """
    found = _LANGUAGE.match(stated or "")
    return found[0].lower() if found else None


@dataclass(frozen=True, slots=True)
class QuotedPage:
    """A cited page as we read it. Shapes: `domain` is public; `title` and `published` are the page's own words."""

    read: ReadPage
    domain: str
    title: str | None
    published: str | None

    @property
    def url(self) -> str:
        """The page's address after redirects."""
        return self.read.source.url


@dataclass(frozen=True, slots=True)
class RunRequest(Generic[MaterialT, AnswerT]):
    """A run to carry out.

    Shapes: `subject_id` is the job or the assertion. `research` answers the step's tools; answers are stored below
    `folder`. Units: texts are kept until `until`; `call_micro_usd` is the most that one request may cost; `run_s` is
    the time limit of an attempt.
    """

    run_id: UUID
    subject_id: UUID
    step: Step[MaterialT, AnswerT]
    rules: str
    material: MaterialT
    model: StageModel
    until: datetime
    folder: str
    call_micro_usd: int
    run_s: float
    research: Tools = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answered(Generic[AnswerT]):
    """The step's answer, with the end of its run, which goes into the step's event.

    Shapes: `looked_up` are the addresses that the model searched, opened or fetched in all attempts of the run.
    """

    answer: AnswerT
    end: RunEnd
    looked_up: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AlreadyFailed:
    """The run failed for good on an earlier delivery."""

    end: RunFailed
