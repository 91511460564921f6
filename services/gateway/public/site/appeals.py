"""The page of one appeal, without the appellant's words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from uuid import UUID

from contracts.v1.appeal import PROOF_HOURS, AppealKind, AppealOutcome, ProofOutcome, make_proof_token
from platforms import find_platform, name_prover
from platforms.base import Prover
from services.gateway.public.site.rendering import Values
from services.gateway.record.repository import PublicRecord

KINDS: Final[Mapping[AppealKind, str]] = MappingProxyType(
    {
        "FALSE_POSITIVE": "something is shown as wrong that is right",
        "FALSE_NEGATIVE": "something wrong was not found",
        "CONTEXT": "the context is missing",
    }
)
OUTCOMES: Final[Mapping[AppealOutcome, str]] = MappingProxyType(
    {"UPHELD": "Upheld", "PARTLY": "Upheld in part", "DISMISSED": "Dismissed", "REFUSED": "Refused"}
)

_EXPIRED: Final = "the token had expired before the page was checked"
_REFUSED: Final[Mapping[tuple[Prover, ProofOutcome], str]] = MappingProxyType(
    {
        (
            "author",
            "NO_TOKEN",
        ): "the page is the author’s, but its text does not contain the token, or only in a quotation. A "
        "page is fetched again after five minutes only",
        ("author", "OTHER_AUTHOR"): "the page is by somebody else",
        ("author", "EXPIRED"): _EXPIRED,
        ("author", "UNAVAILABLE"): "the site did not show such a page of the author’s to the public",
        ("contributor", "NO_TOKEN"): "the edit is a contributor’s, but its summary is not the token alone",
        ("contributor", "OTHER_AUTHOR"): "the account that made this edit had not edited the article by that revision",
        ("contributor", "EXPIRED"): _EXPIRED,
        ("contributor", "UNAVAILABLE"): "the site did not show such an edit, with a summary, to the public",
    }
)


async def show_appeal(record: PublicRecord, known: UUID) -> Values | None:
    """Values of the template; None if there is no such appeal."""
    async with record.open() as session:
        appeal = await session.appeals.one(known)
    if appeal is None:
        return None
    outcome = None if appeal.outcome is None else OUTCOMES[appeal.outcome]
    site, prover = find_platform(appeal.platform), name_prover(appeal.platform)
    return {
        "section": None,
        "it": appeal,
        "kind": KINDS[appeal.kind],
        "outcome": outcome,
        "is_proven": appeal.proof == "PROVEN",
        "token": make_proof_token(appeal.id),
        "hours": PROOF_HOURS,
        "place": None if site is None else site.proof_place,
        "prover": prover,
        "refused": None if appeal.proof is None else _REFUSED.get((prover, appeal.proof)),
    }
