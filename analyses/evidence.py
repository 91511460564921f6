"""What is known of a claim's sources when a reviewer is asked, told as data and never in a page's own voice."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from contracts.v1.parts import CheckedSource


@dataclass(frozen=True, slots=True)
class Evidence:
    """One source: how looking it up went and, if its quotation was found, that with the words around it."""

    source: CheckedSource
    words: str | None = None


def listed(evidence: Iterable[Evidence]) -> str:
    """One line of JSON for each source, in their order; a page's words come as a string in it."""
    return "\n".join(_row(number, each) for number, each in enumerate(evidence, 1))


def _row(number: int, evidence: Evidence) -> str:
    source = evidence.source
    said = {
        "source": number,
        "url": source.cited_url or source.url,
        "status": source.status,
        "reason": source.reason,
        "answeredFrom": source.final_url if source.final_url != (source.cited_url or source.url) else None,
        "wordsOnPage": evidence.words,
    }
    return json.dumps({name: value for name, value in said.items() if value is not None}, ensure_ascii=False)
