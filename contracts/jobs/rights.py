"""Withdrawal of quotes by their authors, and the list of withdrawals. Neither needs an account."""

from __future__ import annotations

from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from contracts.jobs.values import Absent, ClaimHash, Count, Document, Instant
from contracts.rpc.values import ShortUrl
from contracts.v1.parts import Sha256

REASON_CHARACTERS = 2_000
CONTACT_CHARACTERS = 320


class WithdrawalRequest(Document):
    """A request to withdraw the quotes from an address, or the analyses of a claim."""

    url: Absent[ShortUrl] = None
    claim_hash: Absent[ClaimHash] = None
    reason: Annotated[str, Field(min_length=1, max_length=REASON_CHARACTERS)]
    contact: Annotated[str, Field(min_length=1, max_length=CONTACT_CHARACTERS)]

    @model_validator(mode="after")
    def _objects_to_one_thing(self) -> Self:
        if (self.url is None) == (self.claim_hash is None):
            raise PydanticCustomError("input", "exactly one of url and claim_hash must be given")
        return self


class Withdrawal(Document):
    """The answer: quotes from an address are withdrawn at once, analyses of a claim once a moderator agrees."""

    withdrawal_id: UUID
    received_at: Instant
    state: Literal["applied", "queued"]


class AppliedWithdrawal(Document):
    """A withdrawal that removed quotes from this many `analyses`.

    For a page it has `url_sha256`, the hash of its address, which shows the address only to those who know it; for a
    claim it has `claim_hash`, and `recorded_at` is when a moderator agreed.
    """

    withdrawal_id: UUID
    recorded_at: Instant
    url_sha256: Sha256 | None
    claim_hash: ClaimHash | None
    analyses: Count


class AppliedWithdrawals(Document):
    """The newest withdrawals, newest first."""

    withdrawals: tuple[AppliedWithdrawal, ...]
