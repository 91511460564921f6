"""Which sources are evidence, and what of a claim is published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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


def keep_evidence(claim: ClaimPayload, sources: Sequence[CheckedSource], *, unchecked_allowed: bool) -> ClaimPayload:
    """The claim with those of its sources that are evidence.

    Each has the address of the page that was read, so that no redirect attributes words to another site.
    """
    sources_kept = tuple(
        source.model_copy(update={"url": checked.url})
        for source, checked in zip(claim.sources, sources, strict=True)
        if is_evidence(checked, unchecked_allowed=unchecked_allowed)
    )
    return claim.model_copy(update={"sources": sources_kept})


def _describe(source: CheckedSource) -> str:
    match source.status:
        case "missing":
            few = source.reason == "too_short"
            return f"{source.url} {'is quoted with too few words' if few else 'does not contain the quoted words'}"
        case "unavailable":
            return f"{source.url} could not be had ({source.reason})"
        case _:
            return f"{source.url} was not looked up ({source.reason})"
