"""Describe a claim's sources for a reviewer, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from analyses.snippets import PageText
from contracts.v1.parts import CheckedSource


@dataclass(frozen=True, slots=True)
class CitedText:
    """A cited page as it was read, with its own metadata. `names_us`: it names this instance."""

    words: PageText
    canonical: str | None = None
    published: str | None = None
    is_satire: bool = False
    names_us: bool = False

    @property
    def size(self) -> int:
        """Units: characters of memory."""
        return self.words.size


@dataclass(frozen=True, slots=True)
class Evidence:
    """One checked source, its page if that was read, and its quotation with the words around it if that was found."""

    source: CheckedSource
    words: str | None = None
    page: CitedText | None = None


def list_sources(evidence: Iterable[Evidence]) -> str:
    """One line of JSON per source, in order; words of pages are JSON strings."""
    return "\n".join(_row(number, each) for number, each in enumerate(evidence, 1))


def _row(number: int, evidence: Evidence) -> str:
    source = evidence.source
    row = {
        "source": number,
        "url": source.cited_url or source.url,
        "status": source.status,
        "reason": source.reason,
        "answeredFrom": source.final_url if source.final_url != (source.cited_url or source.url) else None,
        "wordsOnPage": evidence.words,
    }
    return json.dumps({name: value for name, value in row.items() if value is not None}, ensure_ascii=False)
