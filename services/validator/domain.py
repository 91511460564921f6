"""Which sources count, and what of a claim is published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from contracts.v1.parts import CheckedSource, ClaimPayload

MAX_PAGES: Final = 8
"""Different pages looked up for one claim; what is cited beyond them is unchecked."""

_MAY_PASS: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_MAY_PASS_KINDS: Final = frozenset({"connection_failed", "bad_response", "bad_encoding"})


def may_pass(status: int | None = None, kind: str | None = None) -> bool:
    """Whether asking a site once more at once could help, by its status or by why nothing came."""
    return status in _MAY_PASS or kind in _MAY_PASS_KINDS


def counts(source: CheckedSource, *, unchecked_allowed: bool) -> bool:
    """Whether a source is evidence. One whose page was had and lacks the quotation never is."""
    return source.status == "found" or (unchecked_allowed and source.status in ("unavailable", "unchecked"))


def unsupported(sources: Sequence[CheckedSource], *, unchecked_allowed: bool) -> str | None:
    """Why a claim with these sources is refused; None if one of them counts, and none was quoted for what it lacks.

    Whoever invents one quotation has not earned belief in the next, so a true one beside it does not save the claim. A
    page that could not be had says nothing about whoever cites it.
    """
    lacking = [source for source in sources if source.status == "missing"]
    if not lacking and any(counts(source, unchecked_allowed=unchecked_allowed) for source in sources):
        return None
    return f"A source does not show what it is quoted for: {'; '.join(map(_said, lacking or sources))}."


def published(claim: ClaimPayload, sources: Sequence[CheckedSource], *, unchecked_allowed: bool) -> ClaimPayload:
    """The claim with those of its sources that count: readers are not shown a quotation that is not there.

    Each has the address of the page that was read, so that no redirect shows one site's name over another's words.
    """
    kept = tuple(
        source.model_copy(update={"url": checked.url})
        for source, checked in zip(claim.sources, sources, strict=True)
        if counts(checked, unchecked_allowed=unchecked_allowed)
    )
    return claim.model_copy(update={"sources": kept})


def _said(source: CheckedSource) -> str:
    match source.status:
        case "missing":
            few = source.reason == "too_short"
            return f"{source.url} {'is quoted with too few words' if few else 'does not contain the quoted words'}"
        case "unavailable":
            return f"{source.url} could not be had ({source.reason})"
        case _:
            return f"{source.url} was not looked up ({source.reason})"
