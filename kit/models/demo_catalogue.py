"""The catalogue of the demo model. It lists every sentence that can be flagged, so that all findings can be tested.

Phrasings are expanded once into a dictionary of folded sentences; two entries with the same sentence are refused at
load, because the correction would depend on their order.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from itertools import product

from pydantic import BaseModel, ConfigDict, Field

from contracts.v1.parts import Source
from kit.models.demo_reading import fold

_LITERAL = re.compile(r"[^{}\[\]|]+")


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CatalogueSource(_Strict):
    """A public page; the snippet summarises it in our words."""

    url: str = Field(pattern=r"^https://\S+$")
    title: str = Field(min_length=1)
    snippet: str = Field(min_length=1)


class Entry(_Strict):
    """One well-known error: its phrasings, similar true sentences, the correction and its sources.

    `disputed` entries are proposed in stage 1 and rejected in stage 2.
    """

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    says: list[str] = Field(min_length=1)
    silent: list[str] = Field(min_length=1)
    summary: str = Field(min_length=1)
    reasoning: str = Field(min_length=1)
    sources: list[CatalogueSource] = Field(min_length=1)
    disputed: bool = False

    def phrasings(self) -> Iterator[str]:
        """Every sentence that the templates of `says` expand to."""
        for template in self.says:
            yield from expand(template)

    def published_sources(self) -> tuple[Source, ...]:
        """The sources in the form that a claim has."""
        return tuple(Source(url=each.url, title=each.title, snippet=each.snippet) for each in self.sources)


class _File(_Strict):
    entry: list[Entry]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All entries, and the folded sentence of every phrasing. `version` changes with any byte of the file."""

    version: str
    entries: tuple[Entry, ...]
    by_sentence: Mapping[str, Entry]


def parse(document: str) -> Catalogue:
    """Read a catalogue. Raises: ValueError if it is malformed or two entries share a sentence."""
    entries = tuple(_File.model_validate(tomllib.loads(document)).entry)
    by_sentence: dict[str, Entry] = {}
    for entry in entries:
        for phrasing in entry.phrasings():
            if by_sentence.setdefault(fold(phrasing), entry).id != entry.id:
                raise ValueError(f"{entry.id} and {by_sentence[fold(phrasing)].id} both say {phrasing!r}")
    return Catalogue(sha256(document.encode()).hexdigest()[:12], entries, by_sentence)


@cache
def catalogue() -> Catalogue:
    """The catalogue in this package, read once per process."""
    return parse(resources.files(__package__).joinpath("demo_catalogue.toml").read_text("utf-8"))


def expand(template: str) -> list[str]:
    """All sentences a template stands for: `{a|b}` is a choice, `[a]` may be left out; both may nest."""
    sentences, rest = _sequence(template, 0)
    if rest != len(template):
        raise ValueError(f"unbalanced template: {template!r}")
    return sorted({" ".join(sentence.split()) for sentence in sentences})


def _sequence(template: str, at: int) -> tuple[list[str], int]:
    parts: list[list[str]] = []
    while at < len(template) and template[at] not in "|}]":
        if template[at] not in "{[":
            literal = _LITERAL.match(template, at)
            assert literal is not None
            parts.append([literal.group()])
            at = literal.end()
            continue
        closing = "}" if template[at] == "{" else "]"
        choices = [] if closing == "}" else [""]
        while True:
            some, at = _sequence(template, at + 1)
            choices += some
            if at >= len(template) or template[at] not in f"|{closing}":
                raise ValueError(f"unbalanced template: {template!r}")
            if template[at] == closing:
                break
        parts.append(choices)
        at += 1
    return ["".join(chosen) for chosen in product(*parts)], at
