"""A request's options as facts hold them and as the wire names them, and the hashes that recognise a request."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import Any

import rfc8785

from contracts.accounts import TIERS, monthly_credit
from contracts.jobs.requests import AnalyzeRequest, Options
from contracts.v1.job import AuditOptions
from lifecycle.audits.credits import Terms
from services.gateway.domain import Account


def to_fact(options: Options) -> AuditOptions:
    """Options as `job.requested` holds them: codes in capitals."""
    given = options.model_dump()
    given["browsing"] = options.browsing == "on"
    given["depth"] = options.depth.upper()
    given["cache_preference"] = options.cache_preference.upper()
    return AuditOptions.model_validate(given)


def to_wire(options: AuditOptions) -> Options:
    """Options as a client wrote them."""
    given = options.model_dump()
    given["browsing"] = "on" if options.browsing else "off"
    given["depth"] = options.depth.lower()
    given["cache_preference"] = options.cache_preference.lower()
    return Options.model_validate(given)


@lru_cache(256)
def hash_options(options: AuditOptions) -> str:
    """The hash by which an extraction with the same options is recognised."""
    return _hash(options.model_dump(mode="json"))


def hash_body(request: AnalyzeRequest) -> str:
    """The hash by which a repeated request is recognised: of all fields that were sent, in any order."""
    return _hash(request.model_dump(mode="json", exclude_unset=True))


def _hash(document: dict[str, Any]) -> str:  # a document of any depth
    """The SHA-256 of the canonical form of RFC 8785."""
    return sha256(rfc8785.dumps(document)).hexdigest()


def terms_of(account: Account) -> Terms:
    """An account's monthly credit and its limit of open jobs."""
    tier = TIERS[account.tier]
    limit = monthly_credit(account.tier, account.agreed_credit)
    return Terms(limit, hard=tier.is_hard, max_open_jobs=tier.open_jobs)
