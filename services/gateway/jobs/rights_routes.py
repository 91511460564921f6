"""The routes by which the owner of a page requests that its quotes are withdrawn, and by which withdrawals are listed.

They need no account and are limited by network.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from typing import Final

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from analyses.claims.extraction import HASH_PREFIX
from contracts.jobs.rights import AppliedWithdrawals, Withdrawal, WithdrawalRequest
from contracts.jobs.words import FlagWords
from contracts.v1 import FlagRaised
from kit.addresses import ip_range_prefix
from kit.cache import Cache
from kit.clock import Clock
from kit.web import WebError, parse_url
from services.gateway.domain import derive_ip_range_key
from services.gateway.http import Scope
from services.gateway.jobs.applied import Applied
from services.gateway.jobs.exchange import (
    Exchange,
    Reception,
    answer,
    choose_exchange_version,
    parse,
    require_json,
)
from services.gateway.jobs.ports import JobLog, Words
from services.gateway.jobs.problems import Problem
from services.gateway.jobs.rate_policies import RateLimit

KEPT: Final = timedelta(days=5 * 365)
"""How long the words of an objection are kept. Source: requirements FH-121."""
LIST_TTL_S: Final = 60.0
_REQUEST: Final = TypeAdapter(WithdrawalRequest)


class RightsRoutes:
    """Stores objections, on which the curator acts. `address` returns a request's client address."""

    def __init__(
        self,
        reception: Reception,
        log: JobLog,
        words: Words,
        clock: Clock,
        limit: RateLimit,
        reads: RateLimit,
        address: Callable[[Scope], str],
    ) -> None:
        self._reception = reception
        self._log = log
        self._words = words
        self._clock = clock
        self._limit = limit
        self._reads = reads
        self._applied = Applied(log)
        self._listed: Cache[str, AppliedWithdrawals] = Cache(clock, capacity=1, ttl_s=LIST_TTL_S)
        self._address = address

    async def invalidate(self, request: Request) -> Response:
        """Request that quotes of a page, or a claim, are withdrawn."""
        body = await self._reception.read(request)
        exchange: Exchange = choose_exchange_version(request)
        network = ip_range_prefix(self._address(request.scope))
        exchange.limits = self._limit.take(network)
        require_json(request)
        wanted = parse(_REQUEST, body)
        now, url_sha256 = self._clock.now(), None if wanted.url is None else _hash_address(wanted.url)
        claim_sha256 = None if wanted.claim_hash is None else wanted.claim_hash.removeprefix(HASH_PREFIX)
        words = FlagWords(url=wanted.url, claim_hash=wanted.claim_hash, reason=wanted.reason, contact=wanted.contact)
        flag = FlagRaised(
            flag_id=self._clock.new_id(),
            entity_type="CLAIM" if url_sha256 is None else "SOURCE",
            issue_type="RIGHTS",
            description=await self._words.put(words.model_dump_json(), now + KEPT),
            url_sha256=url_sha256,
            claim_sha256=claim_sha256,
            range_key=derive_ip_range_key(network),
        )
        await self._log.publish(flag, correlation=exchange.correlation)
        state: Final = "queued" if url_sha256 is None else "applied"
        return answer(Withdrawal(withdrawal_id=flag.flag_id, received_at=now, state=state), status=202)

    async def list_applied(self, request: Request) -> Response:
        """List the withdrawals that removed quotes, newest first."""
        exchange: Exchange = choose_exchange_version(request)
        exchange.limits = self._reads.take(ip_range_prefix(self._address(request.scope)))
        return answer(await self._listed.get_or_make("", self._applied.look), {"cache-control": "public, max-age=60"})


def _hash_address(address: str) -> str:
    """The hash of a page's address, as citations have it. Raises: Problem."""
    try:
        return sha256(str(parse_url(address)).encode()).hexdigest()
    except WebError:
        raise Problem("VALIDATION_ERROR", "url must be the address of a public page.") from None
