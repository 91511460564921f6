"""The first kind, and its reviewer's message as one text."""

from __future__ import annotations

from collections.abc import Sequence

from analyses import flagging_kind
from analyses.evidence import Evidence
from analyses.flagging import Candidate
from contracts.v1.parts import ClaimPayload, Picture

FACT_CHECK = flagging_kind("FACT_CHECK")


def review_brief(
    claim: ClaimPayload, text: str, pictures: Sequence[Picture] = (), evidence: Sequence[Evidence] = ()
) -> str:
    """The message of a review."""
    (message,) = FACT_CHECK.review.brief(Candidate(claim, text, pictures, evidence))
    assert isinstance(message, str)
    return message
