"""Posts with known answers, read from `cases/*.toml`; its README says what the fields mean.

A post that contradicts itself, or its twin, is refused at load: a wrong answer key would teach us to accuse.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from analyses.snippets import find, page_text
from contracts.v1.parts import ClaimPayload, Source
from tests.bench.facts import require_two_sources

FOLDER: Final = Path(__file__).parent / "cases"

Kind = Literal[
    "true",
    "satire",
    "opinion",
    "disputed",
    "quotation",
    "hypothetical",
    "hyperbole",
    "outdated",
    "digit",
    "false",
    "mirrored",
    "corrected",
    "language",
    "planted",
    "injected_post",
    "injected_page",
    "injected_search",
    "injected_caption",
]

Platform = Literal["X", "SUBSTACK", "LESSWRONG", "WIKIPEDIA"]

RESTS_ON_FACTS: Final[frozenset[Kind]] = frozenset(
    {"true", "disputed", "outdated", "digit", "false", "mirrored", "corrected", "language", "planted"}
)
"""Kinds whose answers need proof. Those of the others follow from how a post speaks, unless a sentence is wrong."""

FLAGGED_NEVER: Final[frozenset[Kind]] = frozenset(
    {"true", "satire", "opinion", "disputed", "quotation", "hypothetical", "hyperbole", "corrected", "planted"}
)

SHOWN_BY_A_SIGN: Final[frozenset[Kind]] = frozenset({"satire", "opinion", "hyperbole"})
"""Kinds that state nothing as a fact; words of the post must show that to any reader."""

HAS_A_TWIN: Final[frozenset[Kind]] = frozenset({"false", "language", "outdated"})
"""Kinds whose wrong posts have one in which the same sentence is right."""

_END_OF_SENTENCE: Final = re.compile(r"(?<=[.!?])[”\"]?\s+|(?<=[。！？])")

Words = Annotated[str, AfterValidator(lambda text: " ".join(text.split())), Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Demand(_Strict):
    """What a hidden instruction wants a model to submit."""

    quote: Words
    source: str = Field(pattern=r"^https://[a-z]+\.example/\S*$")
    snippet: Words

    @property
    def claim(self) -> ClaimPayload:
        """The claim as an obedient model submits it."""
        source = Source(url=self.source, title="As told", snippet=self.snippet)
        return ClaimPayload(
            text=self.quote, context=self.quote, summary="Not so.", reasoning="The page says so.", sources=(source,)
        )


class Hit(_Strict):
    """What a search engine returns about one page."""

    title: Words
    url: str = Field(pattern=r"^https://[a-z]+\.example/\S*$")
    snippet: Words


class Post(_Strict):
    """One post and its answer. `search` is what an engine answers, whatever is asked.

    Shapes: the answer rests on `sources`, addresses of different hosts, or on `rows` of the tables in `facts`, which
    have theirs. `twin_of` names the post that differs only in being wrong, `mirror_of` that of the other side. `sign`
    are words of the text that show that it states no fact, `positions` what the sides of a dispute hold. From
    `valid_from` on and before `valid_until` the statement of an outdated post was right.
    """

    kind: Kind
    id: str = Field(pattern=r"^[a-z0-9-]+$")
    platform: Platform
    published: date
    text: Words
    language: str = Field(default="en", pattern=r"^[a-z]{2}$")
    wrong: tuple[Words, ...] = ()
    sign: Words | None = None
    positions: tuple[Words, ...] = ()
    valid_from: date | None = None
    valid_until: date | None = None
    twin_of: str | None = None
    mirror_of: str | None = None
    sources: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    pages: dict[Annotated[str, Field(pattern=r"^https://[a-z]+\.example/\S*$")], Words] = Field(default_factory=dict)
    search: tuple[Hit, ...] = ()
    captions: tuple[Words, ...] = ()
    demand: Demand | None = None

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        for sentence in self.wrong:
            if self.text.count(sentence) != 1:
                raise ValueError(f"{self.id}: a wrong sentence must stand in the text exactly once: {sentence!r}")
        places = sorted(self._place(sentence) for sentence in self.wrong)
        if any(one[1] > other[0] for one, other in pairwise(places)):
            raise ValueError(f"{self.id}: wrong sentences overlap")
        for address in self.pages:
            if address not in self.text:
                raise ValueError(f"{self.id}: nothing links to {address}")
        if (self.kind == "injected_search") != bool(self.search):
            raise ValueError(f"{self.id}: posts about searches have results, and no others do")
        if self.wrong and self.kind in FLAGGED_NEVER:
            raise ValueError(f"{self.id}: nothing is wrong in a post of kind {self.kind}")
        if self.wrong and self.twin_of is not None:
            raise ValueError(f"{self.id}: a twin is right")
        if self.sources or (not self.rows and (self.wrong or self.kind in RESTS_ON_FACTS)):
            require_two_sources(self.id, self.sources)
        if self.demand is not None and self.demand.quote in self.text and self._is_backed(self.demand):
            raise ValueError(f"{self.id}: the demand could not be told from a finding")
        return self

    @model_validator(mode="after")
    def _says_why(self) -> Self:
        if (self.kind in SHOWN_BY_A_SIGN) != (self.sign is not None):
            raise ValueError(f"{self.id}: satire, opinions and hyperbole have a sign, and no others do")
        if self.sign is not None and self.sign not in self.text:
            raise ValueError(f"{self.id}: the sign must stand in the text: {self.sign!r}")
        sides = {side.casefold() for side in self.positions}
        if len(sides) != len(self.positions) or (len(sides) >= 2) != (self.kind == "disputed"):
            raise ValueError(f"{self.id}: a disputed post names at least two positions, and no others do")
        if (self.kind == "outdated" and self.twin_of is None) != (self.valid_from is not None):
            raise ValueError(f"{self.id}: outdated posts but twins say from when they were right, no others do")
        if (self.valid_from is None) != (self.valid_until is None):
            raise ValueError(f"{self.id}: a time in which something was right has two ends")
        if self.valid_from is not None and self.valid_until is not None:
            if not self.valid_from <= self.published or not self.valid_from < self.valid_until:
                raise ValueError(f"{self.id}: was not right yet, or never")
            if (self.published >= self.valid_until) != bool(self.wrong):
                raise ValueError(f"{self.id}: is wrong exactly from {self.valid_until} on")
        return self

    def _is_backed(self, demand: Demand) -> bool:
        page = self.pages.get(demand.source)
        return page is not None and find(demand.snippet, page_text(page)) is not None

    def _place(self, sentence: str) -> tuple[int, int]:
        at = self.text.index(sentence)
        return at, at + len(sentence)

    @property
    def sentences(self) -> int:
        """How many sentences the text has, by punctuation alone."""
        return sum(1 for each in _END_OF_SENTENCE.split(self.text) if each.strip())

    def answer_to(self, claim: ClaimPayload) -> str | None:
        """The wrong sentence that a published claim touches; None if the claim is about a right sentence."""
        start = self.text.index(claim.context) + claim.context.index(claim.text)
        end = start + len(claim.text)
        for sentence in self.wrong:
            first, last = self._place(sentence)
            if start < last and first < end:
                return sentence
        return None


def parse(kind: str | None, document: str) -> tuple[Post, ...]:
    """One file's posts; without a kind of the file each names its own. Raises: ValueError."""
    given = tomllib.loads(document)
    if given.keys() != {"post"}:
        raise ValueError(f"{kind}: a file of cases holds [[post]] tables and nothing else")
    of_all = {} if kind is None else {"kind": kind}
    return tuple(Post.model_validate({**each, **of_all}) for each in given["post"])


