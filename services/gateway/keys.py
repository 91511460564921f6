"""API keys: which instance keys are active and whose they are, and whether a reader's own key works.

The set of active instance keys is cached, so that a revoked key is rejected within seconds; a key that is not in the
set is looked up, so that a new one works at once, and a rejection is cached too.
"""

from __future__ import annotations

from typing import Final

from contracts.accounts import Right
from contracts.rpc.status import KeyMissingOrValid, KeyRefusedOut, SettingsAnswer
from kit.addresses import ip_range_prefix
from kit.cache import Cache
from kit.clock import Clock
from services.gateway.domain import InstanceKey, Principal, is_well_formed_user_key, key_hash
from services.gateway.ports import Call, Caller, KeyProbe, KeyRegister, KeyVerdict, Refused
from services.gateway.rate_limit import TokenBuckets

DENIALS: Final = 10_000
VALID_KEYS: Final = 10_000
VALID_S: Final = 600.0
TOO_MANY_KEYS: Final = "Too many keys were tried from this network. Please wait a minute."


class InstanceKeys:
    """The active instance keys, by hash. Units: a revoked key works for up to `fresh_s`."""

    def __init__(self, register: KeyRegister, clock: Clock, *, fresh_s: float, denied_s: float) -> None:
        self._register = register
        self._active: Cache[str, dict[str, InstanceKey]] = Cache(clock, capacity=1, ttl_s=fresh_s)
        self._denied: Cache[str, bool] = Cache(clock, capacity=DENIALS, ttl_s=denied_s)

    async def rights(self, key_hash: str) -> frozenset[Right]:
        """The rights of this key; empty if it is not active. Raises: Unavailable."""
        found = await self._find(key_hash)
        return frozenset() if found is None else found.rights

    async def principal(self, key_hash: str) -> Principal | None:
        """The key's account and rights; None if it is not active or has no open account. Raises: Unavailable."""
        found = await self._find(key_hash)
        return None if found is None or found.account is None else Principal(found.account, found.rights)

    async def _find(self, key_hash: str) -> InstanceKey | None:
        active = await self._active.get_or_make("", self._read)
        found = active.get(key_hash)
        if found is not None or self._denied.get(key_hash):
            return found
        found = await self._register.find(key_hash)
        if found is None:
            self._denied.put(key_hash, True)
        else:
            active[key_hash] = found
        return found

    async def _read(self) -> dict[str, InstanceKey]:
        return dict(await self._register.active())


class KeyChecks:
    """Tries readers' keys with the provider, for `post.validateSettings` and before a run; rate-limited per network.

    A key that worked is cached and not tried before each run.
    """

    def __init__(self, probe: KeyProbe, clock: Clock, *, burst: int, every_s: float) -> None:
        self._probe = probe
        self._allowance = TokenBuckets(clock, burst=burst, every_s=every_s)
        self._valid: Cache[str, bool] = Cache(clock, capacity=VALID_KEYS, ttl_s=VALID_S)

    async def require(self, caller: Caller) -> None:
        """Check a well-formed key before it pays for a run. While the provider is unavailable, any key is accepted.

        Raises: Refused: the provider rejects the key, or its network tried too many keys.
        """
        if self._valid.get(key_hash(caller.user_key)):
            return
        verdict = await self._try(caller)
        if verdict is None:
            raise Refused("TOO_MANY_REQUESTS", TOO_MANY_KEYS)
        if verdict.status not in ("valid", "error"):
            raise Refused("UNAUTHORIZED", verdict.message or "The provider does not accept this key.")

    async def _try(self, caller: Caller) -> KeyVerdict | None:
        """Try the caller's key with the provider; None if the caller's network tried too many keys."""
        if not self._allowance.take(ip_range_prefix(caller.address)):
            return None
        verdict = await self._probe.probe(caller.user_key)
        if verdict.status == "valid":
            self._valid.put(key_hash(caller.user_key), True)
        return verdict

    async def validate(self, question: None, call: Call) -> SettingsAnswer:
        """Check both keys; only a well-formed user key is tried with the provider."""
        caller = call.caller
        accepted = caller.has_right("investigate")
        if not caller.user_key:
            return KeyMissingOrValid(instance_api_key_accepted=accepted, openai_api_key_status="missing")
        if not is_well_formed_user_key(caller.user_key):
            return KeyRefusedOut(
                instance_api_key_accepted=accepted,
                openai_api_key_status="format_invalid",
                openai_api_key_message="An OpenAI API key starts with sk- and is longer than this.",
            )
        verdict = await self._try(caller)
        if verdict is None:
            return KeyRefusedOut(
                instance_api_key_accepted=accepted,
                openai_api_key_status="error",
                openai_api_key_message=TOO_MANY_KEYS,
            )
        if verdict.status == "valid":
            return KeyMissingOrValid(instance_api_key_accepted=accepted, openai_api_key_status="valid")
        return KeyRefusedOut(
            instance_api_key_accepted=accepted,
            openai_api_key_status=verdict.status,
            openai_api_key_message=verdict.message or "The key could not be confirmed.",
        )
