"""The case that the gates judge: one claim about a post, and the pages that it cites."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from typing import Final

from analyses.claims.families import SourcePage, find_domain, number_families
from analyses.claims.languages import LANGUAGES
from analyses.claims.volatility import Volatility, classify, more_volatile
from contracts.v1.gates import GatePolicy, GateResult
from contracts.v1.parts import ClaimPayload

COMPARED: Final = 100_000
"""How much of a page's text is compared with other pages. Units: characters."""


@dataclass(frozen=True, slots=True)
class CitedPage:
    """A source whose page has its quotation, or that may count without a check.

    Shapes: `number` is its place among the claim's sources, from 0; `text` is the page's folded text, empty if it was
    not read, and `words` is the quotation with the words around it. `published` is the date that the page states.
    `fetched_at` is None for a page that was not read.
    """

    number: int
    url: str
    snippet: str
    text: str = ""
    words: str | None = None
    canonical: str | None = None
    published: str | None = None
    fetched_at: datetime | None = None
    is_satire: bool = False
    names_us: bool = False

    @property
    def shown(self) -> str:
        """The quotation with the words around it, if they are known."""
        return self.words or self.snippet


@dataclass(frozen=True)
class Case:
    """A claim, the post that it is about, and the pages that are evidence."""

    claim: ClaimPayload
    post_url: str
    post_text: str
    author_name: str | None
    published_at: datetime | None
    pages: tuple[CitedPage, ...]
    policy: GatePolicy

    @cached_property
    def judged_at(self) -> datetime | None:
        """The time of the judgement: that of the newest fetch, and not a clock's, so that a replay decides alike."""
        return max((each.fetched_at for each in self.pages if each.fetched_at is not None), default=None)

    @cached_property
    def families(self) -> tuple[int, ...]:
        """The family of each page."""
        compared = [SourcePage(each.url, each.canonical, each.text[:COMPARED]) for each in self.pages]
        return number_families(compared) if len(compared) > 1 else (1,) * len(compared)

    def leave_out(self, dropped: Collection[CitedPage], code: str) -> Ruling:
        """Drop pages; refuse with this code if too few independent ones are left."""
        if not dropped:
            return PASS
        counted = tuple(page for page in self.pages if page not in dropped)
        needed = 1 if "families" in self.policy.off else self.policy.families
        few = len(set(replace(self, pages=counted).families)) < needed
        return Ruling(code if few else None, counted)

    @cached_property
    def post_domain(self) -> str | None:
        """The registrable domain of the post."""
        return find_domain(self.post_url)

    @cached_property
    def volatility(self) -> Volatility:
        """The volatility of the sentence: the most volatile class by the word lists of any language."""
        stated = self.published_at or self.judged_at
        day = date.max if stated is None else stated.date()
        found = Volatility.TIMELESS
        for tag in LANGUAGES:  # words of other languages do not match
            found = more_volatile(found, classify(self.claim.text, tag, Volatility.TIMELESS, day))
        return found


@dataclass(frozen=True, slots=True)
class Ruling:
    """The ruling of one gate. Shapes: `code` is None exactly if the claim passes; `counted` are the pages that still
    count, None for all."""

    code: str | None = None
    counted: tuple[CitedPage, ...] | None = None


PASS = Ruling()

Gate = Callable[[Case], Ruling]
"""Judges a case that has only the pages which earlier gates left."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of all gates: their results in order, and the pages that count."""

    results: tuple[GateResult, ...]
    counted: tuple[CitedPage, ...]

    @property
    def refusal(self) -> GateResult | None:
        """The result of the gate that refused the claim, None if all passed."""
        return next((each for each in self.results if each.outcome != "PASS"), None)