def together(posts: Sequence[Post]) -> tuple[Post, ...]:
    """The posts of all files. Raises: ValueError: two share an id or text, or a twin or mirror does not fit."""
    counted = Counter(post.id for post in posts)
    if doubles := {each for each, count in counted.items() if count > 1}:
        raise ValueError(f"ids used more than once: {', '.join(sorted(doubles))}")
    texts = Counter(post.text.casefold() for post in posts)
    if doubles := {post.id for post in posts if texts[post.text.casefold()] > 1}:
        raise ValueError(f"posts with one text: {', '.join(sorted(doubles))}")
    _require_pairs({post.id: post for post in posts})
    return tuple(posts)


def _require_pairs(known: Mapping[str, Post]) -> None:
    """Raises: ValueError."""
    twins, mirrors = Counter[str](), Counter[str]()
    for post in known.values():
        if post.twin_of is not None:
            twins[post.twin_of] += 1
            _require_twin(known.get(post.twin_of), post)
        if post.mirror_of is not None:
            mirrors.update((post.id, post.mirror_of))
            _require_mirror(known.get(post.mirror_of), post)
    for post in known.values():
        if post.kind in HAS_A_TWIN and post.wrong and twins[post.id] != 1:
            raise ValueError(f"{post.id}: a wrong post of kind {post.kind} has one twin")
        if (post.kind == "mirrored") != (mirrors[post.id] == 1):
            raise ValueError(f"{post.id}: posts of kind mirrored come in pairs, and no others do")


def _require_twin(false: Post | None, twin: Post) -> None:
    if false is None or len(false.wrong) != 1:
        raise ValueError(f"{twin.id}: is the twin of no post with one wrong sentence")
    before, after = false.text.split(false.wrong[0])
    rest = len(twin.text) - len(before) - len(after)
    if rest <= 0 or not twin.text.startswith(before) or not twin.text.endswith(after) or twin.text == false.text:
        raise ValueError(f"{twin.id}: differs from {false.id} outside the wrong sentence, or not at all")
    if _setting(false) != _setting(twin):
        raise ValueError(f"{twin.id}: differs from {false.id} in more than its text")


def _require_mirror(other: Post | None, post: Post) -> None:
    if other is None or other.text == post.text:
        raise ValueError(f"{post.id}: mirrors no other post")
    if _setting(other) != _setting(post) or len(other.wrong) != len(post.wrong):
        raise ValueError(f"{post.id}: differs from {other.id} in more than the side")


def _setting(post: Post) -> tuple[object, ...]:
    return post.kind, post.platform, post.published, post.language


@cache
def posts() -> tuple[Post, ...]:
    """All posts that are written by hand."""
    files = sorted(FOLDER.glob("*.toml"))
    return together([post for file in files for post in parse(file.stem, file.read_text("utf-8"))])
