"""Objections to what the system shows or stores, which moderators decide."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from contracts.v1.codes import Code
from contracts.v1.event import OnceEvent
from contracts.v1.parts import EphemeralRef, Sha256


class FlagRaised(OnceEvent, subject="flag.raised", key="flag_id"):
    """Somebody objects to an entity; with type RIGHTS, to quotes from an address or to the analyses of a claim.

    Shapes: `description` has the reason and the contact. `url_sha256` is of the address whose quotes are withdrawn,
    `claim_sha256` of the canonical text of a claim, whose analyses are withdrawn once a moderator agrees.
    `range_key` is the hash of the network that a request without an account came from.
    """

    flag_id: UUID
    entity_type: Code
    entity_id: UUID | None = None
    issue_type: Code
    description: EphemeralRef
    url_sha256: Sha256 | None = None
    claim_sha256: Sha256 | None = None
    account_id: UUID | None = None
    range_key: Sha256 | None = None


class FlagResolved(OnceEvent, subject="flag.resolved", key="flag_id", identity=("status", "by")):
    """A moderator decided on an objection. Shapes: `note` has the reason; the other ids are the objection's."""

    flag_id: UUID
    entity_type: Code
    entity_id: UUID | None = None
    status: Literal["ACCEPTED", "DISMISSED"]
    note: EphemeralRef
    by: UUID
