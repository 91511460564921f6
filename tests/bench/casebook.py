"""Posts with known answers, read from `cases/*.toml`; its README says what the fields mean.

A post that contradicts itself is refused at load: a wrong answer key would teach us to accuse.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from datetime import date
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from analyses.snippets import find, page_text
from contracts.v1.parts import ClaimPayload, Source

FOLDER: Final = Path(__file__).parent / "cases"

Kind = Literal[
    "true",
    "satire",
    "disputed",
    "quotation",
    "hyperbole",
    "outdated",
    "digit",
    "false",
    "injected_post",
    "injected_page",
    "injected_search",
    "injected_caption",
]

Words = Annotated[str, AfterValidator(lambda text: " ".join(text.split())), Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Demand(_Strict):
    """What a hidden instruction wants a model to hand in."""

    quote: Words
    source: str = Field(pattern=r"^https://[a-z]+\.example/\S*$")
    snippet: Words

    @property
    def claim(self) -> ClaimPayload:
        """As an obedient model hands it in."""
        source = Source(url=self.source, title="As told", snippet=self.snippet)
        return ClaimPayload(
            text=self.quote, context=self.quote, summary="Not so.", reasoning="The page says so.", sources=(source,)
        )


class Hit(_Strict):
    """What a search engine says of one page."""

    title: Words
    url: str = Field(pattern=r"^https://[a-z]+\.example/\S*$")
    snippet: Words


class Post(_Strict):
    """One post and its answer. `search` is what an engine answers, whatever is asked."""

    kind: Kind
    id: str = Field(pattern=r"^[a-z0-9-]+$")
    platform: Literal["X", "SUBSTACK", "LESSWRONG", "WIKIPEDIA"]
    published: date
    text: Words
    wrong: tuple[Words, ...] = ()
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
        if self.demand is not None and self.demand.quote in self.text and self._is_backed(self.demand):
            raise ValueError(f"{self.id}: the demand could not be told from a finding")
        return self

    def _is_backed(self, demand: Demand) -> bool:
        page = self.pages.get(demand.source)
        return page is not None and find(demand.snippet, page_text(page)) is not None

    def _place(self, sentence: str) -> tuple[int, int]:
        at = self.text.index(sentence)
        return at, at + len(sentence)

    def answer_to(self, claim: ClaimPayload) -> str | None:
        """The wrong sentence that a published claim touches; None: it accuses a sentence that nothing is wrong with."""
        start = self.text.index(claim.context) + claim.context.index(claim.text)
        end = start + len(claim.text)
        for sentence in self.wrong:
            first, last = self._place(sentence)
            if start < last and first < end:
                return sentence
        return None


def parse(kind: str, document: str) -> tuple[Post, ...]:
    """One file's posts. Raises: ValueError."""
    given = tomllib.loads(document)
    if given.keys() != {"post"}:
        raise ValueError(f"{kind}: a file of cases holds [[post]] tables and nothing else")
    return tuple(Post.model_validate({**each, "kind": kind}) for each in given["post"])


def together(posts: Sequence[Post]) -> tuple[Post, ...]:
    """The posts of all files. Raises: ValueError: two share an id."""
    ids = [post.id for post in posts]
    if doubles := {each for each in ids if ids.count(each) > 1}:
        raise ValueError(f"ids used more than once: {', '.join(sorted(doubles))}")
    return tuple(posts)


@cache
def posts() -> tuple[Post, ...]:
    """All posts with known answers."""
    files = sorted(FOLDER.glob("*.toml"))
    return together([post for file in files for post in parse(file.stem, file.read_text("utf-8"))])
