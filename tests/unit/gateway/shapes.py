"""What the published extension accepts as an answer, written from the wire's description and not from our own types.

It refuses one key too many, a null where a key should be absent, and any date that is not `…Z`.
"""
# ruff: noqa: N815  the names are the wire's

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter


def _instant(value: str) -> str:
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z", value), value
    return value


def _url(value: str) -> str:
    assert urlsplit(value).scheme in ("http", "https"), value
    return value


Text = Annotated[str, Field(min_length=1)]
When = Annotated[str, AfterValidator(_instant)]
Link = Annotated[str, AfterValidator(_url)]
Provenance = Literal["SERVER_VERIFIED", "CLIENT_FALLBACK"]
Platform = Literal["LESSWRONG", "X", "SUBSTACK", "WIKIPEDIA"]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Source(Strict):
    url: Link
    title: Text
    snippet: Text


class Payload(Strict):
    text: Text
    context: Text
    summary: Text
    reasoning: Text
    sources: Annotated[list[Source], Field(min_length=1)]


class Claim(Payload):
    id: Text


class Prior(Strict):
    oldClaims: list[Claim]
    sourceInvestigationId: Text


class Registered(Strict):
    platform: Platform
    externalId: Text
    versionHash: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{64}$")]
    postVersionId: Text
    provenance: Provenance


class NotInvestigated(Strict):
    investigationState: Literal["NOT_INVESTIGATED"]
    priorInvestigationResult: Prior | None


class Investigating(Strict):
    investigationState: Literal["INVESTIGATING"]
    status: Literal["PENDING", "PROCESSING"]
    provenance: Provenance
    pendingClaims: list[Payload]
    confirmedClaims: list[Payload]
    priorInvestigationResult: Prior | None


class Viewed(Strict):
    investigationState: Literal["INVESTIGATED"]
    provenance: Provenance
    claims: list[Claim]


class Finished(Viewed):
    checkedAt: When


class Failed(Strict):
    investigationState: Literal["FAILED"]
    provenance: Provenance


class Queued(Strict):
    investigationId: Text
    status: Literal["PENDING", "PROCESSING", "FAILED"]
    provenance: Provenance


class Complete(Strict):
    investigationId: Text
    status: Literal["COMPLETE"]
    provenance: Provenance
    claims: list[Claim]


class KeyFine(Strict):
    instanceApiKeyAccepted: bool
    openaiApiKeyStatus: Literal["missing", "valid"]


class KeyBad(Strict):
    instanceApiKeyAccepted: bool
    openaiApiKeyStatus: Literal["format_invalid", "authenticated_restricted", "invalid", "error"]
    openaiApiKeyMessage: Text


class Listed(Strict):
    platform: Platform
    externalId: Text
    investigationState: Literal["NOT_INVESTIGATED", "INVESTIGATED"]
    incorrectClaimCount: Annotated[int, Field(ge=0)]


class Batch(Strict):
    statuses: list[Listed]


ANSWERS: Final[dict[str, TypeAdapter[Any]]] = {
    "post.registerObservedVersion": TypeAdapter(Registered),
    "post.hint": TypeAdapter(None),
    "post.recordViewAndGetStatus": TypeAdapter(NotInvestigated | Viewed),
    "post.getInvestigation": TypeAdapter(NotInvestigated | Investigating | Finished | Failed),
    "post.investigateNow": TypeAdapter(Queued | Complete),
    "post.validateSettings": TypeAdapter(KeyFine | KeyBad),
    "post.batchStatus": TypeAdapter(Batch),
}


def check(procedure: str, answer: object) -> None:
    """Refuse what the extension would refuse."""
    ANSWERS[procedure].validate_python(answer)
