"""Retain a finding of an earlier version, by its id, and only if its sentence is still in the text.

A finding was validated with its quote, so it must pass the mechanical gate again; a changed sentence needs a new
correction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, JsonValue

from analyses.anchoring import anchor, check
from analyses.flagging import Rejection
from analyses.kinds import InvalidSubmission, Tool
from analyses.snippets import fold, splits_word
from analyses.submission import parse_arguments, strict_object
from contracts.v1.parts import ClaimPayload, PublishedClaim

NAME: Final = "retain_correction"
_SENTENCE: Final = 2_000
"""How much of the text before and after a quote is compared. Units: characters."""
_END: Final = re.compile(
    r"(?:\w{4}[\"')\]]*\.+|[!?\u061f\u06d4])[\"')\]]*\s|[\u3002\uff01\uff1f\u0964][\"')\]\u300d\u300f]*"
    r"|(?<![\w.])[^\W\dA-Z]\w{0,2}[\"')\]]*\.+[\"')\]]*\s(?=[\"'(\[]*[A-Z\u00c0-\u00de])"
)
"""A certain end of a sentence. A full stop after a short word may be that of an abbreviation, as in "Dr. Who"."""
_STOP: Final = re.compile(r"[.!?\u061f\u06d4][\"')\]]*$")


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: UUID


def retain_correction(old_claims: Sequence[PublishedClaim]) -> Tool:
    """The tool that retains one of these claims."""
    ids: list[JsonValue] = [str(claim.claim_id) for claim in old_claims]
    return Tool(
        name=NAME,
        description="Keep one correction of the earlier version, unchanged: it is still right and its words still "
        "stand in the post. Call it once for each that is kept.",
        parameters=strict_object(
            {"id": {"type": "string", "enum": ids, "description": "The id of the correction in oldClaims."}}
        ),
    )


def parse_retained(arguments: str, text: str, old_claims: Sequence[PublishedClaim]) -> UUID:
    """Parse the arguments of `retain_correction`. Raises: InvalidSubmission: unknown id, or no longer in the text."""
    claim_id = parse_arguments(arguments, _Arguments).id
    old = next((claim for claim in old_claims if claim.claim_id == claim_id), None)
    if old is None:
        raise InvalidSubmission("id: there is no correction with this id in oldClaims.")
    if isinstance(retain(old.payload, text), Rejection):
        raise InvalidSubmission(
            "The sentence of this correction is not in the post any more, or not at one place alone. If what the "
            "post says now is still wrong, hand it in with submit_correction; if not, leave it out."
        )
    return claim_id


def retain(claim: ClaimPayload, text: str) -> ClaimPayload | Rejection:
    """Anchor a finding in this text, or return why that fails.

    No review follows, so the whole sentence must be the same as far as the old context shows it: "legal" is in
    "illegal", and an author may correct a sentence by words outside the quote.
    """
    located = anchor(claim, text)
    if (rejection := check(located, text)) is not None:
        return rejection
    return located if _is_same_sentence(claim, located, text) else Rejection("The sentence around the quote differs.")


def _is_same_sentence(old: ClaimPayload, new: ClaimPayload, text: str) -> bool:
    start = text.index(new.context) + new.context.index(new.text)
    end = start + len(new.text)
    if fold(new.text) != fold(old.text) or splits_word(text, start) or splits_word(text, end):
        return False
    before, _, behind = old.context.partition(old.text)
    shown, is_whole = _find_lead(before, new.text)
    lead, _ = _find_lead(text[max(0, start - _SENTENCE) : start], new.text)
    at = len(lead) - len(shown)
    if not lead.endswith(shown) or splits_word(lead, at) or (is_whole and at):
        return False
    quote = fold(new.text)
    if _END.search(f"{quote[-12:]} ") or (_STOP.search(quote) and not text[end : end + 1].strip()):
        return True
    shown, is_whole = _find_tail(behind)
    tail, _ = _find_tail(text[end : end + _SENTENCE])
    at = len(shown)
    return tail.startswith(shown) and not splits_word(tail, at) and not (is_whole and tail[at:])


def _find_lead(before: str, quote: str) -> tuple[str, bool]:
    """The words of the sentence before the quote, and whether they include its beginning."""
    folded = f"{fold(before)} "
    ends = [each.end() for each in _END.finditer(f"{folded}{quote[:2]}") if each.end() <= len(folded)]
    return folded[ends[-1] if ends else 0 :].strip(), bool(ends)


def _find_tail(behind: str) -> tuple[str, bool]:
    """The words of the sentence after the quote, and whether they include its end."""
    folded = f"{fold(behind)} "
    end = _END.search(folded)
    return folded[: end.end() if end else len(folded)].strip(), end is not None
