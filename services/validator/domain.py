"""Which sources are evidence, and what of a claim is published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from analyses.evidence import CitedText, Evidence
from analyses.gates import CitedPage
from contracts.v1.parts import CheckedSource, ClaimPayload

MAX_PAGES: Final = 8
"""Pages fetched for one claim; sources on further pages stay unchecked."""


def is_evidence(source: CheckedSource, *, unchecked_allowed: bool) -> bool:
    """Whether a source is evidence. One whose page lacks the quotation never is."""
    return source.status == "found" or (unchecked_allowed and source.status in ("unavailable", "unchecked"))


def find_unsupported(sources: Sequence[CheckedSource], *, unchecked_allowed: bool) -> str | None:
    """Why a claim with these sources is rejected; None if one is evidence and none lacks its quotation.

    One invented quotation discredits the others, so a correct one beside it does not save the claim. An unavailable
    page does not.
    """
    lacking = [source for source in sources if source.status == "missing"]
    if not lacking and any(is_evidence(source, unchecked_allowed=unchecked_allowed) for source in sources):
        return None
    return f"A source does not show what it is quoted for: {'; '.join(map(_describe, lacking or sources))}."


def list_pages(claim: ClaimPayload, evidence: Sequence[Evidence], *, unchecked_allowed: bool) -> tuple[CitedPage, ...]:
    """The sources that are evidence, as the gates see them."""
    pages = []
    for number, (source, checked) in enumerate(zip(claim.sources, evidence, strict=True)):
        if is_evidence(checked.source, unchecked_allowed=unchecked_allowed):
            page = CitedPage(number, checked.source.url, source.snippet, words=checked.words)
            pages.append(page if checked.page is None else _with_text(page, checked.source, checked.page))
    return tuple(pages)


def _with_text(page: CitedPage, source: CheckedSource, text: CitedText) -> CitedPage:
    return replace(
        page,
        text=text.words.readings[0],
        canonical=text.canonical,
        published=text.published,
        fetched_at=source.fetched_at,
        is_satire=text.is_satire,
        names_us=text.names_us,
    )


def keep_sources(claim: ClaimPayload, sources: Sequence[CheckedSource], counted: Sequence[CitedPage]) -> ClaimPayload:
    """The claim with those of its sources that count.

    Each has the address of the page that was read, so that no redirect attributes words to another site.
    """
    kept = tuple(claim.sources[page.number].model_copy(update={"url": sources[page.number].url}) for page in counted)
    return claim.model_copy(update={"sources": kept})


def _describe(source: CheckedSource) -> str:
    match source.status:
        case "missing":
            few = source.reason == "too_short"
            return f"{source.url} {'is quoted with too few words' if few else 'does not contain the quoted words'}"
        case "unavailable":
            return f"{source.url} could not be fetched ({source.reason})"
        case _:
            return f"{source.url} was not looked up ({source.reason})"
