"""Retains a finding of an earlier version: by its id, and only if its quote is still in the text.

A finding was validated with its quote, so it must pass the mechanical gate again; a changed sentence needs a new
correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from analyses.anchoring import anchor, check
from analyses.flagging import Rejection
from analyses.kinds import InvalidSubmission, Tool
from analyses.submission import describe_errors, strict_object
from contracts.v1.parts import ClaimPayload, PublishedClaim

NAME: Final = "retain_correction"


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
    try:
        claim_id = _Arguments.model_validate_json(arguments).id
    except ValidationError as error:
        reason = describe_errors(error)
    else:
        old = next((claim for claim in old_claims if claim.claim_id == claim_id), None)
        if old is None:
            reason = "id: there is no correction with this id in oldClaims."
        elif isinstance(retain(old.payload, text), Rejection):
            reason = (
                "The words of this correction are not in the post any more, or not at one place alone. If what the "
                "post says now is still wrong, hand it in with submit_correction; if not, leave it out."
            )
        else:
            return claim_id
    raise InvalidSubmission(reason)


def retain(claim: ClaimPayload, text: str) -> ClaimPayload | Rejection:
    """Anchor a finding in this text, or say why that fails."""
    located = anchor(claim, text)
    return check(located, text) or located
