"""Withdrawing quotes: `POST /v1/rights/invalidate`, for those whose words they are. It needs no account."""

from __future__ import annotations

from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from contracts.jobs.values import Absent, ClaimHash, Document, Instant
from contracts.rpc.values import URL_CHARACTERS, Url

REASON_CHARACTERS = 2_000
CONTACT_CHARACTERS = 320


class WithdrawalRequest(Document):
    """What is objected to: the quotes from an address, or the analyses of a claim."""

    url: Absent[Annotated[Url, Field(max_length=URL_CHARACTERS)]] = None
    claim_hash: Absent[ClaimHash] = None
    reason: Annotated[str, Field(min_length=1, max_length=REASON_CHARACTERS)]
    contact: Annotated[str, Field(min_length=1, max_length=CONTACT_CHARACTERS)]

    @model_validator(mode="after")
    def _objects_to_one_thing(self) -> Self:
        if (self.url is None) == (self.claim_hash is None):
            raise PydanticCustomError("input", "exactly one of url and claim_hash must be given")
        return self


class Withdrawal(Document):
    """The answer: quotes from an address are withdrawn at once, a claim waits for a moderator."""

    withdrawal_id: UUID
    received_at: Instant
    state: Literal["applied", "queued"]
